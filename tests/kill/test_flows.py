#!/usr/bin/env python3
"""Kills the broker while trees of a thousand jobs are made and worked on: a tree is there whole or not at all.

    test_flows.py [ROUNDS [SEED]]

In each round one client makes trees, a PUSHF each, and others run the leaves, until a SIGKILL at a random moment. After the
restart every tree that was answered is whole, the one that was not is whole or absent, no leaf that was acknowledged runs
again, its result is there for its parent although the leaf is gone, and a parent runs exactly when all of its leaves are
done. At the end everything is worked off: no parent stays blocked. A failure prints the seed.
"""
import os
import random
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import Broker  # noqa: E402
from kit.wire import Gone  # noqa: E402

JOBS = 1000
GROUPS = 9  # parents between the root and the leaves
WORKERS = 3


def tree(name):
    """A root, parents below it, and leaves below these: JOBS jobs in all."""
    root, groups = f"{name}-root", [f"{name}-g{at}" for at in range(GROUPS)]
    leaves = {group: [] for group in groups}
    for at in range(JOBS - GROUPS - 1):
        leaves[groups[at % GROUPS]].append(f"{name}-l{at}")
    jobs = []
    for group in groups:
        jobs += [job(leaf, "leaves", (group, "groups"), [], removeOnComplete=True) for leaf in leaves[group]]
        jobs.append(job(group, "groups", (root, "roots"), leaves[group]))
    jobs.append(job(root, "roots", None, groups))
    return jobs, root, leaves


def job(name, queue, parent, children, **options):
    data = {}
    if parent:
        data, options = {"__parentId": parent[0], "__parentQueue": parent[1]}, {**options, "parentId": parent[0]}
    if children:
        data, options = {**data, "__childrenIds": children}, {**options, "childrenIds": children, "dependsOn": children}
    return {"id": name, "queue": queue, "input": {"name": "n", "data": data, "maxAttempts": 1000, "backoff": 0, **options}}


class Thread(threading.Thread):
    """Works on one connection until that breaks; other errors are reported by the round that started it."""

    def __init__(self, broker):
        super().__init__(daemon=True)
        self.broker, self.error = broker, None

    def run(self):
        try:
            with self.broker.connect(timeout=60) as self.wire:
                self.work()
        except Gone:
            pass
        except Exception as error:  # reported by the round
            self.error = error


class Maker(Thread):
    def __init__(self, broker, first, most):
        super().__init__(broker)
        self.number, self.last, self.made, self.doubt = first, first + most, {}, None

    def work(self):
        while self.number < self.last:
            self.number += 1
            jobs, root, leaves = tree(f"t{self.number}")
            self.doubt = (root, leaves)
            answer = self.wire.call("PUSHF", jobs=jobs)
            assert answer["ok"], answer
            assert [one["id"] for one in answer["data"]["jobs"]] == [one["id"] for one in jobs]
            self.made[root], self.doubt = leaves, None
            time.sleep(0.05)


class Worker(Thread):
    """Runs leaves; remembers which ones were acknowledged as done."""

    def __init__(self, broker):
        super().__init__(broker)
        self.done = set()

    def work(self):
        while True:
            answer = self.wire.call("PULLB", queue="leaves", count=20, owner="w", timeout=100)
            for one, token in zip(answer["jobs"], answer["tokens"]):
                assert self.wire.call("ACK", id=one["id"], token=token, result=one["id"])["ok"]
                self.done.add(one["id"])


def states(wire, ids):
    commands = [{"cmd": "GetState", "id": one} for one in ids]
    return {one: answer["state"] for one, answer in zip(ids, wire.many(commands))}


def judge(wire, root, leaves, done, must_be_there):
    """Whether the tree is there; it is whole then, and stands where its leaves stand."""
    all_leaves = [leaf for group in leaves.values() for leaf in group]
    found = states(wire, [root, *leaves, *all_leaves])
    if found[root] == "unknown" and not must_be_there:
        assert set(found.values()) == {"unknown"}, f"{root} is there in part"
        return False
    assert found[root] == "waiting-children", f"{root} is {found[root]}"
    for group, its in leaves.items():
        gone = {leaf for leaf in its if found[leaf] == "unknown"}
        assert gone >= done & set(its), f"{group}: {sorted(done & set(its) - gone)[:3]} were done and are there again"
        wanted = "waiting-children" if len(gone) < len(its) else "waiting"
        assert found[group] == wanted, f"{group} is {found[group]}, {len(gone)} of {len(its)} leaves are done"
        # A leaf whose acknowledgement was not answered may be done all the same: its value tells.
        values = wire.call("GetChildrenValues", id=group)["data"]["values"]
        assert values == {f"leaves:{leaf}": leaf for leaf in gone}, f"{group} reads {len(values)} values of {len(gone)}"
    return True


def one_round(broker, random_, first, trees):
    maker, workers = Maker(broker, first, 4), [Worker(broker) for _ in range(WORKERS)]
    for thread in [maker, *workers]:
        thread.start()
    time.sleep(random_.uniform(0.1, 2.5))
    broker.kill()
    for thread in [maker, *workers]:
        thread.join(30)
        assert not thread.is_alive(), "a client hangs"
        if thread.error:
            raise thread.error
    broker.start()
    done = set().union(*(worker.done for worker in workers))
    with broker.connect(timeout=60) as wire:
        if maker.doubt and judge(wire, *maker.doubt, done, False):
            maker.made[maker.doubt[0]] = maker.doubt[1]
        trees.update(maker.made)
        for root, leaves in trees.items():
            judge(wire, root, leaves, done, True)
    return maker.number, len(done)


def finish(broker, trees):
    """Works everything off: nobody stays blocked."""
    end = time.monotonic() + 120
    with broker.connect(timeout=60) as wire:
        while any(state != "completed" for state in states(wire, list(trees)).values()):
            assert time.monotonic() < end, f"blocked for ever: {states(wire, list(trees))}"
            for queue in ("leaves", "groups", "roots"):
                answer = wire.call("PULLB", queue=queue, count=1000, owner="w", timeout=0)
                ids, tokens = [one["id"] for one in answer["jobs"]], answer["tokens"]
                if ids:
                    assert wire.call("ACKB", ids=ids, tokens=tokens, results=ids)["ok"]
        for queue in ("leaves", "groups", "roots"):
            counts = wire.call("GetJobCounts", queue=queue)["counts"]
            assert counts["waiting"] + counts["delayed"] + counts["active"] + counts["waiting-children"] == 0, (queue, counts)
        group = next(iter(next(iter(trees.values()))))
        assert wire.call("GetState", id=group)["state"] == "completed"


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 6
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.randrange(1 << 30)
    random_, trees, number, done = random.Random(seed), {}, 0, 0
    try:
        with Broker() as broker:
            with broker.connect() as wire:
                # The leaves that run at a kill are the first to run again: in the end some have been there each time.
                assert wire.call("SetStallConfig", queue="leaves", config={"maxStalls": 1000})["ok"]
            for at in range(rounds):
                number, finished = one_round(broker, random_, number, trees)
                done += finished
                print(f"ok   round {at + 1}: {len(trees)} trees of {JOBS} jobs, {finished} leaves done before the kill")
            finish(broker, trees)
            print(f"ok   {len(trees)} trees worked off to their roots")
    except Exception as error:
        print(f"FAIL seed {seed}: {error}")
        return 1
    return 0 if trees and done else 1


if __name__ == "__main__":
    sys.exit(main())
