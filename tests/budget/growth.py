#!/usr/bin/env python3
"""What lists cost as they grow: `growth.py [--full] [--release]`.

A broker is filled with jobs and keys, step by step, and at each size the same questions are asked: those of clients over their
connection, those of the window through its door. A question must cost the same at every size, but for what the processor pays
when what it needs is not in its cache any more: at most 1.5 times as much.

The quickest quarter of many answers is compared, which other programs on the machine disturb least. `--full` goes to a million
jobs; without it the last step is 100,000.
"""
import argparse
import http.client
import json
import os
import statistics
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from kit.broker import TARGET, Broker  # noqa: E402

RATIO = 1.5
# What a clock, a socket and this program add at random, in ms: no ratio of two short times means more than this.
NOISE_MS = 0.5
ROUNDS = 80
BATCH = 1000
PAD = "x" * 60


def fill(wire, jobs, keys, have):
    """Jobs in four queues, every tenth of them with a key, others with a job id, a priority or a delay. The smallest size fills a page
    of everything."""
    wanted = []
    for number in range(have, jobs):
        job = {"name": "task", "data": {"n": number, "pad": PAD}}
        if number % 10 == 0 and number // 10 < keys:
            job |= {"uniqueKey": f"key-{number}", "dedup": {"ttl": 3_600_000 + number}}
        if number % 5 == 1:
            job["customId"] = f"order-{number}"
        if number % 5 == 2:
            job["priority"] = number % 7
        if number % 7 == 3:
            job["delay"] = 3_600_000 + number
        wanted.append(job)
    batches = [wanted[at:at + BATCH] for at in range(0, len(wanted), BATCH)]
    commands = [{"cmd": "PUSHB", "queue": f"list-{at % 4}", "jobs": batch} for at, batch in enumerate(batches)]
    for answer in wire.many(commands, window=4):
        assert answer["ok"], answer


class Door:
    """The window's door, over one connection that stays open."""

    def __init__(self, broker):
        host = broker.url.removeprefix("http://")
        self.http, self.token = http.client.HTTPConnection(host, timeout=60), broker.token

    def ask(self, **request):
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.token}"}
        self.http.request("POST", "/rpc", json.dumps(request), headers)
        answer = self.http.getresponse()
        body = answer.read()
        assert answer.status == 200, body
        return body


def questions(wire, door, jobs):
    """Name, question. The depths are those of the size, so that the deepest page is asked for at every size."""
    per_queue = jobs // 4
    jobs_page = lambda **more: lambda: door.ask(type="jobs", filter="", limit=100, **more)  # noqa: E731
    second = json.loads(door.ask(type="jobs", filter="", limit=100))["next"]
    get = lambda **more: lambda: wire.call("GetJobs", queue="list-0", limit=50, **more)  # noqa: E731
    return {
        "GetJobCounts": lambda: wire.call("GetJobCounts", queue="list-0"),
        "GetJobs, first page": get(offset=0),
        "GetJobs, the middle of all": get(offset=per_queue // 2),
        "GetJobs, the last page, oldest first": get(offset=per_queue - 50, asc=True),
        "GetJobs, waiting and delayed, middle": get(state=["waiting", "delayed"], offset=per_queue // 3),
        "GetCountsPerPriority": lambda: wire.call("GetCountsPerPriority", queue="list-0"),
        "ListDeduplicationKeys, a page in the middle": lambda: wire.call("ListDeduplicationKeys", offset=jobs // 20, limit=50),
        "window: jobs, first page": jobs_page(),
        "window: jobs, second page": jobs_page(after=second),
        "window: jobs, one state": jobs_page(state="delayed"),
        "window: keys by attention": lambda: door.ask(type="keys", limit=100),
        "window: keys by time left": lambda: door.ask(type="keys", sort="timeLeft", limit=100),
        "window: job ids": lambda: door.ask(type="keys", chip="jobIds", limit=100),
        "window: adds": lambda: door.ask(type="adds", limit=100),
        "window: adds, one chip": lambda: door.ask(type="adds", chip="collapsed", limit=100),
        "window: overview": lambda: door.ask(type="overview"),
        "window: queues": lambda: door.ask(type="queues"),
    }


def quick_quarter(question):
    took = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        question()
        took.append((time.perf_counter() - began) * 1000)
    took.sort()
    return statistics.median(took[:ROUNDS // 4])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--release", action="store_true")
    options = parser.parse_args()
    if options.release:
        os.environ["ONCEOVERD"] = os.path.join(TARGET, "release", "onceoverd")
    sizes = [1_000, 100_000, 1_000_000] if options.full else [1_000, 100_000]
    times, failed = {}, 0
    with Broker() as broker, broker.connect(timeout=120) as wire:
        door, have, empty = Door(broker), 0, broker.memory_mib()
        for size in sizes:
            fill(wire, size, size // 10, have)
            have = size
            for name, question in questions(wire, door, size).items():
                times.setdefault(name, []).append(quick_quarter(question))
            print(f"{size:>9,} jobs, {size // 10:,} keys: {broker.memory_mib():.0f} MB, {(broker.memory_mib() - empty) * 1024 * 1024 / size:.0f} bytes a job", flush=True)
    for name, took in times.items():
        worst = max(took[1:])
        good = worst <= took[0] * RATIO or worst - took[0] <= NOISE_MS
        failed += not good
        print(f"{'ok  ' if good else 'FAIL'} {name:<46}" + "".join(f"{ms:9.2f}" for ms in took) + f" ms   x{worst / took[0]:.2f}")
    print(f"{failed} questions grow with the list")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
