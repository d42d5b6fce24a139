"""Every method of the Python client's `Worker` and `Job`, each with what it has to answer or change."""
import threading
import time

from bunqueue import UnrecoverableError

from client import checks, connect, fresh, pull, refused, same, until, work


@checks
def worker_life():
    """start, run, pause, resume, close and its other name, and what is told of them"""
    with connect() as queue:
        seen = []
        worker = work(queue, lambda job: job.data["n"], autorun=False)
        same((worker.is_running(), worker.is_paused(), worker.is_closed()), (False, False, False))
        for name in ("ready", "active", "completed", "drained", "closed"):
            worker.on(name, lambda *_, name=name: seen.append(name))
        worker.start()
        worker.wait_until_ready()
        same(worker.is_running(), True)
        queue.wait_for_job(queue.add("x", {"n": 1}).id, 5_000)
        worker.pause()
        same(worker.is_paused(), True)
        time.sleep(0.5)
        held = queue.add("x", {"n": 2})
        time.sleep(0.3)
        same(queue.get_state(held.id), "waiting")
        worker.resume()
        same(queue.wait_for_job(held.id, 5_000), 2)
        until("drained is told", lambda: "drained" in seen)
        same(worker.close(), True)
        same((worker.is_closed(), worker.is_running()), (True, False))
        same([seen[0], seen[-1]], ["ready", "closed"])
        same((seen.count("active"), seen.count("completed")), (2, 2))
        other = work(queue, lambda job: None, autorun=False)
        looped = threading.Thread(target=other.run, daemon=True)
        looped.start()
        other.wait_until_ready()
        same(other.stop(), True)
        looped.join(5)
        same(looped.is_alive(), False)


@checks
def listeners():
    """on, once, off, emit, remove_all_listeners"""
    with connect() as queue:
        seen = []
        with work(queue, lambda job: None, autorun=False) as worker:
            always = lambda *_: seen.append("always")
            worker.on("completed", always)
            worker.once("completed", lambda *_: seen.append("once"))
            worker.start()
            for _ in range(2):
                queue.wait_for_job(queue.add("x", {}).id, 5_000)
            until("both are told", lambda: len(seen) == 3)
            same(sorted(seen), ["always", "always", "once"])
            worker.off("completed", always)
            worker.emit("completed", None, None)
            worker.on("completed", always)
            worker.remove_all_listeners("completed")
            worker.emit("completed", None, None)
            same(len(seen), 3)


@checks
def failures():
    """a job is tried again after its backoff, keeps its key, then completes; a fatal one does not"""
    with connect() as queue:
        tries, told = [], []

        def flaky(job):
            if job.name == "fatal":
                raise UnrecoverableError("bad payload")
            tries.append(time.monotonic())
            if len(tries) < 3:
                raise RuntimeError("not yet")
            return {"tries": len(tries)}

        key = {"id": "flaky"}
        job = queue.add("flaky", {}, attempts=3, backoff=400, deduplication=key)
        with work(queue, flaky) as worker:
            worker.on("failed", lambda job, error: told.append(str(error)))
            until("it waits for its second try", lambda: len(tries) == 1 and queue.get_state(job.id) == "delayed")
            same(queue.add("flaky", {}, deduplication=key).id, job.id)
            same(queue.wait_for_job(job.id, 15_000), {"tries": 3})
            fatal = queue.add("fatal", {}, attempts=5)
            until("it fails for good", lambda: queue.get_state(fatal.id) == "failed")
            until("all failures are told", lambda: len(told) == 3)
        same(told, ["not yet", "not yet", "bad payload"])
        # The second and third try come after a drawn part of 800 and 1,600 ms.
        pauses = [after - before for before, after in zip(tries, tries[1:])]
        assert 0.4 <= pauses[0] < 1.7 and 0.8 <= pauses[1] < 3, f"pauses {pauses}"
        same((queue.get_job(job.id).attempts, queue.get_job(fatal.id).attempts), (2, 1))


@checks
def order():
    """higher priority first, then first in first out; a delayed job waits"""
    with connect() as queue:
        for name, options in [("low", {}), ("high", {"priority": 10}), ("low2", {}), ("last in", {"lifo": True}), ("later", {"delay": 60_000})]:
            queue.add(name, {}, **options)
        ran = []
        with work(queue, lambda job: ran.append(job.name), batch_size=1):
            until("four have run", lambda: len(ran) == 4)
        same(ran, ["high", "last in", "low", "low2"])
        same(queue.get_delayed_count(), 1)


@checks
def cancelling():
    """cancel_job and cancel_all_jobs reach the processor of a running job"""
    with connect() as queue:
        def patient(job):
            until("it is cancelled", lambda: worker.is_job_cancelled(job.id))
            return "gave up"

        with work(queue, patient, concurrency=2) as worker:
            seen = []
            worker.on("cancelled", seen.append)
            one = queue.add("x", {})
            until("it runs", lambda: queue.get_state(one.id) == "active")
            same(worker.cancel_job("nobody"), False)
            until("the worker knows it", lambda: worker.cancel_job(one.id, "no longer wanted"))
            same(queue.wait_for_job(one.id, 5_000), "gave up")
            two = queue.add("x", {})
            until("it runs", lambda: queue.get_state(two.id) == "active")
            told = {"jobId": two.id, "reason": "closing"}
            until("all are cancelled", lambda: (worker.cancel_all_jobs("closing"), told in seen)[1])
            same(queue.wait_for_job(two.id, 5_000), "gave up")
            same(seen[0], {"jobId": one.id, "reason": "no longer wanted"})


@checks
def batched_acknowledgements():
    """a worker that acknowledges in batches completes every job, each with its result"""
    with connect() as queue:
        ids = queue.add_bulk([{"name": "x", "data": {"n": n}} for n in range(40)])
        with work(queue, lambda job: job.data["n"], concurrency=8, ack_batch={"max_size": 5, "max_delay_ms": 20}):
            until("all are done", lambda: queue.get_completed_count() == 40)
        same([queue.get_result(one) for one in ids], list(range(40)))


@checks
def heartbeats_keep_a_lock():
    """a job that runs longer than its lock lasts is not given to anyone else"""
    with connect() as queue:
        job = queue.add("long", {})
        runs = []

        def long(job):
            runs.append(job.id)
            time.sleep(7)
            return "slowly"

        # The broker looks for expired locks every five seconds.
        with work(queue, long, concurrency=2, lock_ttl_ms=1_000, heartbeat_interval_s=0.3):
            same(queue.wait_for_job(job.id, 20_000), "slowly")
        same(runs, [job.id])


@checks
def job_in_a_worker():
    """what a processor can do with its job: progress, logs, lock, state"""
    with connect() as queue:
        def busy(job):
            job.update_progress(50, "halfway")
            job.log("halfway", "debug")
            job.heartbeat()
            job.extend_lock(40_000)
            return {"state": job.get_state(), "name": job.name, "data": job.data, "queue": job.queue, "attempts": job.attempts}

        with work(queue, busy) as worker:
            progress = []
            worker.on("progress", lambda job, percent: progress.append(percent))
            job = queue.add("busy", {"n": 1})
            result = queue.wait_for_job(job.id, 5_000)
        same(result, {"state": "active", "name": "busy", "data": {"name": "busy", "n": 1}, "queue": queue.name, "attempts": 0})
        same(progress, [50])
        same([(line["level"], line["message"]) for line in queue.get_job_logs(job.id)], [("debug", "halfway")])


@checks
def job_fields():
    """the properties of a job, before and after it ran"""
    with connect() as queue:
        name, before = fresh("fields"), int(time.time() * 1000)
        first = queue.add("first", {})
        queue.add("fields", {"n": 1}, job_id=name, priority=4, attempts=6, tags=["a"], children_ids=[first.id])
        job, token = pull(queue)
        same((job.id, job.queue, job.name, job.data), (name, queue.name, "fields", {"name": "fields", "n": 1}))
        same((job.priority, job.attempts, job.max_attempts, job.custom_id, job.tags), (4, 0, 6, name, ["a"]))
        same((job.group_id, job.parent_id, job.children_ids, job.depends_on), (None, None, [first.id], []))
        same((job.progress, job.stacktrace, job.completed_at, job.state), (0, None, None, None))
        assert before <= job.created_at <= job.started_at <= time.time() * 1000
        queue.move_job_to_completed(job.id, 5, token)
        done = type(job)(queue.get_job(name))
        same((done.state, done.progress, done.raw["returnvalue"]), ("completed", 100, 5))
        assert done.completed_at >= done.started_at
        same((type(job)(queue.get_job(first.id)).depends_on), [])


@checks
def job_changes():
    """what a job can do to itself while it waits"""
    with connect() as queue:
        def one(**options):
            return type(queue)(queue.add("x", {"n": 1}, **options))

        job = one()
        job.update_data({"name": "x", "n": 2})
        job.change_priority(5, True)
        same((queue.get_job(job.id).data["n"], queue.get_job(job.id).priority), (2, 5))
        job.change_delay(60_000)
        same(job.get_state(), "delayed")
        job.promote()
        same(job.get_state(), "prioritized")
        job.remove()
        same(job.get_state(), "unknown")
        job = one()
        job.discard()
        same(job.get_state(), "failed")
        job.retry()
        same(job.get_state(), "waiting")
        running, _ = pull(queue)
        refused("Lock token required", lambda: running.move_to_delayed(60_000))
        unlocked = one()
        pull(queue, owner=None)
        unlocked.move_to_delayed(60_000)
        same(unlocked.get_state(), "delayed")
