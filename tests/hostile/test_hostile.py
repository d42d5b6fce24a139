#!/usr/bin/env python3
"""Hostile clients: the broker's memory stays bounded, and other clients keep their latency.

Each check lets a well-behaved client work on a broker of its own and compares its latency in one run: when nothing else
happens; while the attack goes on against another broker, which shows what the attack takes of the machine as such; and while
it goes on against the client's own broker. What an attack may cost in memory follows from the bounds in
`docs/limits.md`. The data is kept in memory where that is possible: the disk of the machine is no part of what is measured.
"""
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from hostile import attacks  # noqa: E402
from kit.broker import Broker  # noqa: E402
from kit.checks import Checks  # noqa: E402

checks = Checks("hostile")
HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = tempfile.mkdtemp(prefix="onceover-hostile-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
WINDOWS_BEFORE, WINDOWS, WINDOW_S = 3, 7, 0.5
# The 99th percentile may grow to this many times that before the attack or beside it,
TIMES_MAX = 3
# or to this many milliseconds: two ticks of the system's clock, at which it takes the processor from one thread for another.
FLOOR_MS = 10


class Probe:
    """The well-behaved client, in a process of its own."""

    def __init__(self, port):
        command = [sys.executable, os.path.join(HERE, "probe.py"), str(port)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)

    def window(self):
        """(p50, p99) in milliseconds."""
        print(WINDOW_S, file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        assert line, "the well-behaved client was not served"
        took = sorted(json.loads(line))
        return took[len(took) // 2], took[len(took) * 99 // 100]

    def windows(self, number):
        """p50 and p99 of several windows, each in order."""
        return [sorted(values) for values in zip(*(self.window() for _ in range(number)))]


def crowd():
    """How many programs want a core of this machine, at least 1: everything takes so many times longer."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


@contextlib.contextmanager
def attacked(attack, broker):
    command = [sys.executable, os.path.join(HERE, "attacks.py"), attack.__name__, str(broker.port)]
    hostile = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert hostile.stdout.readline() == "ready\n", "the attack did not begin"
        yield
    finally:
        hostile.stdin.close()
        hostile.wait(60)


def judge(attack, memory_max):
    with Broker(data=os.path.join(FOLDER, attack.__name__)) as broker, Probe(broker.port) as probe:
        quiet = probe.windows(WINDOWS_BEFORE)
        with Broker(data=os.path.join(FOLDER, f"{attack.__name__}-other")) as other, attacked(attack, other):
            beside = probe.windows(WINDOWS_BEFORE)
        before = broker.memory_mib()
        with attacked(attack, broker):
            under = probe.windows(WINDOWS)
        grown = broker.memory_mib(peak=True) - before
        assert broker.alive(), f"the broker ended: {broker.tail()}"
    # The attack lasts through all windows, what other programs do does not: the middle one of each.
    (quiet_50, quiet_99), (beside_50, beside_99), (under_50, under_99) = (
        [middle[len(middle) // 2] for middle in values] for values in (quiet, beside, under)
    )
    most = max(TIMES_MAX * quiet_99, TIMES_MAX * beside_99, FLOOR_MS * crowd())
    print(f"     {attack.__name__:<15} p50 {quiet_50:5.2f} {beside_50:5.2f} {under_50:6.2f}   p99 {quiet_99:6.2f} {beside_99:6.2f} {under_99:7.2f} ms "
          f"(at most {most:.0f})   memory +{grown:.0f} MiB", flush=True)
    assert under_99 <= most, f"p99 {quiet[1]}, beside it {beside[1]}, under it {under[1]} ms"
    assert grown <= memory_max, f"{grown:.0f} MiB more, at most {memory_max}"


def check(attack, memory_max):
    def function():
        judge(attack, memory_max)

    function.__name__, function.__doc__ = attack.__name__, attack.__doc__
    checks(function)


# Names in `docs/limits.md`: inbox 64, long frames 64, unfinished 256 and unsent 256 MiB; the rest is what jobs themselves take.
for one, most in [
    (attacks.cut_frames, 64), (attacks.length_lies, 64), (attacks.deep_and_wide, 384), (attacks.collision_keys, 384),
    (attacks.large_frames, 512), (attacks.large_batches, 512), (attacks.taken_jobs, 256), (attacks.large_acks, 256), (attacks.large_answers, 384),
    (attacks.silent, 64),
    (attacks.never_reads, 320), (attacks.slowloris, 64), (attacks.unfinished, 384), (attacks.parked_pulls, 192),
]:
    check(one, most)

if __name__ == "__main__":
    try:
        sys.exit(checks.run())
    finally:
        shutil.rmtree(FOLDER, ignore_errors=True)
