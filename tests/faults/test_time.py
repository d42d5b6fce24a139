#!/usr/bin/env python3
"""A broker that stood still, and one whose wall clock is set while it runs: windows follow the wall, leases the time that passes."""
import os
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import Broker  # noqa: E402
from kit.checks import Checks, same, until  # noqa: E402

checks = Checks("time")
HERE = os.path.dirname(os.path.abspath(__file__))
HOUR_MS = 3_600_000
# The broker looks at the wall once a second at least.
NOTICED_S = 1.5


class Clock:
    """A broker's wall clock, as far as it is off."""

    def __init__(self, folder):
        self.file, self.library = os.path.join(folder, "clock"), os.path.join(folder, "clock.so")
        subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", self.library, os.path.join(HERE, "clock.c")], check=True)
        self.set(0)

    def set(self, seconds):
        mode = "r+b" if os.path.exists(self.file) else "wb"
        with open(self.file, mode) as file:
            file.write(struct.pack("=q", seconds))

    def broker(self):
        """A broker whose clock is right at first."""
        self.set(0)
        return Broker(env={"LD_PRELOAD": self.library, "CLOCK_FILE": self.file})


def add(wire, **options):
    answer = wire.call("PUSH", queue="q", data={}, **options)
    assert answer["ok"], answer
    return answer["id"]


def state(wire, job):
    return wire.call("GetState", id=job)["state"]


def is_held(wire, key):
    return wire.call("GetDeduplicationJobId", queue="q", deduplicationId=key)["data"]["jobId"] is not None


def told(broker, part):
    return until(f"a notice about '{part}'", lambda: any(part in notice["text"] for notice in broker.rpc({"type": "overview"})["notices"]), 3)


@checks
def stood_still(_):
    """after standing still for seconds a broker does at once what was due meanwhile"""
    with Broker() as broker, broker.connect() as wire:
        later = add(wire, delay=1000)
        add(wire, uniqueKey="k", dedup={"ttl": 1000})
        assert is_held(wire, "k")
        broker.process.send_signal(signal.SIGSTOP)
        time.sleep(3)
        broker.process.send_signal(signal.SIGCONT)
        same((state(wire, later), is_held(wire, "k")), ("waiting", False))


@checks
def a_day_ahead(clock):
    """the clock set ahead by a day ends windows and delays within a second or so, and no lease; the window tells"""
    with clock.broker() as broker, broker.connect() as worker, broker.connect() as wire:
        taken = add(wire, jobId="taken")
        same(worker.call("PULL", queue="q", owner="w", lockTtl=4000)["job"]["id"], taken)
        later = add(wire, delay=HOUR_MS, uniqueKey="k", dedup={"ttl": HOUR_MS})
        parked = worker.send({"cmd": "PULL", "queue": "none", "timeout": 3000})
        began = time.monotonic()
        clock.set(86_400)
        until("the delayed job is ready", lambda: state(wire, later) == "waiting", NOTICED_S)
        assert not is_held(wire, "k")
        told(broker, "The clock went ahead by 1 d 0 h")
        # A sweep would take a lost lease back within five seconds.
        while time.monotonic() - began < 3.5:
            same(state(wire, taken), "active")
            time.sleep(0.1)
        same(worker.read(parked).get("job"), None)
        assert 2.5 < time.monotonic() - began < 5, "the parked pull waited for another time than asked"
        until("the lease ends when its time has passed", lambda: state(wire, taken) != "active", 10)


@checks
def heartbeat_after_a_day(clock):
    """a worker whose lease was running when the clock went ahead can renew it and finish"""
    with clock.broker() as broker, broker.connect() as wire:
        taken = add(wire)
        token = wire.call("PULL", queue="q", owner="w", lockTtl=30_000)["token"]
        clock.set(86_400)
        told(broker, "went ahead")
        assert wire.call("JobHeartbeat", id=taken, token=token)["ok"]
        time.sleep(6)
        assert wire.call("ACK", id=taken, token=token)["ok"]
        same(state(wire, taken), "completed")


@checks
def an_hour_back(clock):
    """the clock set back by an hour makes nothing wait longer: windows, delays and leases last as long as before"""
    with clock.broker() as broker, broker.connect() as wire:
        later = add(wire, delay=2500)
        add(wire, uniqueKey="k", dedup={"ttl": 2500})
        began = time.monotonic()
        clock.set(-3600)
        told(broker, "The clock was set back by 1 h 00 m")
        assert is_held(wire, "k") or time.monotonic() - began > 2.4
        until("the delayed job is ready", lambda: state(wire, later) == "waiting", 4)
        passed = time.monotonic() - began
        assert passed < 4, f"it waited for {passed:.1f} s"
        until("the window has ended", lambda: not is_held(wire, "k"), 2)


def main():
    with tempfile.TemporaryDirectory(prefix="onceover-clock-") as folder:
        sys.exit(checks.run(Clock(folder)))


if __name__ == "__main__":
    main()
