"""What the options of an add do to its job, seen through the Python client's worker."""
import time

from client import checks, connect, refused, same, until, work


def fail(job):
    raise RuntimeError(f"no {job.name}")


@checks
def removed_at_the_end():
    """remove_on_complete and remove_on_fail leave nothing behind"""
    with connect() as queue:
        done = queue.add("x", {}, remove_on_complete=True)
        with work(queue, lambda job: "gone"):
            until("it is removed", lambda: queue.get_state(done.id) == "unknown")
        dead = queue.add("x", {}, attempts=1, remove_on_fail=True)
        with work(queue, fail):
            until("it is removed", lambda: queue.get_state(dead.id) == "unknown")
        same((queue.get_job(done.id), queue.get_job(dead.id), queue.get_dlq()), (None, None, []))
        same(sum(queue.get_job_counts().values()), 0)


@checks
def too_long():
    """timeout: a job that runs longer has failed at that moment, and its late result does not count"""
    with connect() as queue:
        began = time.monotonic()
        job = queue.add("slow", {}, timeout=400, attempts=1)
        with work(queue, lambda job: time.sleep(1.2) or "late"):
            until("it fails", lambda: queue.get_state(job.id) == "failed")
            assert 0.4 <= time.monotonic() - began < 1.1, f"failed after {time.monotonic() - began:.2f} s"
        same((queue.get_state(job.id), queue.get_job(job.id).raw["failedReason"]), ("failed", "Job timeout exceeded"))


@checks
def too_old():
    """ttl: a job that was not started in time is gone"""
    with connect() as queue:
        job = queue.add("old", {}, ttl=200)
        same(queue.get_state(job.id), "waiting")
        until("it is gone", lambda: queue.get_state(job.id) == "unknown")
        same(queue.count(), 0)


@checks
def repeated():
    """repeat: a job comes again as often as its limit says, each time with an id of its own"""
    with connect() as queue:
        ran = []
        with work(queue, lambda job: ran.append((job.id, job.data["n"]))):
            queue.add("again", {"n": 7}, repeat={"every": 100, "limit": 2})
            until("it ran three times", lambda: len(ran) == 3)
            time.sleep(0.4)
        same((len(set(ran)), {n for _, n in ran}, queue.count()), (3, {7}, 0))


@checks
def stacks():
    """stack_trace_limit: so many lines of the stack are kept, the last ones of this client's"""
    with connect() as queue:
        short, none = queue.add("short", {}, attempts=1, stack_trace_limit=2), queue.add("none", {}, attempts=1, stack_trace_limit=0)
        with work(queue, fail):
            until("both fail", lambda: queue.get_failed_count() == 2)
        same((len(queue.get_job(short.id).stacktrace), queue.get_job(none.id).stacktrace), (2, None))
        same(queue.get_job(short.id).stacktrace[-1], "RuntimeError: no short")


@checks
def groups():
    """group_id: groups take turns, each in its own order"""
    with connect() as queue:
        queue.add_bulk([{"name": name, "group_id": name[0]} for name in ("a1", "a2", "a3", "b1", "b2")])
        ran = []
        with work(queue, lambda job: ran.append(job.name), batch_size=1):
            until("all have run", lambda: len(ran) == 5)
        same(sorted(ran[:2]), ["a1", "b1"])
        same(([name for name in ran if name[0] == "a"], [name for name in ran if name[0] == "b"]), (["a1", "a2", "a3"], ["b1", "b2"]))


@checks
def backoff():
    """backoff: fixed is the same each time, give or take a fifth; zero is at once"""
    with connect() as queue:
        for delay, low, high in ((300, 0.24, 0.9), (0, 0.0, 0.3)):
            tries = []

            def flaky(_, tries=tries):
                tries.append(time.monotonic())
                if len(tries) < 3:
                    raise RuntimeError("again")

            job = queue.add("x", {}, attempts=3, backoff={"type": "fixed", "delay": delay})
            with work(queue, flaky):
                queue.wait_for_job(job.id, 8_000)
            pauses = [after - before for before, after in zip(tries, tries[1:])]
            assert len(pauses) == 2 and all(low <= pause < high for pause in pauses), f"backoff {delay}: pauses {pauses}"
        refused("backoff.type must be 'fixed' or 'exponential'", lambda: queue.add("x", {}, backoff={"type": "odd", "delay": 1}))
