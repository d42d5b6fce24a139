"""Every method of the Python client's `Queue`, each with what it has to answer or change."""
import time

from bunqueue import CommandError, CommandTimeoutError, UnrecoverableError

from client import checks, connect, fresh, pull, refused, same, until, work


def ids(jobs):
    return [job.id for job in jobs]


@checks
def queue_opens_and_closes():
    """a queue becomes ready, pings, and can be closed by either name"""
    with connect() as queue:
        same(queue.wait_until_ready(), None)
        same(queue.ping(), True)
    for name in ("close", "disconnect"):
        queue = connect()
        same(queue.ping(), True)
        getattr(queue, name)()
        same(queue.ping(), False)


@checks
def adds():
    """add and add_bulk: every option arrives in the job's record"""
    with connect() as queue:
        first = queue.add("first", {"n": 1})
        options = {
            "priority": 7, "delay": 60_000, "attempts": 5, "backoff": {"type": "fixed", "delay": 250}, "ttl": 3_600_000,
            "timeout": 9_000, "job_id": fresh("all"), "deduplication": {"id": "all", "ttl": 70_000}, "tags": ["a", "b"],
            "lifo": True, "remove_on_complete": True, "remove_on_fail": True, "stall_timeout": 8_000, "durable": True,
            "stack_trace_limit": 3, "keep_logs": 9, "size_limit": 1_000, "timestamp": int(time.time() * 1000) - 1_000,
            "debounce": {"id": "d", "ttl": 1_000}, "fail_parent_on_failure": True, "remove_dependency_on_failure": True,
            "ignore_dependency_on_failure": True, "continue_parent_on_failure": True, "depends_on": [first.id],
        }
        raw = queue.get_job(queue.add("all", {"n": 1}, **options).id).raw
        wanted = {
            "priority": 7, "maxAttempts": 5, "backoff": 250, "backoffConfig": {"type": "fixed", "delay": 250}, "ttl": 3_600_000,
            "timeout": 9_000, "id": options["job_id"], "customId": options["job_id"], "uniqueKey": "all", "deduplicationTtl": 70_000,
            "tags": ["a", "b"], "lifo": True, "removeOnComplete": True, "removeOnFail": True, "stallTimeout": 8_000, "durable": True,
            "stackTraceLimit": 3, "keepLogs": 9, "sizeLimit": 1_000, "createdAt": options["timestamp"],
            "runAt": options["timestamp"] + 60_000, "debounceId": "d", "debounceTtl": 1_000, "failParentOnFailure": True,
            "removeDependencyOnFailure": True, "ignoreDependencyOnFailure": True, "continueParentOnFailure": True,
            "dependsOn": [first.id], "state": "waiting-children", "data": {"name": "all", "n": 1}, "name": "all", "queue": queue.name,
        }
        same({name: raw.get(name) for name in wanted}, wanted)
        many = queue.add_bulk([{"name": "b", "data": {"n": n}, "job_id": fresh("bulk"), "priority": n} for n in (1, 2, 3)])
        same([queue.get_job(one).priority for one in many], [1, 2, 3])
        same([queue.get_job(one).custom_id for one in many], many)


@checks
def lists_and_counts():
    """one job of each state: the lists show it, the counts count it"""
    with connect() as queue:
        done = queue.add("done", {"n": 1})
        dead = queue.add("dead", {"n": 2}, attempts=1)
        job, token = pull(queue)
        queue.move_job_to_completed(job.id, {"ok": 1}, token)
        job, token = pull(queue)
        queue.move_job_to_failed(job.id, "no", token)
        held = queue.add("held", {})
        pull(queue)
        waiting = [queue.add("waiting", {}), queue.add("waiting", {})]
        urgent = queue.add("urgent", {}, priority=3)
        later = queue.add("later", {}, delay=60_000)
        child = queue.add("child", {}, depends_on=[waiting[0].id])
        lists = {
            "waiting": ids(waiting), "delayed": [later.id], "active": [held.id], "completed": [done.id],
            "failed": [dead.id], "prioritized": [urgent.id], "waiting_children": [child.id],
        }
        for state, wanted in lists.items():
            same((state, sorted(ids(getattr(queue, f"get_{state}")()))), (state, sorted(wanted)))
            same((state, getattr(queue, f"get_{state}_count")()), (state, len(wanted)))
        same(queue.get_job_counts(), {
            "waiting": 2, "prioritized": 1, "delayed": 1, "active": 1, "completed": 1, "failed": 1, "waiting-children": 1, "paused": 0,
        })
        same(queue.count(), 4)
        same(queue.get_counts_per_priority(), {"0": 3, "3": 1})
        same(len(queue.get_jobs()), 8)
        same(sorted(ids(queue.get_jobs(["failed", "completed"]))), sorted([done.id, dead.id]))
        first, rest = queue.get_jobs("waiting", 0, 1), queue.get_jobs("waiting", 1, 5)
        same(sorted(ids(first + rest)), sorted(ids(waiting)))
        same(queue.get_job(waiting[0].id).state, "waiting")
        same(queue.get_job("nobody"), None)
        same(queue.get_job_by_custom_id("nobody"), None)
        same([queue.get_state(one) for one in (done.id, dead.id, held.id, child.id, "nobody")],
             ["completed", "failed", "active", "waiting-children", "unknown"])
        same(queue.name in queue.list_queues(), True)


@checks
def results_and_waiting():
    """results and waiting for them: completed, failed, not in time, by either name"""
    with connect() as queue:
        good, bad, slow = queue.add("good", {}), queue.add("bad", {}, attempts=1), queue.add("slow", {})
        job, token = pull(queue)
        queue.move_job_to_completed(job.id, {"total": [1, None, "ü"]}, token)
        same(queue.get_result(good.id), {"total": [1, None, "ü"]})
        same(queue.wait_for_job(good.id, 1_000), {"total": [1, None, "ü"]})
        same(queue.wait_job_until_finished(good.id, None, 1_000), {"total": [1, None, "ü"]})
        job, token = pull(queue)
        queue.move_job_to_failed(bad.id, UnrecoverableError("never"), token)
        began = time.monotonic()
        refused("failed before completion", lambda: queue.wait_for_job(bad.id, 5_000))
        assert time.monotonic() - began < 2, "a failed job keeps its waiter to the end"
        same(queue.get_result(slow.id), None)
        for name in ("wait_for_job", "wait_job_until_finished"):
            try:
                getattr(queue, name)(slow.id, *([None] if "until" in name else []), 50)
                raise AssertionError("returned for a job that has not run")
            except CommandTimeoutError:
                pass


@checks
def a_failed_wait_ends_early():
    """who waits for a job is told as soon as it fails for good"""
    with connect() as queue:
        job = queue.add("bad", {}, attempts=1)

        def fail(_):
            time.sleep(0.2)
            raise RuntimeError("no")

        with work(queue, fail):
            began = time.monotonic()
            refused("failed before completion", lambda: queue.wait_for_job(job.id, 8_000))
            assert time.monotonic() - began < 4, "waited on although the job had failed"


@checks
def control():
    """pause, resume, drain, clean, obliterate"""
    with connect() as queue:
        queue.add("a", {})
        queue.pause()
        same(queue.is_paused(), True)
        same(pull(queue), (None, None))
        same(queue.get_job_counts()["paused"], 1)
        queue.resume()
        same(queue.is_paused(), False)
        queue.add("b", {}, delay=60_000)
        same(queue.drain(), 2)
        done = queue.add("c", {})
        job, token = pull(queue)
        queue.move_job_to_completed(job.id, None, token)
        same(queue.clean(60_000, 10, "completed"), 0)
        until("the job is old enough", lambda: queue.clean(0, 10, "completed") == 1)
        same(queue.get_state(done.id), "unknown")
        queue.add("d", {})
        pull(queue)
        queue.add("e", {})
        queue.obliterate()
        same(sum(queue.get_job_counts().values()), 0)


@checks
def removal_and_promotion():
    """remove, cancel, discard, promote_job, promote_jobs"""
    with connect() as queue:
        for name in ("remove", "cancel"):
            job = queue.add("gone", {})
            getattr(queue, name)(job.id)
            same(queue.get_job(job.id), None)
            refused("Job not found or cannot be cancelled", lambda job=job, name=name: getattr(queue, name)(job.id))
        job = queue.add("given up", {})
        queue.discard(job.id)
        same(queue.get_state(job.id), "failed")
        later = [queue.add("later", {}, delay=60_000) for _ in range(4)]
        queue.promote_job(later[3].id)
        same(queue.get_state(later[3].id), "waiting")
        refused("Job not found or not delayed", lambda: queue.promote_job(later[3].id))
        same(queue.promote_jobs(2), 2)
        same([queue.get_state(job.id) for job in later], ["waiting", "waiting", "delayed", "waiting"])
        same(queue.promote_jobs(), 1)


@checks
def retries():
    """retry_job, retry_jobs of both kinds, retry_completed"""
    with connect() as queue:
        for n in range(3):
            queue.add("dead", {"n": n}, attempts=1)
            job, token = pull(queue)
            queue.move_job_to_failed(job.id, f"no {n}", token)
        dead = ids(queue.get_failed())
        queue.retry_job(dead[0])
        same(queue.get_state(dead[0]), "waiting")
        same(queue.retry_jobs("failed", 1), 1)
        same(queue.retry_jobs(), 1)
        same(queue.get_failed_count(), 0)
        for _ in range(3):
            job, token = pull(queue)
            queue.move_job_to_completed(job.id, None, token)
        done = ids(queue.get_completed())
        same(queue.retry_completed(done[0]), 1)
        same(queue.get_state(done[0]), "waiting")
        same(queue.retry_jobs("completed"), 2)
        same(queue.retry_completed(), 0)


@checks
def dead_letters():
    """get_dlq, retry_dlq, purge_dlq"""
    with connect() as queue:
        dead = [queue.add("dead", {"n": n}, attempts=1).id for n in range(4)]
        for _ in dead:
            job, token = pull(queue)
            queue.move_job_to_failed(job.id, ValueError("broken"), token)
        same([entry["id"] for entry in queue.get_dlq()], dead)
        same([entry["id"] for entry in queue.get_dlq(2)], dead[:2])
        same("ValueError: broken" in queue.get_job(dead[0]).stacktrace[-1], True)
        same(queue.retry_dlq(dead[1]), 1)
        same(queue.retry_dlq(count=1), 1)
        same([queue.get_state(one) for one in dead], ["waiting", "waiting", "failed", "failed"])
        same(queue.purge_dlq(), 2)
        same(queue.get_dlq(), [])


@checks
def changes():
    """progress, data, priority, delay, moves of a job by its id"""
    with connect() as queue:
        job = queue.add("x", {"n": 1})
        queue.update_job_data(job.id, {"name": "x", "n": 2})
        same(queue.get_job(job.id).data, {"name": "x", "n": 2})
        queue.change_job_priority(job.id, 9, True)
        same((queue.get_job(job.id).priority, queue.get_job(job.id).raw["lifo"]), (9, True))
        queue.change_job_delay(job.id, 60_000)
        same(queue.get_state(job.id), "delayed")
        queue.move_job_to_wait(job.id)
        same(queue.get_state(job.id), "prioritized")
        _, token = pull(queue)
        queue.update_job_progress(job.id, 40, "almost")
        same(queue.get_progress(job.id), {"progress": 40, "message": "almost"})
        queue.extend_job_lock(job.id, token, 45_000)
        refused("token", lambda: queue.extend_job_lock(job.id, "not-the-token", 45_000))
        refused("Lock token required", lambda: queue.move_job_to_delayed(job.id, 60_000))
        refused("Job not found or not in processing state", lambda: queue.move_job_to_completed("nobody", None, token))
        refused("Lock token required", lambda: queue.discard(job.id))


@checks
def moves_without_a_lock():
    """a job that was pulled without a lock moves without a token"""
    with connect() as queue:
        job = queue.add("x", {})
        pull(queue, owner=None)
        queue.move_job_to_delayed(job.id, 60_000)
        same(queue.get_state(job.id), "delayed")
        queue.promote_job(job.id)
        pull(queue, owner=None)
        queue.move_job_to_wait(job.id)
        same(queue.get_state(job.id), "waiting")


@checks
def logs():
    """add_job_log, get_job_logs with a range, clear_job_logs"""
    with connect() as queue:
        job = queue.add("x", {})
        for n in range(5):
            queue.add_job_log(job.id, f"line {n}", "warn" if n else None)
        lines = queue.get_job_logs(job.id)
        same([(line["level"], line["message"]) for line in lines[:2]], [("info", "line 0"), ("warn", "line 1")])
        same([line["message"] for line in queue.get_job_logs(job.id, 1, 2)], ["line 1", "line 2"])
        queue.clear_job_logs(job.id, 2)
        same([line["message"] for line in queue.get_job_logs(job.id)], ["line 3", "line 4"])
        queue.clear_job_logs(job.id)
        same(queue.get_job_logs(job.id), [])
        refused("Job not found", lambda: queue.add_job_log("nobody", "x"))


@checks
def custom_ids():
    """get_job_by_custom_id, and get_deduplication_job_id, which this client answers from custom ids"""
    with connect() as queue:
        name = fresh("custom")
        queue.add("x", {}, job_id=name)
        same(queue.get_job_by_custom_id(name).id, name)
        same(queue.get_deduplication_job_id(name), name)
        same(queue.get_deduplication_job_id("nobody"), None)


@checks
def settings():
    """set_stall_config and get_stall_config"""
    with connect() as queue:
        same(queue.get_stall_config(), {"enabled": True, "stallInterval": 30_000, "maxStalls": 3, "gracePeriod": 5_000})
        queue.set_stall_config({"stallInterval": 12_000, "maxStalls": 7})
        same(queue.get_stall_config(), {"enabled": True, "stallInterval": 12_000, "maxStalls": 7, "gracePeriod": 5_000})


@checks
def dead_letter_settings():
    """set_dlq_config and get_dlq_config: a dead letter comes back by itself, and the oldest go"""
    with connect() as queue:
        defaults = {"autoRetry": False, "autoRetryInterval": 3_600_000, "maxAutoRetries": 3, "maxAge": 604_800_000, "maxEntries": 10_000}
        same(queue.get_dlq_config(), defaults)
        queue.set_dlq_config({"autoRetry": True, "autoRetryInterval": 2_000, "maxAutoRetries": 1, "maxEntries": 1})
        same(queue.get_dlq_config(), {**defaults, "autoRetry": True, "autoRetryInterval": 2_000, "maxAutoRetries": 1, "maxEntries": 1})
        ids = [queue.add("x", {}, attempts=1).id for _ in range(2)]
        for job, token in (pull(queue), pull(queue)):
            queue.move_job_to_failed(job.id, "boom", token=token)
        same([queue.get_state(id) for id in ids], ["unknown", "failed"])
        until("it is retried by itself", lambda: queue.get_state(ids[1]) == "waiting")


@checks
def figures():
    """get_workers, get_workers_count, get_stats, get_metrics"""
    with connect() as queue:
        workers, stats, metrics = queue.get_workers_count(), queue.get_stats(), queue.get_metrics()
        with work(queue, lambda job: None, name="counted"):
            until("the worker is registered", lambda: queue.get_workers_count() == workers + 1)
            (one,) = [worker for worker in queue.get_workers() if worker["name"] == "counted"]
            same((one["queues"], one["concurrency"], one["status"]), ([queue.name], 1, "active"))
            queue.wait_for_job(queue.add("x", {}).id, 5_000)
        until("the worker is gone", lambda: queue.get_workers_count() == workers)
        after = queue.get_stats()
        same(after["completed"] - stats["completed"], 1)
        same(sorted(stats), sorted(after))
        grown = {name: queue.get_metrics()[name] - metrics[name] for name in ("totalPushed", "totalPulled", "totalCompleted")}
        same(grown, {"totalPushed": 1, "totalPulled": 1, "totalCompleted": 1})


@checks
def webhooks():
    """add_webhook, list_webhooks, set_webhook_enabled, remove_webhook"""
    with connect() as queue:
        hook = queue.add_webhook("http://127.0.0.1:1/", ["job.progress"], queue.name, "hidden")
        (one,) = [listed for listed in queue.list_webhooks() if listed["id"] == hook]
        same((one["url"], one["events"], one["queue"], one["enabled"]), ("http://127.0.0.1:1/", ["job.progress"], queue.name, True))
        queue.set_webhook_enabled(hook, False)
        same([listed["enabled"] for listed in queue.list_webhooks() if listed["id"] == hook], [False])
        queue.remove_webhook(hook)
        refused("Webhook not found", lambda: queue.remove_webhook(hook))


@checks
def children_of_a_job():
    """a job that waits for others starts when they are done"""
    with connect() as queue:
        first = queue.add("first", {})
        second = queue.add("second", {}, depends_on=[first.id])
        with work(queue, lambda job: job.name):
            same(queue.wait_for_job(second.id, 5_000), "second")
        started = [queue.get_job(one).started_at for one in (first.id, second.id)]
        same(started, sorted(started))
        refused("Dependency job not found: nobody", lambda: queue.add("third", {}, depends_on=["nobody"]))


@checks
def refused_fields():
    """a bad option is refused with the field's name, and nothing is added"""
    with connect() as queue:
        bad = {"priority": ("x", "priority must be a number"), "delay": (-1, "delay must be at least 0"),
               "attempts": (0, "maxAttempts must be at least 1"), "timeout": (10**9, "timeout must be at most 86400000")}
        for name, (value, text) in bad.items():
            refused(text, lambda name=name, value=value: queue.add("x", {}, **{name: value}))
        refused("jobs[1]: priority must be a number",
                lambda: queue.add_bulk([{"name": "a"}, {"name": "b", "priority": "x"}]))
        same(queue.count(), 0)
        try:
            queue.retry_jobs("waiting")
        except ValueError:
            pass
        same(isinstance(CommandError("x"), Exception), True)
