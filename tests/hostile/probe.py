#!/usr/bin/env python3
"""A well-behaved client that measures how long its answers take: `probe.py PORT`.

It adds, takes and finishes one job after the other, a command every few milliseconds, on one connection and in a queue of
its own. Each line of its input is a number of seconds; it answers with a line of JSON, the latencies in milliseconds. A
command is due at a fixed time: when the broker has held up the one before, the wait counts for those behind it too.
"""
import json
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.wire import Wire  # noqa: E402

EVERY_S = 0.004


def cycle(wire):
    """One command at a time: add, take, finish."""
    queue = f"well-behaved-{os.getpid()}"
    while True:
        added = wire.call("PUSH", queue=queue, name="task", data={"pad": "x" * 100}, removeOnComplete=True)
        assert added["ok"], added
        yield
        pulled = wire.call("PULL", queue=queue, owner="probe", timeout=0)
        assert pulled["job"]["id"] == added["id"], pulled
        yield
        done = wire.call("ACK", id=added["id"], token=pulled["token"])
        assert done["ok"], done
        yield


def measure(steps, seconds):
    took, answered = [], 0.0
    began = time.perf_counter()
    for number in range(int(seconds / EVERY_S)):
        due = began + number * EVERY_S
        now = time.perf_counter()
        if now < due:
            time.sleep(due - now)
        # A late wake-up is this program's own fault, a late answer is the broker's.
        asked = due if answered > due else time.perf_counter()
        next(steps)
        answered = time.perf_counter()
        took.append((answered - asked) * 1000)
    return took


def main():
    with Wire(int(sys.argv[1]), timeout=60) as wire:
        steps = cycle(wire)
        measure(steps, 0.2)
        for line in sys.stdin:
            print(json.dumps([round(ms, 3) for ms in measure(steps, float(line))]), flush=True)


if __name__ == "__main__":
    main()
