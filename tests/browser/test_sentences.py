#!/usr/bin/env python3
"""Every decision that an add can end with, made by the official Python client and read from the page.

Each case has a queue of its own. What the client has no option for (Conveyor's hash, keepLastIfActive, groups) goes through
its public `connection.call`, the very frames it would send. The last add of a case is the one whose sentence is read.
"""
import os
import resource
import signal
import sys

from bunqueue import CommandError, Queue
from playwright.sync_api import expect, sync_playwright

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import Broker, free_port  # noqa: E402
from kit.checks import contains, same  # noqa: E402
from test_browser import CHROMIUM, Page  # noqa: E402

HOUR = {"id": "k", "ttl": 3_600_000}


class Case:
    """A queue of its own, and short ways to add and to work."""

    def __init__(self, port, name):
        self.queue = Queue(name.replace(".", "-"), host="127.0.0.1", port=port)
        self.name = self.queue.name

    def add(self, data=None, **options):
        return self.queue.add("task", data or {"n": 1}, **options)

    def raw(self, **fields):
        return self.queue.connection.call({"cmd": "PUSH", "queue": self.name, "name": "task", "data": {"n": 1}, **fields})

    def start(self):
        """A worker takes the next job."""
        return self.queue.connection.call({"cmd": "PULL", "queue": self.name, "owner": "worker"})

    def complete(self, taken):
        self.queue.connection.call({"cmd": "ACK", "id": taken["job"]["id"], "token": taken["token"]})

    def refused(self, action):
        try:
            action()
        except CommandError as error:
            return str(error)
        raise AssertionError("the add was not refused")


def created(case):
    case.add(deduplication=HOUR)
    return ["Created. No live job held k in created."]


def created_freed(case):
    first = case.add(deduplication={"id": "k"})
    case.complete(case.start())
    case.add(deduplication={"id": "k"})
    return ["Created. k was free: its last owner", first.id[-6:], "completed"]


def created_freed_by_a_client(case):
    case.add(deduplication=HOUR)
    case.queue.remove(case.queue.get_waiting()[0].id)
    case.add(deduplication=HOUR)
    return ["k was free", "was cancelled", "before its TTL would have ended"]


def created_twin(case):
    first = case.add(deduplication=HOUR)
    case.queue.connection.call({"cmd": "RemoveDeduplicationKey", "queue": case.name, "deduplicationId": "k"})
    case.add(deduplication=HOUR)
    return ["Created, but", first.id[-6:], "is still live and carries k too", "released by a client command", "Both can run"]


def existing_key(case):
    first = case.add(deduplication=HOUR)
    case.add(deduplication=HOUR)
    return ["Returned", first.id[-6:], "(waiting). It holds k for another", "59 m|1 h"]


def existing_key_until_it_ends(case):
    case.add(deduplication={"id": "k"})
    case.start()
    case.add(deduplication={"id": "k"})
    return ["(active). It holds k until it ends"]


def existing_job_id(case):
    case.add(job_id="order-123")
    case.add(job_id="order-123")
    return ["Returned order-123 (waiting): the job ID is in use by an unfinished job."]


def existing_elsewhere(case):
    case.raw(queue="notifications", jobId="order-124")
    case.add(job_id="order-124")
    return ["Returned order-124, which lives in queue notifications", "broker-wide", "nothing was added to existing-elsewhere"]


def existing_hash(case):
    case.raw(dedup={"hash": True})
    case.raw(dedup={"hash": True})
    return ["Returned", "the payload has the same hash"]


def extended(case):
    case.add(deduplication=HOUR)
    case.add(deduplication={**HOUR, "ttl": 60_000, "extend": True})
    return ["Kept", "(waiting). TTL set to 60 s again (had"]


def extended_no_ttl(case):
    case.add(deduplication=HOUR)
    case.add(deduplication={"id": "k", "extend": True})
    return ["`extend` had no effect: the add carried no `ttl`.".replace("`", "")]


def replaced(case):
    first = case.add(deduplication=HOUR)
    case.add({"n": 2}, deduplication={**HOUR, "replace": True})
    return ["Removed", first.id[-6:], "(waiting, 0 attempts made) and created", "with the new data"]


def moved(case):
    first = case.add(deduplication=HOUR)
    case.start()
    case.add({"n": 2}, deduplication={**HOUR, "replace": True})
    return [first.id[-6:], "is running and keeps running. k now belongs to", "(waiting)"]


def next_held(case):
    case.raw(uniqueKey="k", dedup={"keepLastIfActive": True})
    case.start()
    case.raw(uniqueKey="k", dedup={"keepLastIfActive": True})
    return ["is running. This data is kept and becomes a job when it ends."]


def next_updated(case):
    next_held(case)
    case.raw(uniqueKey="k", dedup={"keepLastIfActive": True})
    return ["is running. The kept data was overwritten."]


def rejected_extend(case):
    case.add(deduplication=HOUR)
    case.start()
    contains(case.refused(lambda: case.add(deduplication={**HOUR, "extend": True})), "Duplicate unique_key (extended TTL)")
    return ["is active, so it cannot be kept by extend", "TTL was set to", "again all the same"]


def rejected_dependents(case):
    first = case.add(deduplication=HOUR)
    case.add(depends_on=[first.id])
    contains(case.refused(lambda: case.add(deduplication={**HOUR, "replace": True})), "live jobs depend on it")
    return ["Live jobs depend on", first.id[-6:], "cannot be replaced. Nothing changed."]


def rejected_invalid(case):
    contains(case.refused(lambda: case.raw(uniqueKey=["k"])), "uniqueKey must be a string")
    return ["uniqueKey must be a string"]


def rejected_limit(case):
    case.raw(groupId="g", groupMaxSize=1)
    contains(case.refused(lambda: case.raw(groupId="g", groupMaxSize=1)), "maximum size of 1")
    return ["Group g has reached its maximum size of 1"]


# The decision's code, what makes it, and the facts that stand beside its sentence.
CASES = [
    ("created", created, []),
    ("created.freed", created_freed, []),
    ("created.freed", created_freed_by_a_client, []),
    ("created.twin", created_twin, []),
    ("existing.key", existing_key, []),
    ("existing.key", existing_key_until_it_ends, []),
    ("existing.job_id", existing_job_id, []),
    ("existing.elsewhere", existing_elsewhere, ["other queue"]),
    ("existing.hash", existing_hash, []),
    ("extended", extended, []),
    ("extended.no_ttl", extended_no_ttl, []),
    ("replaced", replaced, []),
    ("moved", moved, []),
    ("next.held", next_held, []),
    ("next.updated", next_updated, []),
    ("rejected.extend", rejected_extend, []),
    ("rejected.dependents", rejected_dependents, []),
    ("rejected.invalid", rejected_invalid, []),
    ("rejected.limit", rejected_limit, []),
]


def data_differs(case):
    case.add({"n": 1}, deduplication=HOUR)
    case.add({"n": 2}, deduplication=HOUR)
    return ["Returned"]


def key_not_taken(case):
    case.add(job_id="order-125")
    case.add(job_id="order-125", deduplication=HOUR)
    return ["Returned order-125"]


def job_id_not_used(case):
    case.add(deduplication=HOUR)
    case.add(job_id="order-126", deduplication=HOUR)
    return ["Returned"]


CASES += [
    ("existing.key", data_differs, ["data differs"]),
    ("existing.job_id", key_not_taken, ["key not taken"]),
    ("existing.key", job_id_not_used, ["job id not used"]),
]


def read(page, queue, code):
    """The sentence and the facts of the newest add of a queue."""
    page.show("adds", q=f"queue:{queue}")
    row = page.at("adds.row", decision=code).first
    expect(row).to_be_visible(timeout=5000)
    row.click()
    sentence = page.page.get_by_test_id("adds.why").inner_text()
    return sentence, [fact.inner_text() for fact in page.page.get_by_test_id("adds.fact").all()]


def judge(page, port, code, make, facts):
    case = Case(port, make.__name__.replace("_", "-"))
    wanted = make(case)
    sentence, seen = read(page, case.name, code)
    for part in wanted:
        assert any(option in sentence for option in part.split("|")), f"{part!r} is not in {sentence!r}"
    same([fact for fact in facts if not any(fact in text.lower() for text in seen)], [])
    assert facts or not [text for text in seen if "differs" in text], f"facts that do not hold: {seen}"
    return sentence


def rejected_storage(browser):
    """The file cannot grow any more: the add is refused with the very text that the page shows."""

    def small_files():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, 3_000_000))

    with Broker(ui_port=free_port(), setup=small_files) as broker:
        text = None
        while text is None:
            with broker.connect() as wire:
                for _ in range(50):
                    answer = wire.call("PUSH", queue="rejected-storage", name="task", data={"pad": "x" * 50_000})
                    if not answer["ok"]:
                        text = answer["error"]
                        break
        sentence, _ = read(Page(browser, broker), "rejected-storage", "rejected.storage")
        contains(sentence, text)
        return sentence


def main():
    failed = 0
    with sync_playwright() as playwright, Broker(ui_port=free_port()) as broker:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = Page(browser, broker)
        tests = [(code, make.__name__, lambda code=code, make=make, facts=facts: judge(page, broker.port, code, make, facts))
                 for code, make, facts in CASES]
        tests.append(("rejected.storage", "rejected_storage", lambda: rejected_storage(browser)))
        for code, name, test in tests:
            try:
                print(f"ok   {code} ({name}): {test()}", flush=True)
            except Exception as error:
                failed += 1
                print(f"FAIL {code} ({name}): {type(error).__name__}: {error}", flush=True)
        browser.close()
    print(f"{len(tests) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
