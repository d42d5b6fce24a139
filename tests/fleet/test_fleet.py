#!/usr/bin/env python3
"""Eight workers in three languages drain 20,000 jobs while connections are cut and workers are killed.

    test_fleet.py [SEED [JOBS]]

At the end every job has ended exactly once, none is lost, none was leased twice at a time (what that means is told in
`leases.py`), and each result is that of the run whose outcome the broker accepted.
"""
import os
import random
import sys
import tempfile
import threading
import time
from collections import Counter
from types import SimpleNamespace

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kit.broker import Broker
from kit.checks import Checks, same
from kit.peers import PeerWorker
from kit.wire import Gone
from leases import Lease, Ledger, overlaps
from tap import Tap

QUEUE = "fleet"
WORKERS = ["npm", "npm", "npm", "python", "python", "python", "rust", "rust"]
ATTEMPTS = 6
# A job is given up when its lease has expired this often; the broker's default.
STALLS = 3
# Short, so that a lease whose worker was killed expires while the test runs; long jobs need several heartbeats.
OPTIONS = {"concurrency": 8, "lock_ms": 4_000, "heartbeat_ms": 1_000}
SECONDS_MAX = 230

checks = Checks("fleet")


def make_jobs(count, chance):
    """The work: most take a fraction of a second, some longer than their lock lasts, some fail once, twice or for good."""
    for n in range(count):
        kind = chance.random()
        job = {"n": n, "ms": chance.randrange(5, 250)}
        if kind < 0.005:
            job["ms"] = chance.randrange(4_500, 6_000)
        elif kind < 0.10:
            job["fails"] = 1
        elif kind < 0.13:
            job["fails"] = 2
        elif kind < 0.14:
            job["fails"] = ATTEMPTS
        elif kind < 0.15:
            job["fatal"] = True
        yield job


class Fleet:
    """The run itself; the checks look at what it leaves."""

    def __init__(self, seed, count, folder, broker):
        self.chance, self.folder, self.broker = random.Random(seed), folder, broker
        self.ledger = Ledger()
        self.tap = Tap(broker.port, self.ledger)
        self.wire = broker.connect(timeout=60)
        self.doors = {f"{language}-{n}": (language, self.tap.door(f"{language}-{n}")) for n, language in enumerate(WORKERS)}
        self.running, self.finished, self.kills, self.cuts = {}, [], 0, 0
        self.data = list(make_jobs(count, self.chance))
        self.ends, self.ids = Counter(), []

    def run(self):
        began = time.monotonic()
        threading.Thread(target=self._listen, args=(self.broker.connect(timeout=600),), daemon=True).start()
        for at in range(0, len(self.data), 500):
            jobs = [{"name": "fleet", "data": data, "maxAttempts": ATTEMPTS, "backoff": {"type": "fixed", "delay": 50}} for data in self.data[at:at + 500]]
            self.ids += self.wire.call("PUSHB", queue=QUEUE, jobs=jobs)["ids"]
        for name in self.doors:
            self._start(name)
        while self.ended() < len(self.data):
            time.sleep(self.chance.uniform(0.2, 0.8))
            assert time.monotonic() - began < SECONDS_MAX, f"not done: {self.counts()}"
            # The last jobs are left in peace, or the run would have no end.
            if self.ended() < len(self.data) * 0.97:
                self._disturb()
        for worker in self.running.values():
            same((worker.name, worker.stop()), (worker.name, 0))
        self.finished += self.running.values()
        self.seconds = time.monotonic() - began

    def counts(self):
        return self.wire.call("GetJobCounts", queue=QUEUE)["counts"]

    def ended(self):
        counts = self.counts()
        return counts["completed"] + counts["failed"]

    def _start(self, name):
        language, port = self.doors[name]
        # A program that is started again tells to a new file: the last line of a killed one may be cut.
        own = f"{name}.{sum(worker.name.startswith(f'{name}.') for worker in self.finished)}"
        self.running[name] = PeerWorker(language, port, QUEUE, self.folder, own, **OPTIONS)

    def _disturb(self):
        if self.chance.random() < 0.6:
            self.cuts += self.tap.cut_one(self.chance)
            return
        name = self.chance.choice(sorted(self.doors))
        worker = self.running[name]
        worker.kill()
        self.kills += 1
        self.finished.append(worker)
        self._start(name)

    def _listen(self, wire):
        """Counts how often each job is told to have ended."""
        wire.call("SubscribeEvents", queue=QUEUE)
        try:
            while True:
                event = wire.message().get("event", {})
                kind, given_up = event.get("eventType"), str(event.get("error")).startswith("Lock expired")
                if kind == "completed" or (kind == "failed" and (event.get("terminal") or given_up)):
                    self.ends[event["jobId"]] += 1
        except Gone:
            return

    def gather(self):
        """Reads what the workers told and what the broker keeps, for the checks."""
        self.runs, self.done, self.until, self.doubled = {}, set(), {}, []
        for worker in self.finished:
            for line in worker.lines():
                key = (line["job"], line["at"])
                if line["what"] == "end":
                    self.until[key] = line["t"]
                    if line["how"] == "done":
                        self.done.add((line["by"], *key))
                elif key in self.runs:
                    self.doubled.append(key)
                else:
                    self.runs[key] = line
        asked = [self.wire.many([{"cmd": cmd, "id": one} for one in self.ids]) for cmd in ("GetState", "GetResult")]
        self.states = {one: answer["state"] for one, answer in zip(self.ids, asked[0])}
        self.results = {one: answer.get("result") for one, answer in zip(self.ids, asked[1])}

    def figures(self):
        leases = [lease for some in self.ledger.jobs.values() for lease in some]
        outcomes = Counter(
            "settled" if lease.settled() else "unknown" if lease.settled() is None else "expired" if lease.expired() else "released"
            for lease in leases
        )
        ordered = (sorted(some, key=lambda lease: lease.at) for some in self.ledger.jobs.values())
        late = sum(self.until.get((a.job, a.at), 0) > b.at for some in ordered for a, b in zip(some, some[1:]))
        return (f"{len(self.ids)} jobs in {self.seconds:.0f} s, {len(leases)} leases ({dict(outcomes)}), {len(self.runs)} runs, "
                f"{late} of them went on while the job was already leased to another, {self.cuts} connections cut, {self.kills} workers killed")


@checks
def the_rule_itself(_fleet):
    """the rule of overlaps tells a fault from what is allowed"""
    def lease(at, ended=None, renewed=(), settled=()):
        one = Lease({"id": "j", "startedAt": at}, "t", 100, SimpleNamespace(ended=ended))
        one.renewals, one.settles = [list(mark) for mark in renewed], [list(mark) for mark in settled]
        return one

    second = lease(50)
    for first, fault in [
        (lease(0), True), (lease(0, ended=40.5), False), (lease(0, ended=60.0), True),
        (lease(0, ended=40.0, renewed=[(10.0, True)]), True), (lease(0, ended=40.0, renewed=[(10.0, None)]), False),
        (lease(-70, renewed=[(-55.0, True)]), False), (lease(-70, renewed=[(-45.0, True)]), True),
        (lease(0, settled=[(30.0, True)]), False), (lease(0, settled=[(30.0, None)]), False), (lease(0, settled=[(30.0, False)]), True),
    ]:
        same((vars(first), bool(overlaps([second, first]))), (vars(first), fault))


@checks
def enough_happened(fleet):
    """connections were cut, workers were killed, leases were lost in every way, every language worked"""
    languages = Counter(line["by"].split("-")[0] for line in fleet.runs.values())
    assert set(languages) == set(WORKERS) and min(languages.values()) > len(fleet.ids) / 50, languages
    leases = [lease for some in fleet.ledger.jobs.values() for lease in some]
    assert fleet.cuts >= 5 and fleet.kills >= 3, (fleet.cuts, fleet.kills)
    assert any(lease.expired() for lease in leases), "no lease expired"
    assert any(lease.settled() is False and not lease.expired() for lease in leases), "no lease was released"


@checks
def none_lost(fleet):
    """every job is completed or failed, and nothing else is left"""
    same(len(set(fleet.ids)), len(fleet.data))
    counts = Counter(fleet.states.values())
    same(set(counts), {"completed", "failed"})
    same({**fleet.counts(), **counts}, {**dict.fromkeys(fleet.counts(), 0), **counts})


@checks
def ended_once(fleet):
    """the end of each job is told exactly once"""
    same([(one, fleet.ends[one]) for one in fleet.ids if fleet.ends[one] != 1][:5], [])


@checks
def right_end(fleet):
    """a job that always throws has failed, and any other only when its leases expired too often"""
    for one, data in zip(fleet.ids, fleet.data):
        expired = sum(lease.expired() for lease in fleet.ledger.jobs[one])
        doomed = data.get("fatal") or data.get("fails", 0) >= ATTEMPTS
        given_up = expired >= STALLS or expired + data.get("fails", 0) >= ATTEMPTS
        failed = fleet.states[one] == "failed"
        assert failed if doomed else (not failed or given_up), (data, fleet.states[one], expired)


@checks
def one_lease_at_a_time(fleet):
    """no job was leased to a second worker while the first lease can still have been valid"""
    found = [(a.job, a.connection.worker, b.connection.worker, b.at - a.earliest_end())
             for leases in fleet.ledger.jobs.values() for a, b in overlaps(leases)]
    same(found[:5], [])


@checks
def one_run_per_lease(fleet):
    """no delivery was run twice, and none without a lease"""
    same(fleet.doubled, [])
    leases = {(lease.job, lease.at) for some in fleet.ledger.jobs.values() for lease in some}
    same([key for key in fleet.runs if key not in leases][:5], [])
    same([key for key, line in fleet.runs.items() if line["t"] < int(key[1])][:5], [])


@checks
def results_of_accepted_runs(fleet):
    """a completed job has the result of the one run whose outcome the broker accepted"""
    for one, state in fleet.states.items():
        if state != "completed":
            continue
        result = fleet.results[one]
        accepted = [lease for lease in fleet.ledger.jobs[one] if lease.at == result["at"] and lease.settled() is not False]
        same((one, len(accepted)), (one, 1))
        assert (result["by"], one, result["at"]) in fleet.done, f"{one}: no run ended with {result}"


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else random.SystemRandom().randrange(1 << 32)
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 20_000
    del sys.argv[1:]
    print(f"seed {seed}", flush=True)
    with Broker(args=["--no-ui"]) as broker, tempfile.TemporaryDirectory(prefix="onceover-fleet-") as folder:
        fleet = Fleet(seed, count, folder, broker)
        try:
            fleet.run()
            fleet.gather()
        finally:
            for worker in fleet.running.values():
                worker.kill()
        print(fleet.figures(), flush=True)
        code = checks.run(fleet)
        if not broker.alive():
            print(f"the broker ended with {broker.process.returncode}: {broker.tail()}")
            return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
