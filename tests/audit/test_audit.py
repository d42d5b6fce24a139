#!/usr/bin/env python3
"""What others wrote and we ship: no known hole, from a registry and unchanged, under a licence that lets us.

The advisories are RustSec's as of the day in `advisories.json`, kept here so that the check needs no network; `make audit`
brings them up to date and asks the npm registry about the front end's packages.
"""
import json
import os
import re
import subprocess
import sys
import tomllib

from semantic_version import SimpleSpec, Version

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import ROOT  # noqa: E402
from kit.checks import Checks, same  # noqa: E402

checks = Checks("audit")
CARGO_LOCKS = ["Cargo.lock", "tests/sdk/rust/Cargo.lock"]
NPM_LOCKS = ["ui/package-lock.json", "tests/sdk/npm/package-lock.json"]
REGISTRY = "registry+https://github.com/rust-lang/crates.io-index"
# Say what is wrong with a package, but not that it endangers who uses it.
NOTES = ("unmaintained", "notice")
# Advisories that do not concern us, and why.
EXCEPTIONS = {
    "RUSTSEC-2024-0429": "glib 0.18 under GTK 3, which the window's library needs: the iterator that is unsound (VariantStrIter) is used by none of its callers here",
}
# Packages whose lock entry names no licence; each was looked up in its LICENSE file.
LOOKED_UP = {"node_modules/svelte-toolbelt": "MIT"}
# Licences under which code may be part of a program under MIT; MPL-2.0 asks only that its own files, which we do not change, stay open.
LICENCES = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "BlueOak-1.0.0", "CC0-1.0", "CDLA-Permissive-2.0",
    "ISC", "MIT", "MIT-0", "MPL-2.0", "Unicode-3.0", "Unlicense", "Zlib",
}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def crates():
    """Every crate of a lock file that is not our own."""
    for lock in CARGO_LOCKS:
        for crate in tomllib.loads(read(lock))["package"]:
            if "source" in crate:
                yield crate


def in_range(text, version):
    """Whether a version is in one of RustSec's ranges, which are written as Cargo's."""
    text = ",".join(part.strip().replace(" ", "") for part in text.split(","))
    return SimpleSpec(text.replace("=^", "^")).match(version)


def concerns(advisory, version):
    safe = advisory["patched"] + advisory["unaffected"]
    return not any(in_range(text, version) for text in safe)


def allowed(expression):
    """Whether an SPDX expression can be met by licences of the list: one of each `OR`, all of each `AND`."""
    expression = expression.replace("/", " OR ")
    words = re.findall(r"\(|\)|AND|OR|[\w.+-]+(?: WITH [\w.+-]+)?", expression)
    terms = [word.lower() if word in ("AND", "OR") else word if word in "()" else str(word in LICENCES) for word in words]
    return eval(" ".join(terms), {"__builtins__": {}})  # only True, False, and, or, and parentheses


@checks
def advisories(_):
    """no crate has a known hole"""
    known = json.loads(read("tests/audit/advisories.json"))
    by_package = {}
    for advisory in known["advisories"]:
        by_package.setdefault(advisory["package"], []).append(advisory)
    holes, notes, looked_at = set(), set(), 0
    for crate in crates():
        version = Version(crate["version"])
        looked_at += 1
        for advisory in by_package.get(crate["name"], []):
            if concerns(advisory, version):
                found = f"{advisory['id']} {crate['name']} {crate['version']}"
                (notes if advisory.get("informational") in NOTES else holes).add(found)
    print(f"     {looked_at} crates, {len(known['advisories'])} advisories as of {known['asOf']}; without a maintainer: {', '.join(sorted(notes)) or 'none'}")
    same([hole for hole in sorted(holes) if hole.split()[0] not in EXCEPTIONS], [])


@checks
def ranges(_):
    """the ranges of advisories are read as Cargo reads them"""
    advisory = {"patched": [">= 1.38.2, < 1.39.0", ">= 1.44.2"], "unaffected": ["< 0.2.5"]}
    verdicts = {"0.2.4": False, "0.2.5": True, "1.38.1": True, "1.38.2": False, "1.39.0": True, "1.44.2": False, "2.0.0": False}
    same({text: concerns(advisory, Version(text)) for text in verdicts}, verdicts)
    same(concerns({"patched": ["^1.2"], "unaffected": []}, Version("1.1.9")), True)
    same(concerns({"patched": ["^1.2"], "unaffected": []}, Version("1.9.0")), False)


@checks
def sources(_):
    """every crate comes from the registry, with its checksum; so does every npm package, and none of the window's runs a program when it is installed"""
    same([crate["name"] for crate in crates() if crate["source"] != REGISTRY or len(crate.get("checksum", "")) != 64], [])
    for lock in NPM_LOCKS:
        packages = {path: package for path, package in json.loads(read(lock))["packages"].items() if path}
        same([path for path, package in packages.items() if not package.get("integrity", "").startswith("sha512-")], [])
    window = json.loads(read("ui/package-lock.json"))["packages"]
    same([path for path, package in window.items() if package.get("hasInstallScript") and not package.get("optional")], [])


@checks
def licences(_):
    """every licence is one under which we may ship"""
    shown = subprocess.run(["cargo", "metadata", "--format-version", "1", "--locked"], cwd=ROOT, capture_output=True, text=True, check=True)
    packages = json.loads(shown.stdout)["packages"]
    assert len(packages) > 100, f"{len(packages)} packages are not all"
    same([f"{it['name']}: {it['license']}" for it in packages if not allowed(it["license"] or "none")], [])
    shipped = [(path, it) for path, it in json.loads(read("ui/package-lock.json"))["packages"].items() if path and not it.get("dev")]
    shipped = [(path, it.get("license") or LOOKED_UP.get(path, "none")) for path, it in shipped]
    same([f"{path}: {licence}" for path, licence in shipped if not allowed(licence)], [])
    same((allowed("GPL-3.0"), allowed("MIT OR GPL-3.0"), allowed("MIT AND GPL-3.0"), allowed("(MIT OR GPL-3.0) AND ISC")), (False, True, False, True))


@checks
def window(_):
    """the window's page may call the program's own commands and nothing else: no plugin, no remote page, no script but its own"""
    folder = os.path.join(ROOT, "src-tauri", "capabilities")
    given = [json.loads(read(f"src-tauri/capabilities/{name}")) for name in os.listdir(folder)]
    commands = set(re.findall(r"^#\[tauri::command\]\s+(?:pub )?(?:async )?fn (\w+)", "\n".join(rust_sources("src-tauri/src")), re.MULTILINE))
    assert commands, "no command was found"
    same([(it["windows"], set(it["permissions"]), set(it) & {"remote", "webviews", "platforms"}) for it in given],
         [(["main"], {f"allow-{name.replace('_', '-')}" for name in commands}, set())])
    app = json.loads(read("tauri.conf.json"))["app"]
    rules = dict(rule.strip().split(" ", 1) for rule in app["security"]["csp"].split(";"))
    same((rules["default-src"], rules["script-src"], rules["connect-src"]), ("'none'", "'self'", "ipc: http://ipc.localhost"))
    same((app.get("withGlobalTauri", False), "dangerousDisableAssetCspModification" in app["security"], "assetProtocol" in app["security"]), (False, False, False))


def rust_sources(folder):
    for name in os.listdir(os.path.join(ROOT, folder)):
        if name.endswith(".rs"):
            yield read(f"{folder}/{name}")


if __name__ == "__main__":
    sys.exit(checks.run(None))
