#!/usr/bin/env python3
"""Everything that has to be green, stage by stage: `run.py [STAGE...]`, without names all of them.

Prints the name of each stage, what it prints, and its seconds. A failed stage does not stop the later ones, except those
that need its result; these count as failed too. The end is a table and "N passed, N failed".
"""
import hashlib
import os
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TARGET = os.path.abspath(os.environ.get("CARGO_TARGET_DIR", os.path.join(ROOT, "target")))
PYTHON = sys.executable
RUST_SDK = "tests/sdk/rust/Cargo.toml"


def npm(script):
    return ["npm", "--prefix", "ui", "run", "--silent", script]


def python(*args):
    return [PYTHON, *args]


def with_broker(*command):
    return python("tests/with_broker.py", *command, "{port}")


# name, commands (all must succeed), stages whose result it needs
STAGES = [
    ("format", [["cargo", "fmt", "--all", "--check"], ["cargo", "fmt", "--manifest-path", RUST_SDK, "--check"], npm("format:check")], []),
    ("tidy", [python("tests/tidy.py")], []),
    ("audit", [python("tests/audit/test_audit.py")], []),
    ("ui-check", [npm("check")], []),
    ("ui-test", [npm("test")], []),
    ("ui-build", [npm("build")], []),
    ("lint", [["cargo", "clippy", "--quiet", "--workspace", "--all-targets", "--keep-going", "--", "-D", "warnings"]], ["ui-build"]),
    ("build", [["cargo", "build", "--quiet", "--workspace", "--all-targets"]], ["ui-build"]),
    ("unit", [["cargo", "test", "--quiet", "--workspace", "--no-fail-fast"]], ["build"]),
    ("dedup", [python("tests/dedup/run.py")], ["build"]),
    ("sdk-python", [python("tests/sdk/python/test_python.py")], ["build"]),
    ("sdk-npm", [with_broker("tests/sdk/npm/node_modules/.bin/bun", "tests/sdk/npm/test_npm.ts")], ["build"]),
    ("sdk-rust", [
        ["cargo", "clippy", "--quiet", "--locked", "--manifest-path", RUST_SDK, "--", "-D", "warnings"],
        ["cargo", "build", "--quiet", "--locked", "--manifest-path", RUST_SDK],
        with_broker(os.path.join(TARGET, "debug", "onceover-sdk-smoke")),
        python("tests/sdk/rust/conformance.py"),
        python("tests/sdk/rust/suite.py"),
    ], ["build"]),
    ("crossing", [python("tests/fleet/test_crossing.py"), python("tests/fleet/test_secure.py"), python("tests/fleet/test_restart.py")], ["build", "sdk-rust"]),
    ("fleet", [python("tests/fleet/test_fleet.py"), python("tests/fleet/test_fleet.py", "--jobs", "6000", "--broker-kills", "3")], ["build", "sdk-rust"]),
    ("codegen", [python("tests/codegen/test_code.py")], ["build", "sdk-rust"]),
    ("schedules", [python("tests/schedules/test_schedules.py")], ["build"]),
    ("readme", [python("tests/readme.py")], ["build"]),
    ("kill", [python("tests/kill/test_kill.py"), python("tests/kill/test_flows.py")], ["build"]),
    ("bad-input", [python("tests/badinput/test_wire.py")], ["build"]),
    ("bad-start", [python("tests/badinput/test_start.py")], ["build"]),
    ("bad-door", [python("tests/badinput/test_door.py")], ["build"]),
    ("hostile", [python("tests/hostile/test_limits.py"), python("tests/hostile/test_hostile.py")], ["build"]),
    ("http", [python("tests/http/test_rest.py"), python("tests/http/test_events.py"), python("tests/http/test_webhooks.py")], ["build"]),
    ("storage", [python("tests/faults/test_storage.py")], ["build"]),
    ("time", [python("tests/faults/test_time.py")], ["build"]),
    ("browser", [python("tests/browser/test_browser.py")], ["build"]),
    ("markup", [python("tests/browser/test_markup.py")], ["build"]),
    ("playground", [python("tests/browser/test_playground.py")], ["build"]),
    ("lists", [python("tests/browser/test_lists.py")], ["build"]),
    ("composer", [python("tests/browser/test_composer.py")], ["build"]),
    ("sentences", [python("tests/browser/test_sentences.py")], ["build"]),
    ("keyboard", [python("tests/browser/test_keyboard.py")], ["build"]),
    ("looks", [python("tests/browser/test_looks.py")], ["build"]),
    ("window", [python("tests/window/test_window.py")], ["build"]),
    ("soak", [python("tests/soak/soak.py")], ["build"]),
    ("growth", [python("tests/budget/growth.py")], ["build"]),
    ("instructions", [
        ["cargo", "build", "--quiet", "--profile", "profiling", "--package", "onceover-bench", "--bin", "onceover-turns"],
        python("tests/budget/instructions.py"),
    ], []),
    ("budget", [python("tests/budget/bundle.py"), python("tests/budget/run.py"), python("tests/browser/test_frozen.py")], ["build"]),
]


def generated_types():
    """Fingerprint of the generated TypeScript, which a test run writes anew."""
    folder, digest = os.path.join(ROOT, "ui", "src", "bindings"), hashlib.sha256()
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            digest.update(name.encode() + file.read())
    return digest.digest()


def run(name, commands):
    before = generated_types()
    for command in commands:
        # One target folder for all cargo calls, the official Rust client's own project included.
        if subprocess.call(command, cwd=ROOT, stdin=subprocess.DEVNULL, env={**os.environ, "CARGO_TARGET_DIR": TARGET}) != 0:
            return False
    if name == "unit" and generated_types() != before:
        print("ui/src/bindings was out of date; the run has renewed it, commit that")
        return False
    return True


def main():
    wanted = sys.argv[1:]
    if unknown := set(wanted) - {name for name, _, _ in STAGES}:
        sys.exit(f"no such stage: {', '.join(sorted(unknown))}; there are {', '.join(name for name, _, _ in STAGES)}")
    done, began = {}, time.monotonic()
    for name, commands, needs in STAGES:
        if wanted and name not in wanted:
            continue
        start = time.monotonic()
        missing = [need for need in needs if done.get(need, (True, 0))[0] is False]
        print(f"=== {name}" + (f": not run, because {missing[0]} failed" if missing else ""), flush=True)
        passed = not missing and run(name, commands)
        done[name] = (passed, time.monotonic() - start)
        print(f"--- {name}: {'passed' if passed else 'FAILED'} in {done[name][1]:.1f} s\n", flush=True)
    for name, (passed, seconds) in done.items():
        print(f"{'ok  ' if passed else 'FAIL'} {name:<12}{seconds:8.1f} s")
    print(f"{'':5}{'all':<12}{time.monotonic() - began:8.1f} s")
    failed = sum(not passed for passed, _ in done.values())
    print(f"{len(done) - failed} passed, {failed} failed")
    return 1 if failed or not done else 0


if __name__ == "__main__":
    sys.exit(main())
