"""Ids, keys and windows through the official Python client.

What the client has no method for (looking up and removing a key) goes through its public `connection.call`.
"""
import threading
import time

from client import checks, connect, differs, fresh, refused, same, until, work


def owner(queue, key):
    reply = queue.connection.call({"cmd": "GetDeduplicationJobId", "queue": queue.name, "deduplicationId": key})
    return reply["data"]["jobId"]


@checks
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


@checks
def job_id_after_the_end():
    """a job_id is free again after its job completed"""
    with connect() as queue:
        text = fresh("order")
        queue.add("charge", {"n": 1}, job_id=text)
        with work(queue, lambda job: job.data["n"]):
            same(queue.wait_for_job(text, 5000), 1)
            queue.add("charge", {"n": 2}, job_id=text)
            until("the second one is done", lambda: queue.get_result(text) == 2)


@checks
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


@checks
def window_outlives_completion():
    """a key with a ttl stays to the end of its window although its job completed"""
    with connect() as queue:
        option = {"id": "digest", "ttl": 60_000}
        first = queue.add("send", {}, deduplication=option)
        with work(queue, lambda job: "sent"):
            same(queue.wait_for_job(first.id, 5000), "sent")
        same(queue.add("send", {}, deduplication=option).id, first.id)
        same(queue.count(), 0)


@checks
def key_without_ttl():
    """a key without a ttl is held until its job ends"""
    with connect() as queue:
        option = {"id": "report"}
        first = queue.add("build", {}, deduplication=option)
        same(queue.add("build", {}, deduplication=option).id, first.id)
        with work(queue, lambda job: None):
            queue.wait_for_job(first.id, 5000)
        differs(queue.add("build", {}, deduplication=option).id, first.id)


@checks
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


@checks
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


@checks
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


@checks
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


@checks
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
