#!/usr/bin/env python3
"""Cron patterns over two years in five time zones, moment by moment, against Bun's calendar: the one bunqueue runs on.

Changes of the clock included. Patterns that fire every minute are compared on the days around each change only. Where the
two differ is listed, with the reason.
"""
import os
import subprocess
import sys
import time
from datetime import datetime, timezone

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from kit.broker import ROOT, TARGET  # noqa: E402

BUN = os.path.join(ROOT, "tests", "sdk", "npm", "node_modules", ".bin", "bun")
OURS = os.path.join(TARGET, "debug", "examples", "occurrences")
# Two with a whole hour, one with half of it, one that changes at midnight, one that never does.
ZONES = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Santiago", "Asia/Kolkata"]
PATTERNS = [
    "0 * * * *", "30 * * * *", "15,45 * * * *", "*/20 * * * *", "7-59/13 * * * *", "0 */2 * * *", "30 */3 * * *", "5/25 1-4 * * *",
    "0 2 * * *", "30 2 * * *", "15 2 * * *", "45 1 * * *", "0 0 * * *", "30 0 * * *", "59 23 * * *", "*/10 2 * * *", "*/15 1-3 * * *",
    "0,30 2,3 * * *", "0 0-22 * * *", "0 12 1 * *", "0 12 31 * *", "0 12 29 2 *", "0 3 28-31 * *", "0 9 * * mon-fri",
    "0 9 * * 6,7", "0 9 13 * fri", "0 9 */10 * 1", "0 9 1-7 * mon", "0 0 1 jan,jul *", "0 6 * 3-5,9/2 *", "0 6 1 */5 Sunday",
    "30 1 * october,november 0", "@hourly", "@daily", "@weekly", "@monthly", "@yearly", "@midnight", "0 0 15 * */2", "0 0 1,15 * 1-5/2",
    "20 30 2 * * *", "0,30 0 */4 * * *", "*/30 15 1,2 * * *", "10-50/20 45 1 * * sat,sun", "0 0 9 1 * *",
]
DENSE = ["* * * * *", "* 1-3 * * *", "*/2 * * * *", "15,45 */5 * * * *"]
CHANGES = ["2026-03-08", "2026-03-29", "2026-04-04", "2026-09-06", "2026-10-03", "2026-10-25", "2026-11-01", "2027-03-14", "2027-03-28"]
DAY = 86_400
# Moments only here and only there. 02:07 and 02:05 do not exist on two days; moved by half an hour they would come after 02:33
# and 02:30, which exist and match. Bun goes to the moved one at once and loses the other; here the earlier one comes.
DIFFERENT = {("7-59/13 * * * *", "Australia/Lord_Howe"): (2, 2), ("5/25 1-4 * * *", "Australia/Lord_Howe"): (2, 2)}


def seconds(day):
    return int(datetime.fromisoformat(day).replace(tzinfo=timezone.utc).timestamp())


def questions():
    """Each pattern, zone, and the time that is looked at."""
    begin, end = seconds("2026-01-01") - 1, seconds("2028-01-01")
    for zone in ZONES:
        for pattern in PATTERNS:
            yield pattern, zone, begin, end
        for pattern in DENSE:
            for day in CHANGES:
                yield pattern, zone, seconds(day) - DAY - 1, seconds(day) + DAY


def asked(command, lines):
    done = subprocess.run(command, input="\n".join(lines), text=True, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def main():
    every = list(questions())
    lines = ["\t".join(map(str, one)) for one in every]
    began = time.monotonic()
    ours, theirs = asked([OURS], lines), asked([BUN, os.path.join(HERE, "occurrences.ts")], lines)
    assert len(ours) == len(theirs) == len(every), (len(ours), len(theirs), len(every))
    moments, wrong = 0, 0
    for (pattern, zone, *_), our, their in zip(every, ours, theirs):
        moments += len(our.split())
        mine, other = set(our.split()), set(their.split())
        if (len(mine - other), len(other - mine)) != DIFFERENT.get((pattern, zone), (0, 0)):
            wrong += 1
            shown = [datetime.fromtimestamp(int(at), timezone.utc).isoformat() for at in sorted(mine ^ other)[:4]]
            print(f"WRONG {pattern} in {zone}: {len(mine - other)} only here, {len(other - mine)} only there, first {shown}")
    print(f"{len(PATTERNS) + len(DENSE)} patterns, {len(ZONES)} zones, {moments} moments in {time.monotonic() - began:.0f} s")
    print(f"{len(every) - wrong} passed, {wrong} failed")
    return 1 if wrong or moments < 100_000 else 0


if __name__ == "__main__":
    sys.exit(main())
