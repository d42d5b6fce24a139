#!/usr/bin/env python3
"""Every name that event streams know, each driven once by what causes it, with the members it has to carry."""
import os
import socket
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import Broker, free_port  # noqa: E402
from kit.checks import Checks, same, until  # noqa: E402
from kit.rest import Client, Stream  # noqa: E402

checks = Checks("events")
Q = "told"

JOB = {"queue", "jobId", "timestamp"}
CALLED = {"webhookId", "url", "event"}
# What each name carries at least. `worker:overloaded` and `worker:removed-stale` need minutes and are tested in the engine.
MEMBERS = {
    **{f"job:{name}": JOB for name in ("pushed", "active", "completed", "retried", "duplicated", "paused", "resumed")},
    "job:failed": JOB | {"error"}, "job:progress": JOB | {"progress"}, "job:removed": JOB | {"prev"}, "job:waiting": JOB | {"prev"},
    "job:delayed": JOB | {"delay"}, "job:stalled": JOB | {"stallCount", "action"},
    "job:promoted": {"jobId"}, "job:data-updated": {"jobId"}, "job:discarded": {"jobId"},
    "job:priority-changed": {"jobId", "newPriority"}, "job:delay-changed": {"jobId", "newDelay"}, "job:moved-to-delayed": {"jobId", "delay"},
    "job:deduplicated": {"queue", "jobId", "strategy"}, "job:expired": {"queue", "jobId", "ttl", "age"},
    "job:timeout": {"jobId", "queue", "timeout"}, "job:lock-expired": {"jobId", "queue", "renewalCount"},
    "job:waiting-children": {"jobId", "queue", "dependsOn"}, "job:dependencies-resolved": {"jobId", "queue"},
    "batch:pushed": {"queue", "total", "inserted", "duplicates"}, "batch:pulled": {"queue", "count"},
    **{f"queue:{name}": {"queue"} for name in ("created", "removed", "paused", "resumed", "obliterated")},
    "queue:drained": {"queue", "count"}, "queue:cleaned": {"queue", "state", "count"}, "queue:idle": {"queue", "idleSeconds"},
    "queue:counts": {"queue", "waiting", "prioritized", "active", "completed", "failed", "delayed"},
    "dlq:added": {"queue", "jobId", "reason"}, "dlq:retried": {"queue", "jobId", "count"},
    **{f"dlq:{name}": {"queue", "count"} for name in ("retry-all", "purged", "auto-retried", "expired")},
    "flow:pushed": {"jobs", "queues"}, "flow:completed": {"parentJobId", "queue", "childrenCount"},
    "flow:failed": {"parentJobId", "failedChildId", "queue", "error"},
    "cron:created": {"name", "queue", "every", "nextRun"}, "cron:updated": {"name", "queue", "pattern", "nextRun"},
    "cron:deleted": {"name"}, "cron:fired": {"name", "queue"}, "cron:skipped": {"name", "queue", "reason"},
    "cron:missed": {"name", "queue", "error"},
    "worker:connected": {"workerId", "name", "queues", "hostname", "pid"}, "worker:heartbeat": {"workerId"},
    "worker:disconnected": {"workerId", "name", "clientId"},
    "ratelimit:set": {"queue", "max", "duration"}, "ratelimit:cleared": {"queue"}, "ratelimit:rejected": {"queue"},
    "concurrency:set": {"queue", "concurrency"}, "concurrency:cleared": {"queue"}, "concurrency:rejected": {"queue"},
    "config:stall-changed": {"queue", "config"}, "config:dlq-changed": {"queue", "config"},
    "webhook:added": {"id", "url", "events"}, "webhook:removed": {"id"}, "webhook:enabled": {"webhookId"}, "webhook:disabled": {"webhookId"},
    "webhook:fired": CALLED, "webhook:failed": CALLED | {"error"},
    "client:connected": {"clientId", "transport"}, "client:disconnected": {"clientId", "transport"},
    "memory:compacted": set(), "cleanup:completed-removed": {"count"},
    "stats:snapshot": {"waiting", "active", "delayed", "completed", "dlq", "totalPushed", "totalCompleted", "totalFailed", "pushPerSec",
                       "pullPerSec", "uptime", "queues", "workers", "cronJobs"},
    "health:status": {"ok", "uptime", "memory", "connections"}, "storage:status": {"collections", "diskFull"},
}


def good(wire, cmd, **fields):
    answer = wire.call(cmd, **fields)
    assert answer["ok"], f"{cmd} {fields}: {answer}"
    return answer


def push(wire, **more):
    return good(wire, "PUSH", **{"queue": Q, "name": "n", "data": {"secret": "hidden in plain sight"}, "maxAttempts": 1, **more})["id"]


def pull(wire, queue=Q, **more):
    return good(wire, "PULL", queue=queue, timeout=0, **more)["job"]["id"]


def lives_of_jobs(wire):
    """What happens to single jobs, to batches and to the dead."""
    good(wire, "ACK", id=[push(wire), pull(wire)][1])
    push(wire, maxAttempts=2, backoff=0)
    failed = pull(wire)
    good(wire, "Progress", id=failed, progress=5)
    good(wire, "FAIL", id=failed, error="no luck")
    good(wire, "Cancel", id=failed)
    for cmd, more in (("MoveToWait", {}), ("MoveToDelayed", {"delay": 60000}), ("MoveToWaitingChildren", {})):
        push(wire)
        good(wire, cmd, id=pull(wire), **more)
        good(wire, "Drain", queue=Q)
    later = push(wire, delay=60000)
    good(wire, "ChangeDelay", id=later, delay=70000)
    good(wire, "ChangePriority", id=later, priority=4)
    good(wire, "Update", id=later, data=1)
    good(wire, "Promote", id=later)
    good(wire, "Discard", id=later)
    for _ in range(2):
        push(wire, uniqueKey="k", dedup={"ttl": 60000})
    good(wire, "PUSHB", queue=Q, jobs=[{"name": "n", "data": n} for n in range(2)])
    good(wire, "PULLB", queue=Q, count=3, timeout=0)
    push(wire, ttl=1)
    push(wire, queue="slow", timeout=30)
    pull(wire, "slow")
    push(wire, queue="lost")
    pull(wire, "lost", owner="me", lockTtl=1000)
    for _ in range(9):
        push(wire, queue="many")
        good(wire, "ACK", id=pull(wire, "many"))


def queues(wire):
    """What is done to queues and set on them."""
    queue = "ruled"
    push(wire, queue=queue, delay=60000)
    good(wire, "Pause", queue=queue)
    good(wire, "Resume", queue=queue)
    good(wire, "Clean", queue=queue, grace=0, state="delayed")
    for limit, more, clear in (("RateLimit", {"limit": 0, "duration": 60000}, "RateLimitClear"), ("SetConcurrency", {"limit": 0}, "ClearConcurrency")):
        push(wire, queue=queue)
        good(wire, limit, queue=queue, **more)
        same(good(wire, "PULL", queue=queue, timeout=0).get("job"), None)
        good(wire, clear, queue=queue)
    good(wire, "SetStallConfig", queue=queue, config={"maxStalls": 7, "enabled": False})
    good(wire, "SetDlqConfig", queue=queue, config={"maxAge": None, "autoRetry": False})
    good(wire, "Obliterate", queue=queue)
    good(wire, "CompactMemory")


def dead_letters(wire):
    """Dead letters are made, retried by hand and by themselves, purged and forgotten."""
    queue = "graves"

    def dies():
        push(wire, queue=queue)
        job = pull(wire, queue)
        good(wire, "FAIL", id=job, error="no luck")
        return job

    good(wire, "RetryDlq", queue=queue, jobId=dies())
    good(wire, "FAIL", id=pull(wire, queue), error="again")
    good(wire, "RetryDlq", queue=queue)
    good(wire, "FAIL", id=pull(wire, queue), error="again")
    good(wire, "PurgeDlq", queue=queue)
    good(wire, "SetDlqConfig", queue=queue, config={"autoRetry": True, "autoRetryInterval": 20, "maxAutoRetries": 1})
    dies()
    until("it waits again", lambda: good(wire, "GetJobCounts", queue=queue)["counts"]["waiting"] == 1)
    good(wire, "SetDlqConfig", queue=queue, config={"autoRetry": False, "maxAge": 20})
    good(wire, "FAIL", id=pull(wire, queue), error="again")


def trees(wire):
    """One tree completes, one fails."""
    for tree, end in (("a", "ACK"), ("b", "FAIL")):
        child, parent = f"{tree}-child", f"{tree}-parent"
        jobs = [
            {"id": child, "queue": "tree", "input": {"name": "n", "customId": child, "maxAttempts": 1, "parentId": parent,
                                                     "data": {"__parentId": parent, "__parentQueue": "tree"}}},
            {"id": parent, "queue": "tree", "input": {"name": "n", "customId": parent, "dependsOn": [child], "childrenIds": [child],
                                                      "data": {"__childrenIds": [child]}}},
        ]
        good(wire, "PUSHF", jobs=jobs)
        good(wire, end, id=pull(wire, "tree"))
        good(wire, "Drain", queue="tree")


def schedules(wire):
    """A schedule is made, changed, fires, is skipped, misses and is deleted."""
    queue = "timed"
    good(wire, "Cron", name="often", queue=queue, repeatEvery=60, preventOverlap=False)
    good(wire, "Cron", name="idle", queue=queue, repeatEvery=60, skipIfNoWorker=True)
    push(wire, queue=queue, uniqueKey="held", dedup={"ttl": 60000})
    pull(wire, queue)
    good(wire, "Cron", name="refused", queue=queue, repeatEvery=60, uniqueKey="held", dedup={"ttl": 60000, "extend": True})
    time.sleep(0.3)
    good(wire, "Cron", name="often", queue=queue, schedule="0 0 1 1 *")
    for name in ("often", "idle", "refused"):
        good(wire, "CronDelete", name=name)


def outside(broker, wire):
    """Workers and webhooks."""
    with broker.connect() as other:
        good(other, "RegisterWorker", name="w", queues=[Q], workerId="w1", hostname="h", pid=5)
        good(other, "Heartbeat", id="w1", activeJobs=1)
    with socket.create_server(("127.0.0.1", 0)) as server:
        hooks = [good(wire, "AddWebhook", url=f"http://127.0.0.1:{port}/", events=["job.pushed"], queue="hooked")["data"]["webhookId"]
                 for port in (server.getsockname()[1], free_port())]
        for enabled in (False, True):
            good(wire, "SetWebhookEnabled", id=hooks[0], enabled=enabled)
        push(wire, queue="hooked")
        call, _ = server.accept()
        with call:
            call.recv(65536)
            call.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        listed = lambda: {one["id"]: one for one in good(wire, "ListWebhooks")["data"]["webhooks"]}  # noqa: E731
        until("both calls have ended", lambda: listed()[hooks[0]]["successCount"] and listed()[hooks[1]]["failureCount"])
        for hook in hooks:
            good(wire, "RemoveWebhook", webhookId=hook)


@checks
def each_name(broker):
    """each name of an event is told when its cause happens, with its members and without any job's data"""
    stream = Stream(Client(broker))
    with broker.connect() as wire, broker.connect() as listener:
        good(listener, "SubscribeEvents", queue=Q)
        good(wire, "Pause", queue=Q)
        good(wire, "Resume", queue=Q)
        for drive in (lives_of_jobs, queues, dead_letters, trees, schedules):
            drive(wire)
        outside(broker, wire)
        missing = lambda: sorted(set(MEMBERS) - {name for name, _, _ in stream.frames})  # noqa: E731
        end = time.monotonic() + 60
        while missing() and time.monotonic() < end:
            time.sleep(0.2)
        same(missing(), [])
        good(listener, "Ping")
        over_tcp = {event["eventType"] for event in listener.events}
    same(sorted({name for name, _, _ in stream.frames} - set(MEMBERS)), [])
    for name, wanted in MEMBERS.items():
        frames = stream.named(name)
        assert any(wanted <= set(frame) for frame in frames), f"{name}: {frames[:3]} lacks some of {sorted(wanted)}"
    assert not any("hidden" in str(frame) for frame in stream.frames), "data of a job was told"
    same(sorted(over_tcp), sorted(["pushed", "pulled", "completed", "failed", "retried", "progress", "removed", "waiting", "delayed",
                                   "waiting-children", "duplicated", "paused", "resumed"]))
    same(stream.named("config:stall-changed")[0]["config"], {"maxStalls": 7, "enabled": False})
    same(stream.named("config:dlq-changed")[0]["config"], {"maxAge": None, "autoRetry": False})
    names = [name for name, _, data in stream.frames if data.get("queue") == "ruled"]
    same((names[0], names.index("queue:obliterated") < names.index("queue:removed")), ("job:pushed", True))
    stream.close()


@checks
def at_the_door(_):
    """wrong tokens and clients that send too much are told of"""
    with Broker(env={"AUTH_TOKENS": "one", "RATE_LIMIT_MAX_REQUESTS": "3"}) as broker:
        stream = Stream(Client(broker, Authorization="Bearer one"))
        same(Client(broker, Authorization="Bearer two").ask("GET", "/queues")[0], 401)
        with broker.connect() as wire:
            assert not wire.call("Auth", token="two")["ok"]
            for _ in range(4):
                wire.call("Auth", token="one")
        until("all is told", lambda: len(stream.named("auth:failed")) == 2 and stream.named("ratelimit:hit"))
        same(stream.named("auth:failed")[0], {"transport": "http"})
        client = stream.named("auth:failed")[1]["clientId"]
        same(stream.named("ratelimit:hit"), [{"clientId": client}])
        same(stream.named("client:connected"), [{"clientId": client, "transport": "tcp"}])
        stream.close()


@checks
def counts_follow_soon(broker):
    """the counts of a queue follow its event within a few milliseconds, and many events share them"""
    stream = Stream(Client(broker))
    took = []
    with broker.connect() as wire:
        for _ in range(20):
            before = len(stream.named("queue:counts"))
            began = time.monotonic()
            push(wire, queue="counted")
            until("the counts", lambda: len(stream.named("queue:counts")) > before)
            took.append(time.monotonic() - began)
            time.sleep(0.02)
        before = len(stream.named("queue:counts"))
        wire.many([{"cmd": "PUSH", "queue": "counted", "name": "n", "data": n} for n in range(500)])
        until("the last counts", lambda: stream.named("queue:counts")[-1]["waiting"] == 520)
        assert len(stream.named("queue:counts")) - before < 250, "each event had its own counts"
    assert sorted(took)[10] < 0.08, took
    stream.close()


def main():
    with Broker(args=["--max-completed-jobs", "5"], env={"WEBHOOK_RETRY_DELAY_MS": "10"}) as broker:
        return broker.judge(checks.run(broker))


if __name__ == "__main__":
    sys.exit(main())
