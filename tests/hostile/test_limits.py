#!/usr/bin/env python3
"""The values in `docs/limits.md` are those of the source."""
import ast
import glob
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CONST = re.compile(r"^pub const (\w+): \w+ = ([^;{]+);", re.MULTILINE)
ROW = re.compile(r"^\| `(\w+)` \| ([\d.]+)(?: (KiB|MiB|s))? \|", re.MULTILINE)
UNITS = {"": 1, "KiB": 1 << 10, "MiB": 1 << 20, "s": 1}


def constants():
    texts = {}
    for crate in ("engine", "wire", "store", "broker"):
        for path in glob.glob(os.path.join(ROOT, "crates", crate, "src", "**", "*.rs"), recursive=True):
            with open(path, encoding="utf-8") as file:
                texts.update(CONST.findall(file.read()))
    return texts


def value(texts, text):
    """A product of numbers, other constants and seconds."""
    factors = [factor.strip() for factor in text.split("*")]
    product = 1
    for factor in factors:
        seconds = re.fullmatch(r"Duration::from_secs\((\w+)\)", factor)
        factor = seconds[1] if seconds else factor
        product *= value(texts, texts[factor]) if factor in texts else ast.literal_eval(factor)
    return product


def main():
    with open(os.path.join(ROOT, "docs", "limits.md"), encoding="utf-8") as file:
        rows = ROW.findall(file.read())
    texts, wrong = constants(), 0
    for name, number, unit in rows:
        told = float(number) * UNITS[unit]
        real = value(texts, texts[name]) if name in texts else None
        if told != real:
            wrong += 1
            print(f"docs/limits.md says that {name} is {told:.0f}; the source says {real}")
    print(f"{len(rows)} bounds looked at, {wrong} wrong")
    return 1 if wrong or len(rows) < 30 else 0


if __name__ == "__main__":
    sys.exit(main())
