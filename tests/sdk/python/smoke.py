#!/usr/bin/env python3
"""Smoke test of the official Python client against a running broker.

    smoke.py PORT

Uses the package `bunqueue-client` as it is published. Every check has a name, a failed check does not stop the
others, and the last line is "N passed, N failed". Queue names and job ids are fresh, so the broker may hold other data.
What the client has no method for (looking up and removing a key) goes through its public `connection.call`.
"""
import sys
import threading
import time
import traceback
import uuid

from bunqueue import CommandError, Queue, UnrecoverableError, Worker

PORT = int(sys.argv[1])
CHECKS = []


def check(function):
    """Registers a check; its doc string is its name in the output."""
    CHECKS.append(function)
    return function


def fresh(word):
    return f"{word}-{uuid.uuid4().hex[:8]}"


def connect(name=None):
    return Queue(name or fresh("py"), host="127.0.0.1", port=PORT)


def work(queue, processor, **options):
    options = {"concurrency": 1, "poll_timeout_ms": 500, **options}
    return Worker(queue.name, processor, host="127.0.0.1", port=PORT, **options)


def same(got, wanted):
    assert got == wanted, f"got {got!r}, wanted {wanted!r}"


def differs(got, other):
    assert got != other, f"both are {got!r}"


def until(condition, seconds=10.0):
    """Waits for a condition to hold and returns its value."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, "did not happen in time"
        time.sleep(0.01)


def refused(text, action):
    try:
        action()
    except CommandError as error:
        assert text in str(error), f"refused with {error}"
        return
    raise AssertionError("was not refused")


def owner(queue, key):
    reply = queue.connection.call({"cmd": "GetDeduplicationJobId", "queue": queue.name, "deduplicationId": key})
    return reply["data"]["jobId"]


@check
def job_id_twice():
    """the same job_id twice gives the same job"""
    with connect() as queue:
        text = fresh("order")
        first = queue.add("charge", {"amount": 1}, job_id=text)
        second = queue.add("charge", {"amount": 2}, job_id=text)
        same(first.id, text)
        same(second.id, text)
        same(queue.count(), 1)
        same(queue.get_job(text).data["amount"], 1)
        same(queue.get_job_by_custom_id(text).id, text)


@check
def job_id_after_the_end():
    """a job_id is free again after its job completed"""
    with connect() as queue:
        text = fresh("order")
        queue.add("charge", {"n": 1}, job_id=text)
        with work(queue, lambda job: job.data["n"]):
            same(queue.wait_for_job(text, 5000), 1)
            queue.add("charge", {"n": 2}, job_id=text)
            until(lambda: queue.get_result(text) == 2)


@check
def window():
    """deduplication with a ttl: one job in the window, the next one after it"""
    with connect() as queue:
        option = {"id": "user-42", "ttl": 700}
        first = queue.add("save", {"n": 1}, deduplication=option)
        same(queue.add("save", {"n": 2}, deduplication=option).id, first.id)
        same(queue.count(), 1)
        time.sleep(0.9)
        differs(queue.add("save", {"n": 3}, deduplication=option).id, first.id)
        same(queue.count(), 2)


@check
def window_outlives_completion():
    """a key with a ttl stays to the end of its window although its job completed"""
    with connect() as queue:
        option = {"id": "digest", "ttl": 60_000}
        first = queue.add("send", {}, deduplication=option)
        with work(queue, lambda job: "sent"):
            same(queue.wait_for_job(first.id, 5000), "sent")
        same(queue.add("send", {}, deduplication=option).id, first.id)
        same(queue.count(), 0)


@check
def key_without_ttl():
    """a key without a ttl is held until its job ends"""
    with connect() as queue:
        option = {"id": "report"}
        first = queue.add("build", {}, deduplication=option)
        same(queue.add("build", {}, deduplication=option).id, first.id)
        with work(queue, lambda job: None):
            queue.wait_for_job(first.id, 5000)
        differs(queue.add("build", {}, deduplication=option).id, first.id)


@check
def extend():
    """extend keeps the pending job and starts its window anew"""
    with connect() as queue:
        option = {"id": "index", "ttl": 900, "extend": True}
        first = queue.add("index", {"n": 1}, deduplication=option)
        for number in (2, 3):
            time.sleep(0.6)
            same(queue.add("index", {"n": number}, deduplication=option).id, first.id)
        same(queue.get_job(first.id).data["n"], 1)
        time.sleep(1.1)
        differs(queue.add("index", {"n": 4}, deduplication=option).id, first.id)


@check
def replace():
    """replace removes the pending job and queues a new one with the new data"""
    with connect() as queue:
        option = {"id": "settings", "ttl": 60_000, "replace": True}
        first = queue.add("save", {"theme": "light"}, deduplication=option)
        second = queue.add("save", {"theme": "dark"}, deduplication=option)
        differs(second.id, first.id)
        same(queue.get_job(first.id), None)
        same(queue.get_job(second.id).data["theme"], "dark")
        same(queue.count(), 1)
        same(owner(queue, "settings"), second.id)


@check
def busy_owner():
    """while the owner runs, extend is refused and replace queues a successor"""
    with connect() as queue:
        go_on, started = threading.Event(), threading.Event()

        def hold(job):
            started.set()
            assert go_on.wait(10)
            return job.data["n"]

        first = queue.add("sync", {"n": 1}, deduplication={"id": "sync", "ttl": 60_000})
        with work(queue, hold):
            assert started.wait(5)
            refused(
                "Duplicate unique_key (extended TTL)",
                lambda: queue.add("sync", {"n": 2}, deduplication={"id": "sync", "ttl": 60_000, "extend": True}),
            )
            second = queue.add("sync", {"n": 3}, deduplication={"id": "sync", "ttl": 60_000, "replace": True})
            differs(second.id, first.id)
            same(owner(queue, "sync"), second.id)
            go_on.set()
            same(queue.wait_for_job(first.id, 5000), 1)
            same(queue.wait_for_job(second.id, 5000), 3)


@check
def look_up_and_remove():
    """a key can be looked up and removed; its job stays"""
    with connect() as queue:
        option = {"id": "stuck", "ttl": 60_000}
        first = queue.add("run", {}, deduplication=option)
        same(owner(queue, "stuck"), first.id)
        gone = {"cmd": "RemoveDeduplicationKey", "queue": queue.name, "deduplicationId": "stuck"}
        same(queue.connection.call(gone)["data"]["count"], 1)
        same(queue.connection.call(gone)["data"]["count"], 0)
        same(owner(queue, "stuck"), None)
        same(queue.get_state(first.id), "waiting")
        second = queue.add("run", {}, deduplication=option)
        differs(second.id, first.id)
        removal = {"cmd": "RemoveJobDeduplicationKey", "id": second.id}
        same(queue.connection.call(removal)["data"]["removed"], True)
        same(owner(queue, "stuck"), None)


@check
def add_bulk():
    """add_bulk answers one id for each entry, in order, duplicates included"""
    with connect() as queue:
        text = fresh("bulk")
        key = {"id": "bulk", "ttl": 60_000}
        ids = queue.add_bulk([
            {"name": "a", "data": {"n": 1}, "job_id": text},
            {"name": "b", "data": {"n": 2}, "deduplication": key},
            {"name": "c", "data": {"n": 3}, "deduplication": key},
            {"name": "d", "data": {"n": 4}, "job_id": text},
            {"name": "e", "data": {"n": 5}},
        ])
        same(len(ids), 5)
        same(ids[0], text)
        same(ids[2], ids[1])
        same(ids[3], text)
        same(len(set(ids)), 3)
        same(queue.count(), 3)


@check
def retry_with_backoff():
    """a failed job is tried again after its backoff, keeps its key, then completes"""
    with connect() as queue:
        tries = []

        def flaky(job):
            tries.append(time.monotonic())
            if len(tries) < 3:
                raise RuntimeError("not yet")
            return {"tries": len(tries)}

        option = {"id": "flaky"}
        job = queue.add("flaky", {}, attempts=3, backoff=400, deduplication=option)
        with work(queue, flaky):
            until(lambda: len(tries) == 1 and queue.get_state(job.id) == "delayed")
            same(queue.add("flaky", {}, deduplication=option).id, job.id)
            same(queue.wait_for_job(job.id, 15000), {"tries": 3})
        pauses = [after - before for before, after in zip(tries, tries[1:])]
        assert all(0.15 < pause < 5 for pause in pauses), f"pauses {pauses}"
        same(queue.get_job(job.id).attempts, 2)


@check
def fails_for_good():
    """a job that used up its attempts, or fails unrecoverably, is a dead letter"""
    with connect() as queue:

        def broken(job):
            if job.data["fatal"]:
                raise UnrecoverableError("bad payload")
            raise RuntimeError("no luck")

        once = queue.add("broken", {"fatal": False}, attempts=1)
        fatal = queue.add("broken", {"fatal": True}, attempts=5)
        with work(queue, broken):
            until(lambda: queue.get_job_counts()["failed"] == 2)
        same(queue.get_state(once.id), "failed")
        same(queue.get_state(fatal.id), "failed")
        same(len(queue.get_dlq()), 2)
        same(queue.retry_dlq(once.id), 1)
        same(queue.get_state(once.id), "waiting")


@check
def worker_events():
    """a worker tells that it is ready, and of each job that it starts, completes or fails"""
    with connect() as queue:
        seen = []

        def half(job):
            job.update_progress(50)
            job.log("halfway")
            if job.data["fail"]:
                raise RuntimeError("as asked")
            return "fine"

        worker = work(queue, half, autorun=False)
        for name in ("ready", "active", "completed", "failed"):
            worker.on(name, lambda *args, name=name: seen.append(name))
        good = queue.add("half", {"fail": False})
        queue.add("half", {"fail": True}, attempts=1)
        worker.start()
        with worker:
            until(lambda: "completed" in seen and "failed" in seen)
            until(lambda: len(queue.get_workers()) > 0)
        same(seen[0], "ready")
        same(seen.count("active"), 2)
        same(queue.get_job_logs(good.id)[0]["message"], "halfway")


@check
def order():
    """higher priority first, then first in first out; a delayed job waits"""
    with connect() as queue:
        for name, options in [("low", {}), ("high", {"priority": 10}), ("low2", {}), ("later", {"delay": 60_000})]:
            queue.add(name, {"name": name, "label": name}, **options)
        ran = []
        with work(queue, lambda job: ran.append(job.data["label"]), batch_size=1):
            until(lambda: len(ran) == 3)
        same(ran, ["high", "low", "low2"])
        same(queue.get_job_counts()["delayed"], 1)


@check
def control():
    """pause, resume, promote, remove, drain and obliterate"""
    with connect() as queue:
        later = queue.add("a", {}, delay=60_000)
        queue.promote_job(later.id)
        same(queue.get_state(later.id), "waiting")
        queue.pause()
        same(queue.is_paused(), True)
        queue.resume()
        same(queue.is_paused(), False)
        queue.remove(later.id)
        same(queue.get_job(later.id), None)
        queue.add("b", {})
        same(queue.drain(), 1)
        queue.obliterate()
        same(queue.count(), 0)


def main():
    failed = 0
    for function in CHECKS:
        began = time.monotonic()
        try:
            function()
            print(f"ok   python: {function.__doc__} ({(time.monotonic() - began) * 1000:.0f} ms)", flush=True)
        except Exception as error:
            failed += 1
            where = traceback.extract_tb(error.__traceback__)
            here = [frame.lineno for frame in where if frame.filename == __file__]
            print(f"FAIL python: {function.__doc__}: {type(error).__name__}: {error} (lines {here})", flush=True)
    print(f"{len(CHECKS) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
