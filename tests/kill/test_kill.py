#!/usr/bin/env python3
"""Kills the broker at random moments under load and compares what it restores with what its clients were told.

    test_kill.py [ROUNDS [SEED]]

Several clients add, replace, pull, acknowledge and release on queues of their own; a loader keeps many adds in flight.
After each SIGKILL (in some rounds a second one while the broker starts) every acknowledged command must have its effect:
jobs with their state and attempts, keys with their owner and the end of their window to within 50 ms, custom ids.
Of the one unanswered command of each client, either all of its effect or none. A failure prints the seed.
"""
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from client import Client  # noqa: E402
from kit.broker import Broker  # noqa: E402
from kit.wire import Gone  # noqa: E402
from model import now_ms  # noqa: E402

CLIENTS = 6
STATES = ["waiting", "prioritized", "delayed", "active", "completed", "failed", "waiting-children"]
WINDOW_TOLERANCE_MS = 50


class Loader(threading.Thread):
    """Adds with 64 in flight, to see that no acknowledged add is lost however many share a commit."""

    def __init__(self, broker, first):
        super().__init__(daemon=True)
        self.broker, self.number, self.acknowledged, self.error = broker, first, {}, None

    def run(self):
        waiting = []
        try:
            with self.broker.connect() as wire:
                while True:
                    self.number += 1
                    command = {"cmd": "PUSH", "queue": "load", "name": "n", "data": {"n": self.number, "pad": "x" * 200}}
                    waiting.append((self.number, wire.send(command)))
                    if len(waiting) >= 64:
                        number, request = waiting.pop(0)
                        answer = wire.read(request)
                        assert answer["ok"], f"add answered {answer}"
                        self.acknowledged[number] = answer["id"]
                        time.sleep(0.0002)
        except Gone:
            pass
        except Exception as error:  # reported by the round that started the thread
            self.error = error


class Seen:
    """What the restarted broker holds in one queue, jobs by the number in their payload."""

    def __init__(self, wire, queue, keys, listed_at):
        self.listed_at = listed_at
        self.jobs, self.keys = {}, {row["key"]: row for row in keys if row["queue"] == queue}
        for state in STATES:
            offset = 0
            while page := wire.call("GetJobs", queue=queue, state=state, offset=offset, limit=200)["jobs"]:
                for job in page:
                    number = job["data"]["n"]
                    assert number not in self.jobs, f"{queue}: two jobs carry number {number}"
                    self.jobs[number] = {"id": job["id"], "state": state, "attempts": job["attempts"]}
                offset += len(page)


def all_keys(broker):
    rows, cursor = [], None
    while True:
        page = broker.rpc({"type": "keys", "limit": 1000, **({"after": cursor} if cursor else {})})
        rows += [row for row in page["rows"] if row["kind"] == "dedup"]
        cursor = page.get("next")
        if not cursor:
            return rows


def difference(model, seen):
    """The first thing in which the broker is not what the model says, or none."""
    if extra := seen.jobs.keys() - model.jobs.keys():
        return f"jobs {sorted(extra)} should not be there"
    for number, job in model.jobs.items():
        got = seen.jobs.get(number)
        if got is None:
            return f"job {number} ({job}) is lost"
        if job["id"] is not None and got["id"] != job["id"]:
            return f"job {number} has id {got['id']}, not {job['id']}"
        if job["state"] in ("completed", "failed", "delayed"):
            wanted = [(job["state"], job["attempts"])]
        else:
            # A worker that was lost in the crash has used an attempt; whether a pull without answer had its effect is open.
            put_back = [(state, job["attempts"] + 1) for state in ("waiting", "delayed")]
            wanted = put_back + ([("waiting", job["attempts"])] if job["state"] == "waiting" else [])
        if (got["state"], got["attempts"]) not in wanted:
            return f"job {number} was {job}, is {got}"
    put_back = [n for n, job in model.jobs.items() if job["state"] == "waiting" and seen.jobs[n]["attempts"] > job["attempts"]]
    if len(put_back) > 1:
        return f"jobs {put_back} lost an attempt without having been pulled"
    return key_difference(model, seen)


def key_difference(model, seen):
    ids = {number: job["id"] for number, job in seen.jobs.items()}
    for text, key in model.keys.items():
        if key.near_end() or key.over():
            continue
        row = seen.keys.get(text)
        if row is None:
            return f"key {text} of job {key.owner} is lost"
        if key.owner in ids and row["ownerId"] != ids[key.owner]:
            return f"key {text} is owned by {row['ownerId']}, not by job {key.owner} {ids[key.owner]}"
        if (row.get("expiresAt") is None) != (key.ends is None):
            return f"key {text} ends at {row.get('expiresAt')}, not {key.ends}"
        if key.ends is not None:
            early, late = key.ends[0] - WINDOW_TOLERANCE_MS, key.ends[1] + WINDOW_TOLERANCE_MS
            if not early <= row["expiresAt"] <= late:
                return f"key {text} ends at {row['expiresAt']}, not between {key.ends[0]:.0f} and {key.ends[1]:.0f}"
    for text, row in seen.keys.items():
        ended = row.get("expiresAt") is not None and row["expiresAt"] < seen.listed_at - 100
        if text not in model.keys and ended:
            return f"key {text} is listed past its end"
        if text not in model.keys and row.get("expiresAt") is None:
            return f"key {text} is held by {row['ownerId']}, but was free"
        if text not in model.keys and row["expiresAt"] > now_ms() + 600:
            return f"key {text} is held until {row['expiresAt']}, but was free"
    return None


def adopt(model, seen):
    """Takes over what the restart decides: ids of unanswered adds, and where the jobs of lost workers went."""
    for number, job in model.jobs.items():
        job.update(seen.jobs[number], token=None)


def judge(client, seen):
    wrong = difference(client.model, seen)
    if wrong is None:
        return client.model
    if client.doubt is not None and client.doubt is not client.model:
        other = difference(client.doubt, seen)
        if other is None:
            return client.doubt
        raise AssertionError(f"{client.queue}: {wrong}; with the unanswered command: {other}")
    raise AssertionError(f"{client.queue}: {wrong}")


def one_round(broker, random_, models, loaded, number):
    clients = [Client(broker, f"kill-{i}", random_.random(), *models.get(i, ())) for i in range(CLIENTS)]
    loader = Loader(broker, number * 10_000_000)
    for thread in [*clients, loader]:
        thread.start()
    time.sleep(random_.uniform(0.2, 1.8))
    assert broker.alive(), f"the broker ended by itself: {broker.tail()}"
    broker.kill()
    for thread in [*clients, loader]:
        thread.join(20)
        assert not thread.is_alive(), "a client did not notice the kill"
        assert thread.error is None, f"{thread.error}"
    if random_.random() < 0.4:
        broker.spawn()
        time.sleep(random_.uniform(0.0, 0.15))
        broker.kill()
    broker.start()
    # Reading the jobs of all queues takes longer than some windows have left.
    listed_at, keys = now_ms(), all_keys(broker)
    with broker.connect() as wire:
        for i, client in enumerate(clients):
            seen = Seen(wire, client.queue, keys, listed_at)
            client.model.expire()
            if client.doubt is not None:
                client.doubt.expire()
            model = judge(client, seen)
            adopt(model, seen)
            models[i] = (model, client.number)
        loaded.update(loader.acknowledged)
        states = wire.many({"cmd": "GetState", "id": id_} for id_ in loader.acknowledged.values())
        lost = [n for n, state in zip(loader.acknowledged, states) if state["state"] != "waiting"]
        assert not lost, f"{len(lost)} of {len(loader.acknowledged)} acknowledged adds are lost, the first is {lost[0]}"
        counts = wire.call("GetJobCounts", queue="load")["counts"]
        assert counts["waiting"] >= len(loaded), f"{counts['waiting']} jobs wait, {len(loaded)} were acknowledged"
    return sum(client.answered for client in clients), len(loader.acknowledged)


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    random_, models, loaded, done = random.Random(seed), {}, {}, 0
    with Broker() as broker:
        try:
            for number in range(rounds):
                commands, adds = one_round(broker, random_, models, loaded, number)
                done += 1
                print(f"ok   kill: round {number + 1}, {commands} commands and {adds} pipelined adds all there", flush=True)
        except AssertionError as error:
            print(f"FAIL kill: round {done + 1} of seed {seed}: {error}")
    print(f"{done} passed, {rounds - done} failed")
    return 0 if done == rounds else 1


if __name__ == "__main__":
    sys.exit(main())
