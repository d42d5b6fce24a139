#!/usr/bin/env python3
"""The built front end weighs at most 300 KB, compressed: every file of `ui/dist`, those that are loaded later included."""
import gzip
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import ROOT  # noqa: E402

LIMIT = 300 * 1000


def main():
    sizes = {}
    for folder, _, names in os.walk(os.path.join(ROOT, "ui", "dist")):
        for name in names:
            with open(os.path.join(folder, name), "rb") as file:
                sizes[name] = len(gzip.compress(file.read()))
    assert "index.html" in sizes, "the front end is not built"
    total = sum(sizes.values())
    for name, size in sorted(sizes.items(), key=lambda pair: -pair[1])[:5]:
        print(f"{size:>8,} {name}")
    print(f"{total:>8,} bytes of {LIMIT:,}")
    return 0 if total <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
