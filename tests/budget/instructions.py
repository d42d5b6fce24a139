#!/usr/bin/env python3
"""What an operation costs in instructions: `instructions.py [--renew] [--keep FOLDER] [WORKLOAD...]`.

Each workload runs through the broker's core, from a request's bytes to those of its answer and with its commit to SQLite, but
without sockets and threads, under callgrind. So the figure is the same on every machine and under any load, and a change that
makes an operation dearer is seen at once. Time is another matter: that is what `make bench` measures.

`instructions.json` holds the figures for the toolchain of rust-toolchain.toml. More than 3 % above one fails; more than 3 % below is
told, because a budget with room in it guards nothing. `--renew` writes what was measured. `--keep` leaves callgrind's files in a
folder, for callgrind_annotate.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from kit.broker import TARGET  # noqa: E402

BUDGET = os.path.join(HERE, "instructions.json")
PROGRAM = os.path.join(TARGET, "profiling", "onceover-turns")
TOLERANCE = 0.03
# Some 50 turns of 128 commands; of pages, which cost twenty times as much, a tenth.
OPERATIONS = 6_400
PAGES = 640


def measure(workload, folder):
    operations = PAGES if workload.endswith("_page") else OPERATIONS
    command = [
        "valgrind", "--tool=callgrind", "--toggle-collect=onceover_turns::counted", f"--callgrind-out-file={folder}/{workload}.callgrind",
        PROGRAM, workload, str(operations),
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    collected = re.search(r"Collected *: *(\d+)", run.stderr)
    assert run.returncode == 0 and collected, f"{' '.join(command)}: {run.stdout}{run.stderr}"
    assert int(run.stdout) == operations, f"{workload}: {run.stdout} operations instead of {operations}"
    return round(int(collected[1]) / operations)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--renew", action="store_true")
    parser.add_argument("--keep")
    parser.add_argument("workloads", nargs="*")
    options = parser.parse_args()
    with open(BUDGET, encoding="utf-8") as file:
        budget = json.load(file)
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for workload in options.workloads or budget:
            have, allowed = measure(workload, options.keep or folder), budget.get(workload)
            change = (have - allowed) / allowed if allowed else None
            good = change is not None and change <= TOLERANCE
            failed += not good and not options.renew
            verdict = "new " if options.renew else "FAIL" if not good else "less" if change < -TOLERANCE else "ok  "
            print(f"{verdict} {workload:<16}{have:>9,} instructions each" + (f", {allowed:,} before ({change:+.1%})" if allowed else ""), flush=True)
            budget[workload] = have
    if options.renew:
        with open(BUDGET, "w", encoding="utf-8") as file:
            file.write(json.dumps(budget, indent=2) + "\n")
    elif failed:
        print("find out what made it dearer; for a good reason, or once it is less: instructions.py --renew, and say so in the commit")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
