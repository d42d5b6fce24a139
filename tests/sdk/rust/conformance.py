#!/usr/bin/env python3
"""Works the Rust client's own conformance driver, as published, through every operation it offers.

The driver is an example of the crate: a program that reads a request a line and prints an answer a line. The operations
are taken from its source, so that one that this script does not use is noticed.
"""
import json
import os
import re
import subprocess
import sys
import time
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", ".."))
from kit.broker import TARGET, Broker
from kit.checks import Checks, contains, same
from kit.client_source import cargo, client_source

checks = Checks("rust driver")


class Driver:
    """One run of the program; remembers which operations it was asked for."""

    used = set()

    def __init__(self, port, **options):
        self.process = subprocess.Popen([os.path.join(TARGET, "debug", "examples", "conformance-driver")], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.count = 0
        self.ok("connect", host="127.0.0.1", port=port, **options)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)

    def call(self, op, **fields):
        self.used.add(op)
        self.count += 1
        self.process.stdin.write(json.dumps({"id": self.count, "op": op, **fields}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        same(answer.pop("id"), self.count)
        return answer

    def ok(self, op, **fields):
        answer = self.call(op, **fields)
        assert answer.pop("ok"), f"{op}: {answer}"
        return answer

    def refused(self, text, op, **fields):
        answer = self.call(op, **fields)
        same(answer["ok"], False)
        contains(answer["error"], text)


def shown(value):
    """A value as the driver prints it: the client's conversion to JSON puts every text between marks of its own."""
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return [shown(one) for one in value]
    return {key: shown(one) for key, one in value.items()} if isinstance(value, dict) else value


def fresh(word):
    return f"{word}-{uuid.uuid4().hex[:8]}"


@checks
def greeting(driver, _port):
    """hello names a protocol that the client knows"""
    same(driver.ok("hello")["protocolVersion"] >= 2, True)


@checks
def adding(driver, _port):
    """add and addBulk: ids, names, data and options"""
    queue, one = fresh("conf"), fresh("id")
    data = {"n": 1, "deep": [None, True, "ü", 1.5]}
    same(driver.ok("add", queue=queue, name="first", data=data, opts={"jobId": one}), {"jobId": one})
    same(driver.ok("add", queue=queue, name="second", data={"n": 2}, opts={"jobId": one}), {"jobId": one})
    same(driver.ok("getJob", jobId=one)["job"], {"id": one, "name": "first", "data": shown(data), "stacktrace": []})
    same(driver.ok("getJobByCustomId", queue=queue, customId=one), {"job": {"id": one}})
    same([driver.ok("getJob", jobId="nobody"), driver.ok("getJobByCustomId", queue=queue, customId="nobody")], [{"job": None}, {"job": None}])
    entries = [{"name": f"b{n}", "data": {"n": n}, "opts": {"jobId": fresh("bulk") if n else one}} for n in range(3)]
    ids = driver.ok("addBulk", queue=queue, entries=entries)["ids"]
    same(ids, [entry["opts"]["jobId"] for entry in entries])
    same(driver.ok("count", queue=queue), {"count": 3})
    driver.refused("maxAttempts must be at least 1", "add", queue=queue, name="x", data={}, opts={"attempts": 0})
    driver.refused("Queue name is required", "add", queue="", name="x", data={}, opts={})
    same(driver.ok("count", queue=queue), {"count": 3})


@checks
def control(driver, _port):
    """pause, resume, isPaused, promote, drain"""
    queue = fresh("conf")
    later = driver.ok("add", queue=queue, name="later", data={}, opts={"delay": 60_000})["jobId"]
    same(driver.ok("getState", jobId=later), {"state": "delayed"})
    driver.ok("promote", jobId=later)
    same(driver.ok("getState", jobId=later), {"state": "waiting"})
    driver.refused("Job not found or not delayed", "promote", jobId=later)
    driver.ok("pause", queue=queue)
    same(driver.ok("isPaused", queue=queue), {"paused": True})
    driver.ok("resume", queue=queue)
    same(driver.ok("isPaused", queue=queue), {"paused": False})
    same(driver.ok("drain", queue=queue), {"count": 1})
    same(driver.ok("getState", jobId=later), {"state": "unknown"})


@checks
def processing(driver, _port):
    """process: results are stored, and who waits for a job gets its result"""
    queue = fresh("conf")
    ids = driver.ok("addBulk", queue=queue, entries=[{"name": "x", "data": {"n": n}, "opts": {}} for n in range(25)])["ids"]
    result = {"sum": 3, "list": [1, "two", None]}
    driver.ok("process", queue=queue, behavior="return", result=result, batchSize=10, until={"completed": 25}, timeoutMs=20_000)
    same([driver.ok("getResult", jobId=one)["result"] for one in ids], [shown(result)] * 25)
    same(driver.ok("waitForJob", jobId=ids[0], timeoutMs=1_000), {"result": shown(result)})
    same(driver.ok("getState", jobId=ids[0]), {"state": "completed"})


@checks
def failing_once(driver, _port):
    """process: a job that fails once is tried again and completes"""
    queue = fresh("conf")
    one = driver.ok("add", queue=queue, name="x", data={}, opts={"attempts": 3, "backoff": 50})["jobId"]
    driver.ok("process", queue=queue, behavior="failOnce", result="second time", until={"completed": 1}, timeoutMs=20_000)
    same(driver.ok("getResult", jobId=one), {"result": shown("second time")})


@checks
def failing_for_good(driver, _port):
    """process: an unrecoverable job is a dead letter at once, and can be retried"""
    queue = fresh("conf")
    one = driver.ok("add", queue=queue, name="x", data={}, opts={"attempts": 5})["jobId"]
    driver.ok("process", queue=queue, behavior="unrecoverable", until={"dlq": 1}, timeoutMs=20_000)
    same([driver.ok("getState", jobId=one), driver.ok("getDlqCount", queue=queue)], [{"state": "failed"}, {"count": 1}])
    driver.refused("failed", "waitForJob", jobId=one, timeoutMs=1_000)
    same([driver.ok("retryDlq", queue=queue), driver.ok("getState", jobId=one)], [{"count": 1}, {"state": "waiting"}])
    same(driver.ok("getDlqCount", queue=queue), {"count": 0})


@checks
def stacks(driver, _port):
    """process: the stack of a failed job is kept, at most ten lines of it"""
    queue = fresh("conf")
    one = driver.ok("add", queue=queue, name="x", data={}, opts={"attempts": 1})["jobId"]
    driver.ok("process", queue=queue, behavior="deepThrow", until={"failed": 1}, timeoutMs=20_000)
    stack = driver.ok("getJob", jobId=one)["job"]["stacktrace"]
    same(0 < len(stack) <= 10, True)
    contains("\n".join(stack), "BOOM-CONFORMANCE")


@checks
def schedulers(driver, _port):
    """upsertScheduler, getScheduler, removeScheduler: one schedule that fires, until it is removed"""
    queue, name = fresh("conf"), fresh("s")
    driver.ok("upsertScheduler", queue=queue, schedulerId=name, repeat={"pattern": "0 3 * * *", "tz": "Europe/Berlin"})
    same(driver.ok("getScheduler", schedulerId=name), {"scheduler": {}})
    driver.ok("upsertScheduler", queue=queue, schedulerId=name, repeat={"every": 50})
    deadline = time.monotonic() + 10
    while driver.ok("count", queue=queue)["count"] == 0:
        assert time.monotonic() < deadline, "it never fired"
    driver.ok("removeScheduler", schedulerId=name)
    same(driver.ok("getScheduler", schedulerId=name), {"scheduler": None})
    driver.refused("Cron job not found", "removeScheduler", schedulerId=name)
    driver.refused("Invalid cron expression", "upsertScheduler", queue=queue, schedulerId=name, repeat={"pattern": "61 * * * *"})


@checks
def refusals(driver, _port):
    """an operation that the driver does not have is refused by name"""
    driver.refused("unknown op", "no such operation")
    Driver.used.discard("no such operation")


@checks
def closing(_driver, port):
    """close ends the driver; with a token it connects all the same, as no token is configured"""
    with Driver(port, token="whatever") as other:
        other.ok("count", queue="conf")
        other.ok("close")
        same(other.process.wait(10), 0)


@checks
def coverage(_driver, _port):
    """every operation of the driver was used"""
    with open(os.path.join(client_source(), "examples", "conformance_driver.rs"), encoding="utf-8") as source:
        body = source.read().split("match op {")[1].split("fn process_until")[0]
    operations = set(re.findall(r'^            "(\w+)" =>', body, re.MULTILINE))
    assert len(operations) > 20, operations
    if len(sys.argv) == 1:
        same(Driver.used, operations)


def main():
    cargo(client_source(), "build", "--example", "conformance-driver", check=True)
    with Broker() as broker, Driver(broker.port) as driver:
        return broker.judge(checks.run(driver, broker.port))


if __name__ == "__main__":
    sys.exit(main())
