#!/usr/bin/env python3
"""Writes `advisories.json` anew from RustSec's advisory database: `renew.py FOLDER`, a git clone of rustsec/advisory-db.

Only facts are taken: the number, the package, which versions are concerned, and whether it is a warning only.
"""
import json
import os
import re
import subprocess
import sys
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))


def git(folder, *args):
    return subprocess.run(["git", "-C", folder, *args], capture_output=True, text=True, check=True).stdout


def advisories(folder):
    for path in git(folder, "ls-tree", "-r", "--name-only", "HEAD", "crates").splitlines():
        if not path.endswith(".md"):
            continue
        head = re.match(r"```toml\n(.*?)\n```", git(folder, "show", f"HEAD:{path}"), re.DOTALL)
        facts = tomllib.loads(head[1])
        advisory, versions = facts["advisory"], facts.get("versions", {})
        if "withdrawn" in advisory:
            continue
        yield {
            "id": advisory["id"],
            "package": advisory["package"],
            "patched": versions.get("patched", []),
            "unaffected": versions.get("unaffected", []),
            **({"informational": advisory["informational"]} if "informational" in advisory else {}),
        }


def main():
    folder = sys.argv[1]
    found = sorted(advisories(folder), key=lambda one: (one["package"], one["id"]))
    date = git(folder, "log", "-1", "--format=%cs").strip()
    with open(os.path.join(HERE, "advisories.json"), "w", encoding="utf-8") as file:
        rows = ",\n".join(json.dumps(one, separators=(",", ":")) for one in found)
        file.write(f'{{"asOf":"{date}","advisories":[\n{rows}\n]}}\n')
    print(f"{len(found)} advisories as of {date}")


if __name__ == "__main__":
    main()
