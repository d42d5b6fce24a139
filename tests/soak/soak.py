#!/usr/bin/env python3
"""Hours of mixed traffic against one broker: its memory stays flat, its files bounded, and it leaks no handle.

`soak.py [--minutes N] [--rate N] [--kept N] [--every SECONDS]`. First the traffic runs as fast as it can until everything
that is kept up to a bound is full: N completed jobs, the log of adds, windows. Then it goes on at its rate for N minutes,
and the first quarter of that time is compared with the last. Clients add in every way that dedup knows, work, fail, leave without a word and come back; a page watches all the time.
"""
import argparse
import json
import os
import random
import statistics
import sys
import threading
import time
import urllib.request

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import Broker, free_port  # noqa: E402
from kit.wire import Gone  # noqa: E402

# The window's log of adds holds as many.
ADDS_KEPT = 50_000
QUEUES = 20
KEYS = 2_000
# Growth from the first to the last quarter of the run.
MEMORY_GROWTH_MAX = 1.05
FILE_GROWTH_MAX = 1.10
# SQLite writes the log of changes back at 1,000 pages of 4 KiB; a turn is at most some MB.
WAL_MB_MAX = 64
# A connection may be between its end and its close when handles are counted.
HANDLES_MORE_MAX = 5
VIEWS = [{"type": "overview"}, {"type": "adds", "limit": 50}, {"type": "queues"}, {"type": "clients"}]


class Soak:
    def __init__(self, broker):
        self.broker, self.rate, self.over = broker, float("inf"), threading.Event()
        self.adds, self.done, self.troubles = 0, 0, []

    def add(self, dice):
        """One add, of any kind."""
        fields = {"cmd": "PUSH", "queue": f"q{dice.randrange(QUEUES)}", "name": "task", "data": {"n": dice.random(), "text": "y" * dice.randrange(200)}}
        kind, key = dice.randrange(10), f"key-{dice.randrange(KEYS)}"
        if kind < 2:
            fields |= {"uniqueKey": key}
        elif kind < 6:
            fields |= {"uniqueKey": key, "dedup": {"ttl": dice.choice([500, 5_000, 30_000]), "extend": kind == 4, "replace": kind == 5}}
        elif kind == 6:
            fields |= {"jobId": f"id-{dice.randrange(KEYS)}"}
        elif kind == 7:
            fields |= {"delay": dice.randrange(3_000), "priority": dice.randrange(5)}
        if dice.random() < 0.3:
            fields |= {"removeOnComplete": True, "removeOnFail": True}
        return {**fields, "maxAttempts": 2, "backoff": 50}

    def adder(self, seed):
        """Adds at its share of the rate; now and then it comes back on another connection."""
        dice = random.Random(seed)
        while not self.over.is_set():
            with self.broker.connect() as wire:
                for _ in range(200):
                    began = time.monotonic()
                    for answer in wire.many((self.add(dice) for _ in range(20)), window=20):
                        if not answer["ok"] and "extended TTL" not in answer["error"]:
                            self.troubles.append(answer["error"])
                    self.adds += 20
                    self.over.wait(max(0.0, 40 / self.rate - (time.monotonic() - began)))

    def worker(self, seed):
        """Takes, completes most, fails some, logs a little, and at times leaves with jobs in its hands."""
        dice = random.Random(seed)
        while not self.over.is_set():
            with self.broker.connect() as wire:
                me = f"soak-{seed}-{dice.randrange(10**9)}"
                wire.call("RegisterWorker", name="soak", queues=[f"q{n}" for n in range(QUEUES)], workerId=me)
                for _ in range(400):
                    queue = f"q{dice.randrange(QUEUES)}"
                    taken = wire.call("PULLB", queue=queue, count=50, owner=me)
                    jobs = list(zip((job["id"] for job in taken["jobs"]), taken["tokens"]))
                    if jobs and dice.random() < 0.01:
                        break
                    fail = [job for job in jobs if dice.random() < 0.1]
                    good = [job for job in jobs if job not in fail]
                    for id_, token in fail:
                        wire.call("AddLog", id=id_, message="it did not work")
                        wire.call("FAIL", id=id_, token=token, error="no luck")
                    if good:
                        wire.call("ACKB", ids=[id_ for id_, _ in good], tokens=[token for _, token in good])
                    self.done += len(good)
                    self.over.wait(0.0 if jobs else 0.02)
                wire.call("UnregisterWorker", workerId=me)

    def sweeper(self, seed):
        """What an operator does: looks, purges dead letters, releases keys, listens for a while."""
        dice = random.Random(seed)
        while not self.over.is_set():
            with self.broker.connect() as wire:
                wire.call("SubscribeEvents", queue=f"q{dice.randrange(QUEUES)}")
                for queue in (f"q{n}" for n in range(QUEUES)):
                    wire.call("GetJobs", queue=queue, limit=20)
                    wire.call("PurgeDlq", queue=queue)
                    wire.call("RemoveDeduplicationKey", queue=queue, deduplicationId=f"key-{dice.randrange(KEYS)}")
                    wire.call("PULL", queue=f"never-{dice.randrange(10**9)}", owner="w", timeout=1)
                self.over.wait(1)

    def watcher(self, _):
        """A page: asks for what it shows ten times a second, and has its stream of hints open."""
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.broker.token}"}
        stream = urllib.request.urlopen(urllib.request.Request(self.broker.url + "/changes", headers=headers), timeout=60)
        threading.Thread(target=self.listen, args=(stream,), daemon=True).start()
        while not self.over.wait(0.1):
            for view in VIEWS:
                body = json.dumps(view).encode()
                with urllib.request.urlopen(urllib.request.Request(self.broker.url + "/rpc", body, headers), timeout=30) as answer:
                    answer.read()

    def listen(self, stream):
        while not self.over.is_set() and stream.read(1):
            pass

    def guarded(self, part, seed):
        try:
            part(seed)
        except (Gone, OSError, AssertionError, KeyError) as error:
            self.troubles.append(f"{part.__name__}: {type(error).__name__}: {error}")

    def start(self):
        parts = [(self.adder, 1), (self.adder, 2), (self.worker, 3), (self.worker, 4), (self.sweeper, 5), (self.watcher, 6)]
        threads = [threading.Thread(target=self.guarded, args=part, daemon=True) for part in parts]
        for thread in threads:
            thread.start()
        return threads

    def fill(self, kept):
        """Lets the traffic run until what is kept is full, and has been for a while."""
        while self.broker.alive() and (self.done < kept * 2 or self.adds < ADDS_KEPT * 1.2):
            time.sleep(0.5)

    def work_off(self):
        """Lets the workers catch up, and the longest windows end."""
        with self.broker.connect() as wire:
            while self.broker.alive() and wire.call("Stats")["stats"]["waiting"] > self.rate:
                time.sleep(0.5)
        time.sleep(35)

    def sample(self):
        """What the process holds now: MB of memory, handles, threads, MB of the file and of its log."""
        proc = f"/proc/{self.broker.process.pid}"
        with open(f"{proc}/status", encoding="ascii") as file:
            status = dict(line.split(":", 1) for line in file)
        sizes = {name: os.path.getsize(os.path.join(self.broker.data, name)) / 1e6 for name in os.listdir(self.broker.data)}
        return {
            "rss": self.broker.memory_mib(),
            "handles": len(os.listdir(f"{proc}/fd")),
            "threads": int(status["Threads"]),
            "file": sum(size for name, size in sizes.items() if name.endswith(".db")),
            "wal": sum(size for name, size in sizes.items() if name.endswith("-wal")),
        }


def judge(samples, troubles):
    """Prints the first and the last quarter, and returns how many bounds are broken."""
    quarter = max(1, len(samples) // 4)
    first, last = samples[:quarter], samples[-quarter:]

    def middle(part, name):
        return statistics.median(sample[name] for sample in part)

    def highest(part, name):
        return max(sample[name] for sample in part)

    bounds = [
        ("memory in MB", middle(first, "rss"), middle(last, "rss"), middle(first, "rss") * MEMORY_GROWTH_MAX),
        ("file in MB", highest(first, "file"), highest(last, "file"), highest(first, "file") * FILE_GROWTH_MAX),
        ("log of changes in MB, highest", highest(first, "wal"), highest(samples, "wal"), WAL_MB_MAX),
        ("handles", highest(first, "handles"), highest(last, "handles"), highest(first, "handles") + HANDLES_MORE_MAX),
        ("threads", highest(first, "threads"), highest(last, "threads"), highest(first, "threads") + 1),
        ("troubles", 0, len(troubles), 0),
    ]
    broken = 0
    for name, before, after, most in bounds:
        broken += after > most
        print(f"{'ok  ' if after <= most else 'FAIL'} {name}: {before:.1f} in the first quarter, {after:.1f} in the last (at most {most:.1f})")
    print("\n".join(sorted(set(troubles))[:10]))
    return broken


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--rate", type=int, default=1_000, help="adds a second")
    parser.add_argument("--kept", type=int, default=10_000, help="completed jobs that the broker keeps")
    parser.add_argument("--every", type=float, default=1.0, help="seconds between two samples")
    asked = parser.parse_args()
    with Broker(ui_port=free_port(), args=["--max-completed-jobs", str(asked.kept)]) as broker:
        soak, began = Soak(broker), time.monotonic()
        threads = soak.start()
        soak.fill(asked.kept)
        print(f"full after {soak.adds:,} adds and {soak.done:,} completed jobs in {time.monotonic() - began:.0f} s", flush=True)
        soak.rate = asked.rate
        soak.work_off()
        samples, end, shown = [], time.monotonic() + asked.minutes * 60, 0.0
        while time.monotonic() < end and broker.alive():
            samples.append(soak.sample())
            if time.monotonic() - shown > max(60.0, asked.minutes * 6):
                shown = time.monotonic()
                print({name: round(value, 1) for name, value in samples[-1].items()}, f"{soak.adds:,} adds, {soak.done:,} completed", flush=True)
            time.sleep(asked.every)
        soak.over.set()
        for thread in threads:
            thread.join(30)
        print(f"{soak.adds:,} adds and {soak.done:,} completed jobs in {time.monotonic() - began:.0f} s, {len(samples)} samples")
        broken = judge(samples, soak.troubles)
        print(f"{broken} bounds broken")
        return broker.judge(1 if broken else 0)


if __name__ == "__main__":
    sys.exit(main())
