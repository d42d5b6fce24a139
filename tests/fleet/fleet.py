"""A fleet of workers in three languages on one queue, the trouble it is given, and what is left to look at afterwards."""
import random
import threading
import time
from collections import Counter
from itertools import cycle

from kit.checks import same
from kit.peers import PeerWorker
from kit.wire import Gone
from leases import Ledger
from tap import Tap, now

QUEUE = "fleet"
WORKERS = ["npm", "npm", "npm", "python", "python", "python", "rust", "rust"]
ATTEMPTS = 6
# A job is given up when its lease has expired this often; the broker's default.
STALLS = 3
# Short, so that a lease whose worker was killed expires while the test runs; long jobs need several heartbeats.
OPTIONS = {"concurrency": 8, "lock_ms": 4_000, "heartbeat_ms": 1_000}
SECONDS_MAX = 230


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

    def __init__(self, seed, count, broker_kills, folder, broker):
        self.chance, self.folder, self.broker = random.Random(seed), folder, broker
        # How many jobs have ended when the broker is killed.
        self.deadlines = [count * (n + 1) // (broker_kills + 1) for n in range(broker_kills)]
        self.ledger = Ledger()
        self.tap = Tap(broker.port, self.ledger)
        self.wire = broker.connect(timeout=60)
        self.doors = {f"{language}-{n}": (language, self.tap.door(f"{language}-{n}")) for n, language in enumerate(WORKERS)}
        self.running, self.finished, self.retired = {}, [], []
        self.kills, self.cuts = 0, 0
        # In turn a connection is cut, a worker killed, and another told to finish what it has; every worker's turn comes.
        victims = self.chance.sample(sorted(self.doors), len(self.doors))
        self.troubles = cycle(trouble for n, victim in enumerate(victims) for trouble in ((self._cut, None), (self._kill, victim), (self._retire, victims[n - 3])))
        self.data = list(make_jobs(count, self.chance))
        self.ends, self.ids = Counter(), []

    def run(self):
        began = time.monotonic()
        self._listen()
        for at in range(0, len(self.data), 500):
            jobs = [{"name": "fleet", "data": data, "maxAttempts": ATTEMPTS, "backoff": {"type": "fixed", "delay": 50}} for data in self.data[at:at + 500]]
            self.ids += self.wire.call("PUSHB", queue=QUEUE, jobs=jobs)["ids"]
        for name in self.doors:
            self._start(name)
        while self.ended() < len(self.data):
            time.sleep(self.chance.uniform(0.2, 0.8))
            assert time.monotonic() - began < SECONDS_MAX, f"not done: {self.counts()}"
            ended = self.ended()
            if self.deadlines and ended >= self.deadlines[0]:
                self._kill_broker()
            # The last jobs are left in peace, or the run would have no end.
            elif ended < len(self.data) * 0.97:
                self._disturb()
        for worker in [*self.running.values(), *self.retired]:
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
        trouble, victim = next(self.troubles)
        trouble(victim)

    def _cut(self, _):
        self.cuts += self.tap.cut_one(self.chance)

    def _kill(self, name):
        self.running[name].kill()
        self.kills += 1
        self._replace(name)

    def _retire(self, name):
        self.running[name].retire()
        self.retired.append(self.running[name])
        self._replace(name)

    def _replace(self, name):
        self.finished.append(self.running[name])
        self._start(name)

    def _kill_broker(self):
        self.deadlines.pop(0)
        self.ledger.deaths.append(now())
        self.broker.kill()
        self.broker.start()
        self.wire = self.broker.connect(timeout=60)
        self._listen()

    def _listen(self):
        """Counts how often each job is told to have ended, as long as the broker lives."""
        wire = self.broker.connect(timeout=600)
        wire.call("SubscribeEvents", queue=QUEUE)
        threading.Thread(target=self._count_ends, args=(wire,), daemon=True).start()

    def _count_ends(self, wire):
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

    def timeline(self, job):
        """What the broker remembers of a job's life."""
        return self.wire.call("GetJob", id=job)["job"]["timeline"]

    def figures(self):
        leases = [lease for some in self.ledger.jobs.values() for lease in some]
        outcomes = Counter(
            "settled" if lease.settled() else "died" if lease.died() else "unknown" if lease.settled() is None else "expired" if lease.expired() else "released"
            for lease in leases
        )
        ordered = (sorted(some, key=lambda lease: lease.at) for some in self.ledger.jobs.values())
        late = sum(self.until.get((a.job, a.at), 0) > b.at for some in ordered for a, b in zip(some, some[1:]))
        return (f"{len(self.ids)} jobs in {self.seconds:.0f} s, {len(leases)} leases ({dict(outcomes)}), {len(self.runs)} runs, "
                f"{late} of them went on while the job was already leased to another, {self.cuts} connections cut, {self.kills} workers "
                f"killed, {len(self.retired)} retired, the broker killed {len(self.ledger.deaths)} times")
