#!/usr/bin/env python3
"""Runs the examples of README.md as they stand, each against a broker of its own on another port.

An example has to end by itself, print that the second add gave the same job, and print the result of that job.
"""
import os
import re
import subprocess
import sys

from kit.broker import ROOT, TARGET, Broker
from kit.checks import Checks, contains

checks = Checks("readme")
HERE = os.path.dirname(os.path.abspath(__file__))


def example(language, port):
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        blocks = re.findall(rf"^```{language}\n(.*?)^```", file.read(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1, f"{len(blocks)} examples in {language}"
    assert "6789" in blocks[0], "the example names no port"
    return blocks[0].replace("6789", str(port))


def runs(folder, name, language, command):
    """Writes the example to a folder and runs it."""
    os.makedirs(folder, exist_ok=True)
    with Broker() as broker:
        path = os.path.join(folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(example(language, broker.port))
        done = subprocess.run([*command, path] if name != "main.rs" else command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=300, env={**os.environ, "CARGO_TARGET_DIR": TARGET})
        assert done.returncode == 0, f"ended with {done.returncode}: {done.stdout} {done.stderr}"
        lines = done.stdout.strip().splitlines()
        assert lines[0].lower() == "true", done.stdout
        contains(" ".join(lines[1:]), "42")


@checks
def typescript():
    """the example in TypeScript"""
    # Beside the installed packages, so that the import is found.
    sdk = os.path.join(HERE, "sdk", "npm", "node_modules")
    runs(os.path.join(sdk, ".readme"), "readme.ts", "ts", [os.path.join(sdk, ".bin", "bun")])


@checks
def python():
    """the example in Python"""
    runs(os.path.join(TARGET, "readme"), "readme.py", "python", [sys.executable])


@checks
def rust():
    """the example in Rust"""
    package = os.path.join(TARGET, "readme", "rust")
    os.makedirs(package, exist_ok=True)
    for name in ("Cargo.toml", "Cargo.lock"):
        # Under a name of its own, or its program would take the place of the other one in the target folder.
        with open(os.path.join(HERE, "sdk", "rust", name), encoding="utf-8") as file:
            text = file.read().replace("onceover-sdk-smoke", "onceover-readme")
        with open(os.path.join(package, name), "w", encoding="utf-8") as file:
            file.write(text)
    runs(os.path.join(package, "src"), "main.rs", "rust", ["cargo", "run", "--quiet", "--locked", "--manifest-path", os.path.join(package, "Cargo.toml")])


if __name__ == "__main__":
    sys.exit(checks.run())
