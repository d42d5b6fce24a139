#!/usr/bin/env python3
"""Runs the Rust client's own end-to-end tests, as published and unmodified, against this broker.

The tests start a program named `bun` with the environment of a bunqueue server. Here that name is a script in front of
PATH which starts `onceoverd` instead, so whatever they prove, they prove of this broker. All of them have to pass, and
all of them have to run: a test that the client's authors add or drop shows as a wrong number.
"""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from kit.broker import NAMES, program
from kit.client_source import BUILD_FOLDER, cargo, client_source

SUITES = ["connection_resilience", "flow_rollback", "hardening_e2e", "realistic_e2e"]
TESTS = 13


def shim():
    """A folder with a `bun` that becomes the broker. The arguments name bunqueue's source, which is not here."""
    folder = os.path.join(BUILD_FOLDER, "shim")
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "bun")
    with open(path, "w", encoding="utf-8") as file:
        # `exec`, because the tests kill the process they started.
        file.write(f'#!/bin/sh\nexec "{program()}"\n')
    os.chmod(path, 0o755)
    return folder


def main():
    tests = [part for name in SUITES for part in ("--test", name)]
    env = {key: value for key, value in os.environ.items() if key not in NAMES}
    env["PATH"] = shim() + os.pathsep + env["PATH"]
    # Pretty is the format that names the tests that passed; quiet, which the helper asks for, would print dots.
    done = cargo(client_source(), "test", "--no-fail-fast", *tests, "--", "--format", "pretty", env=env, capture_output=True, text=True)
    passed = re.findall(r"^test (\S+) \.\.\. ok$", done.stdout, re.MULTILINE)
    for name in passed:
        print(f"ok   rust client's own: {name}")
    if done.returncode != 0 or len(passed) != TESTS:
        print(done.stdout, done.stderr)
    print(f"{len(passed)} of {TESTS} passed")
    return 0 if done.returncode == 0 and len(passed) == TESTS else 1


if __name__ == "__main__":
    sys.exit(main())
