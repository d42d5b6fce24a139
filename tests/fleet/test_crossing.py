#!/usr/bin/env python3
"""Jobs cross languages: added by one official client, worked by another, the result read by the adder.

Protocol-2 clients (Python, Rust) carry a job's name inside its data, the npm client beside it. Whoever adds and whoever
works, each has to see the name, and the data as its own client shows it.
"""
import os
import sys
import tempfile
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kit.broker import Broker
from kit.checks import Checks, same
from kit.peers import PROGRAMS, PeerWorker, add

checks = Checks("crossing")

ECHO = {"text": "grüße 🦊 \" \\ \n", "int": 7, "negative": -7, "big": 2**40, "float": 1.5, "yes": True, "no": False,
        "nothing": None, "list": [1, [2, {"deep": []}]], "map": {"": {"a b": {}}}}
# Name and data as given to the adder's client.
JOBS = [
    ("welcome", {"echo": ECHO}),
    ("ünïcode näme", {"echo": "x"}),
    ("empty", {}),
    ("number", 5),
    ("text", "just a text"),
    ("list", [1, "two", None]),
]


def seen_by(worker, adder, name, data):
    """What a worker's client shows as the data of a job that another language's client added."""
    if not isinstance(data, dict) and (worker != "npm" or adder != "npm"):
        # The protocol-2 clients carry anything but a map under a name of its own, which others see.
        data = {"payload": data}
    # Python's client shows the data as it travels, with the name in it.
    return {"name": name, **data} if worker == "python" else data


def crossing(adder, worker, broker, folder):
    queue, own = f"cross-{uuid.uuid4().hex[:8]}", f"{worker}-for-{adder}"
    with PeerWorker(worker, broker.port, queue, folder, own) as running:
        answers = add(adder, broker.port, queue, [{"name": name, "data": data} for name, data in JOBS])
        starts = {line["job"]: line for line in running.lines() if line["what"] == "start"}
        same(running.stop(), 0)
    for (name, data), answer in zip(JOBS, answers):
        start = starts[answer["id"]]
        same((name, start["name"], start["data"]), (name, name, seen_by(worker, adder, name, data)))
        echo = data.get("echo") if isinstance(data, dict) else None
        same((name, answer["result"]), (name, {"by": own, "at": start["at"], "echo": echo}))
    with broker.connect() as wire:
        same(wire.call("GetJobCounts", queue=queue)["counts"]["completed"], len(JOBS))


@checks
def name_in_the_data(broker, folder):
    """a `name` inside an npm job's data is its owner's, and no worker loses it"""
    data = {"name": "inner", "n": 1}
    for worker, wanted in {"npm": ("outer", data), "python": ("inner", data), "rust": ("inner", {"n": 1})}.items():
        queue = f"cross-{uuid.uuid4().hex[:8]}"
        with PeerWorker(worker, broker.port, queue, folder, f"{worker}-inner") as running:
            add("npm", broker.port, queue, [{"name": "outer", "data": data}])
            start = running.lines()[0]
        same((worker, start["name"], start["data"]), (worker, *wanted))


def every_pair():
    for adder in PROGRAMS:
        for worker in PROGRAMS:
            def check(broker, folder, adder=adder, worker=worker):
                crossing(adder, worker, broker, folder)
            check.__name__ = f"{adder}_to_{worker}"
            check.__doc__ = f"added by {adder}, worked by {worker}, the result read by {adder}"
            checks(check)


def main():
    every_pair()
    with Broker() as broker, tempfile.TemporaryDirectory(prefix="onceover-crossing-") as folder:
        return broker.judge(checks.run(broker, folder))


if __name__ == "__main__":
    sys.exit(main())
