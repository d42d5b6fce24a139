#!/usr/bin/env python3
"""The HTTP interface over real sockets: each route with a right answer and with bad input, event streams, and scrapes."""
import http.client
import json
import os
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import Broker, program  # noqa: E402
from kit.checks import Checks, contains, same, until  # noqa: E402
from kit.rest import Client, Stream  # noqa: E402

checks = Checks("http")


@checks
def jobs(broker):
    """a job is added, looked at, changed, taken, completed and cancelled over HTTP"""
    client = Client(broker)
    body = {"name": "n", "data": {"z": 1, "a": [2**53 + 1]}, "jobId": "h 1", "priority": 3, "dedup": {"key": "k", "ttl": 60000}}
    same(client.good("POST", "/queues/rest/jobs", body)["id"], "h 1")
    same(client.good("POST", "/queues/rest/jobs", {**body, "jobId": "h2"})["id"], "h 1")
    job = client.good("GET", "/jobs/h%201")["job"]
    same((job["name"], job["queue"], job["data"], job["state"]), ("n", "rest", body["data"], "prioritized"))
    same(client.good("GET", "/jobs/custom/h%201")["job"]["id"], "h 1")
    same(client.good("GET", "/jobs/h%201/state")["state"], "prioritized")
    same(client.ask("GET", "/jobs/nobody")[0], 404)
    same(client.ask("GET", "/jobs/custom/nobody")[0], 404)
    client.good("PUT", "/jobs/h%201/data", {"data": {"b": 1}})
    client.good("PUT", "/jobs/h%201/priority", {"priority": 5})
    same(client.ask("PUT", "/jobs/h%201/priority", {"priority": "x"})[0], 400)
    client.good("POST", "/jobs/h%201/logs", {"message": "m"})
    same(client.good("GET", "/jobs/h%201/logs?start=0&end=5")["data"]["logs"][0]["message"], "m")
    client.good("DELETE", "/jobs/h%201/logs")
    same(client.ask("POST", "/jobs/h%201/logs", {})[0], 400)
    taken = client.good("POST", "/queues/rest/jobs/pull", {"timeout": 0})
    same((taken["job"]["id"], taken["job"]["data"]), ("h 1", {"b": 1}))
    client.good("POST", "/jobs/h%201/progress", {"progress": 50, "message": "half"})
    same(client.good("GET", "/jobs/h%201/progress")["progress"], 50)
    client.good("POST", "/jobs/h%201/heartbeat", {})
    client.good("POST", "/jobs/h%201/ack", {"result": {"done": True}})
    same(client.good("GET", "/jobs/h%201/result")["result"], {"done": True})
    same(client.good("POST", "/jobs/h%201/wait", {"timeout": 10})["completed"], True)
    same(client.ask("POST", "/jobs/h%201/ack", {})[0], 400)
    client.good("POST", "/queues/rest/jobs", {"jobId": "later", "delay": 60000})
    client.good("PUT", "/jobs/later/delay", {"delay": 70000})
    client.good("POST", "/jobs/later/promote")
    same(client.ask("POST", "/jobs/later/promote")[0], 400)
    client.good("DELETE", "/jobs/later")
    same(client.ask("GET", "/jobs/later")[0], 404)
    same(client.ask("DELETE", "/jobs/later"), (200, {"ok": False, "error": "Job not found or cannot be cancelled"}))


@checks
def batches(broker):
    """batches are added, taken, completed, kept alive and extended"""
    client = Client(broker)
    ids = client.good("POST", "/queues/batch/jobs/bulk", {"jobs": [{"name": "n", "data": n} for n in range(3)]})["ids"]
    same(len(ids), 3)
    same(client.ask("POST", "/queues/batch/jobs/bulk", {"jobs": 5})[0], 400)
    taken = client.good("POST", "/queues/batch/jobs/pull-batch", {"count": 3, "owner": "me", "lockTtl": 30000})
    same([job["id"] for job in taken["jobs"]], ids)
    tokens = taken["tokens"]
    same(client.good("POST", "/jobs/heartbeat-batch", {"ids": ids, "tokens": tokens})["data"]["count"], 3)
    client.good("POST", "/jobs/extend-locks", {"ids": ids, "tokens": tokens, "durations": [9000] * 3})
    client.good("POST", f"/jobs/{ids[2]}/extend-lock", {"token": tokens[2], "duration": 9000})
    same(client.ask("POST", f"/jobs/{ids[2]}/extend-lock", {"token": "wrong"})[0], 400)
    client.good("POST", "/jobs/ack-batch", {"ids": ids[:2], "tokens": tokens[:2], "results": [1, 2]})
    client.good("POST", f"/jobs/{ids[2]}/fail", {"token": tokens[2], "error": "no", "unrecoverable": True})
    same(client.ask("POST", "/jobs/ack-batch", {"ids": "x"})[0], 400)
    page = client.good("GET", "/queues/batch/dlq?limit=5&offset=0")
    same((page["total"], page["entries"][0]["job"]["id"], page["entries"][0]["error"]), (1, ids[2], "no"))
    same(client.good("GET", "/queues/batch/dlq/stats")["stats"]["total"], 1)
    preview = client.good("GET", "/dashboard/queues/batch")["dlqPreview"]
    same((preview[0]["id"], preview[0]["data"]), (ids[2], 2))
    same(client.good("POST", "/queues/batch/dlq/retry", {"jobId": ids[2]})["count"], 1)
    same(client.good("POST", "/queues/batch/dlq/purge")["count"], 0)


@checks
def queues(broker):
    """queues are listed, counted, paused, cleaned, drained, configured and obliterated"""
    client = Client(broker)
    for delay in (0, 0, 60000):
        client.good("POST", "/queues/ops/jobs", {"delay": delay})
    assert "ops" in client.good("GET", "/queues")["queues"]
    counts = client.good("GET", "/queues/ops/counts")["counts"]
    same((counts["waiting"], counts["delayed"]), (2, 1))
    same(client.good("GET", "/queues/ops/count")["count"], 3)
    same(client.good("GET", "/queues/ops/priority-counts")["counts"], {"0": 3})
    same(len(client.good("GET", "/queues/ops/jobs/list?states=waiting,delayed&limit=2")["jobs"]), 2)
    same(len(client.good("GET", "/queues/ops/jobs/list?state=delayed&status=active")["jobs"]), 1)
    client.good("POST", "/queues/ops/pause")
    same(client.good("GET", "/queues/ops/paused")["paused"], True)
    row = next(row for row in client.good("GET", "/queues/summary") if row["name"] == "ops")
    same((row["paused"], row["counts"]["waiting"]), (True, 2))
    page = client.good("GET", "/dashboard/queues/ops?includeJobs=true")
    same((page["paused"], len(page["jobs"]["paused"]), len(page["jobs"]["delayed"])), (True, 2, 1))
    client.good("POST", "/queues/ops/resume")
    same(client.good("POST", "/queues/ops/promote-jobs", {"count": 1})["count"], 1)
    same(client.good("POST", "/queues/ops/clean", {"grace": "x", "state": "waiting", "limit": 1})["count"], 1)
    same(client.good("POST", "/queues/ops/drain")["count"], 2)
    same(client.good("POST", "/queues/ops/retry-completed")["count"], 0)
    for body in ({"config": {"maxStalls": 7}}, {"maxStalls": 7}):
        client.good("PUT", "/queues/ops/stall-config", body)
        same(client.good("GET", "/queues/ops/stall-config")["config"]["maxStalls"], 7)
    client.good("POST", "/queues/ops/obliterate")
    status, answer = client.ask("POST", "/queues/b%20d/pause")
    same((status, answer["ok"]), (200, False))
    status, answer = client.ask("GET", "/dashboard/queues/b%20d")
    same((status, answer["error"]), (400, "Queue name contains invalid characters"))


@checks
def figures(broker):
    """health, storage, figures, overview and a scrape say what there is"""
    client = Client(broker)
    health = client.good("GET", "/health")
    same((health["status"], sorted(health["connections"])), ("healthy", ["sse", "tcp", "ws"]))
    assert health["memory"]["rss"] > 1
    same([client.raw("GET", path)[2] for path in ("/healthz", "/live")], [b"OK", b"OK"])
    same(client.good("GET", "/ready")["ready"], True)
    same(client.good("GET", "/storage"), {"ok": True, "diskFull": False, "error": None, "since": None})
    stats = client.good("GET", "/stats")
    for name in ("waiting", "dlq", "totalPushed", "uptime", "pushPerSec", "completePerSec"):
        assert isinstance(stats["stats"][name], (int, float)), name
    overview = client.good("GET", "/dashboard")
    for name in ("stats", "throughput", "latency", "memory", "collections", "workers", "crons", "storage", "timestamp"):
        assert name in overview, name
    assert overview["latency"]["percentiles"]["push"]["p99"] >= 0
    rows = client.good("GET", "/dashboard/queues?limit=1&offset=0")
    same((len(rows["queues"]), rows["limit"]), (1, 1))
    assert rows["total"] >= 1
    assert client.good("GET", "/metrics")["metrics"]["totalPushed"] >= 1
    assert client.good("POST", "/gc")["after"]["rss"] > 1
    client.good("GET", "/heapstats")
    assert client.good("GET", "/ping")["data"]["pong"] is True
    status, headers, text = client.raw("GET", "/prometheus")
    same((status, headers["content-type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
    contains(text.decode(), "# TYPE bunqueue_jobs_waiting gauge", "bunqueue_push_duration_seconds_bucket{le=\"+Inf\"}")
    scraped = client.raw("GET", "/metrics", Accept="text/plain;version=0.0.4;q=0.5,*/*;q=0.1")[2].decode()
    contains(scraped, "bunqueue_jobs_pushed_total")


@checks
def over_tcp(broker):
    """the monitoring commands answer over TCP what HTTP answers"""
    with broker.connect() as wire:
        stats = wire.call("Stats")["stats"]
        assert stats["uptime"] > 0 and stats["pushPerSec"] >= 0, stats
        metrics = wire.call("Metrics")["metrics"]
        assert metrics["memoryUsageMb"] > 1 and metrics["sqliteSizeMb"] > 0 and metrics["activeConnections"] >= 1, metrics
        contains(wire.call("Prometheus")["data"]["metrics"], "bunqueue_connections{transport=\"tcp\"}")
        same(wire.call("StorageStatus")["data"], {"diskFull": False, "error": None, "since": None})
        same(wire.call("CompactMemory")["ok"], True)
        assert isinstance(wire.call("DashboardOverview")["data"]["crons"], list)
        names = [queue["name"] for queue in wire.call("DashboardQueues")["data"]["queues"]]
        same(wire.call("DashboardQueue", queue=names[0], includeJobs=True)["data"]["name"], names[0])
        same(wire.call("TrimEvents", queue=names[0], maxLength=10)["data"], {"removed": 0})
        contains(wire.call("TrimEvents", queue=names[0], maxLength=-1)["error"], "maxLength must be")


@checks
def minutes(broker):
    """what completed and failed in a queue is told minute by minute, also of a queue that is removed, and how long jobs took"""
    with broker.connect() as wire:
        def ended(queue, cmd, **more):
            wire.call("PUSH", queue=queue, name="n", data=1, maxAttempts=1, **more)
            job = wire.call("PULL", queue=queue, timeout=0)["job"]["id"]
            time.sleep(0.02)
            assert wire.call(cmd, id=job)["ok"]

        before = time.time() * 1000
        for _ in range(3):
            ended("minutes", "ACK")
        ended("minutes", "FAIL")
        ask = lambda queue, kind, **more: wire.call("Metrics", queue=queue, type=kind, **more)["data"]  # noqa: E731
        told = ask("minutes", "completed")
        same((told["meta"]["count"], sum(told["data"]), told["count"]), (3, 3, len(told["data"])))
        assert before - 1000 <= told["meta"]["prevTS"] <= time.time() * 1000 and 1 <= told["meta"]["prevCount"] <= 3, told
        same(sum(ask("minutes", "failed")["data"]), 1)
        same((ask("minutes", "completed", start=9)["data"], sum(ask("minutes", "completed", start=0, end=5)["data"])), ([], 3))
        same(ask("nobody", "failed"), {"meta": {"count": 0, "prevTS": 0, "prevCount": 0}, "data": [], "count": 0})
        assert wire.call("Metrics")["metrics"]["avgProcessingMs"] >= 1
        ended("passing", "ACK", removeOnComplete=True)
        until("the empty queue is removed", lambda: "passing" not in wire.call("ListQueues")["queues"])
        same(ask("passing", "completed")["meta"]["count"], 1)
        wire.call("Obliterate", queue="minutes")
        same(ask("minutes", "completed")["meta"]["count"], 0)


def has(answer, shape, where):
    """Whether an answer has the members of a shape: a set of names, a map of names to shapes, a list of one for all rows."""
    if isinstance(shape, list):
        assert isinstance(answer, list) and answer, f"{where} is no list with rows: {answer}"
        for row in answer:
            has(row, shape[0], f"{where}[]")
        return
    missing = sorted(set(shape) - set(answer))
    assert not missing, f"{where} lacks {missing}"
    for name, inner in shape.items() if isinstance(shape, dict) else ():
        if inner is not None:
            has(answer[name], inner, f"{where}.{name}")


def named(text, **inner):
    return {**dict.fromkeys(text.split()), **inner}


TOTALS = "totalPushed totalPulled totalCompleted totalFailed"
STATES = "waiting prioritized active completed failed delayed"
JOB = set("id name queue data priority createdAt runAt attempts maxAttempts progress state".split())
SHARES = {name: {"p50", "p95", "p99"} for name in ("push", "pull", "ack")}
# What the official dashboard reads at least (protocol-admin.md 13.3 and 13.7), each route with real data behind it.
NEEDED = {
    "/dashboard": named(
        "timestamp", stats=named(f"waiting active delayed completed dlq uptime {TOTALS}"), storage={"diskFull", "error", "since"},
        throughput={"pushPerSec", "pullPerSec", "completePerSec", "failPerSec"}, memory={"heapUsed", "heapTotal", "rss"}, collections={"jobIndex"},
        latency={"averages": {"pushMs", "pullMs", "ackMs"}, "percentiles": SHARES},
        workers=named("total active truncated", list=[{"id", "name", "queues", "lastSeen", "activeJobs", "processedJobs", "failedJobs"}]),
        crons=named("total truncated", list=[{"name", "queue", "schedule", "repeatEvery", "nextRun", "executions"}])),
    "/dashboard/queues": named("total limit offset timestamp", queues=[{"name", "waiting", "delayed", "active", "dlq", "paused"}]),
    "/dashboard/queues/shown?includeJobs=true": named(
        "name paused priorityCounts timestamp", counts=named(f"{STATES} waiting-children totalCompleted totalFailed paused"),
        dlqPreview=[{"id", "data", "attempts", "createdAt"}],
        jobs={state: [{"id", "priority", "createdAt", "runAt", "attempts", "progress"}] for state in ("waiting", "active", "delayed")}),
    "/queues/summary": [{"name": None, "paused": None, "counts": set(STATES.split())}],
    "/stats": named("memory collections", stats=named(
        f"{STATES.replace('failed ', '')} dlq waiting-children {TOTALS} uptime cronJobs cronPending pushPerSec pullPerSec completePerSec failPerSec")),
    "/health": named("ok status uptime version", queues={"waiting", "active", "delayed", "completed", "dlq"},
                     connections={"tcp", "ws", "sse"}, memory={"heapUsed", "heapTotal", "rss"}),
    "/storage": {"ok", "diskFull", "error", "since"},
    "/ping": {"data": {"pong"}},
    "/queues/shown/jobs/list?state=waiting": {"jobs": [JOB]},
    "/queues/shown/counts": {"counts": set(STATES.split())},
    "/jobs/shown-job": {"job": JOB},
    "/crons": {"crons": [set("name jobName queue schedule repeatEvery nextRun executions maxLimit timezone priority".split())]},
    "/workers": {"data": {"workers": [set("id name queues concurrency hostname pid status registeredAt lastSeen activeJobs processedJobs failedJobs currentJob uptime".split())],
                          "stats": set("total active totalProcessed totalFailed activeJobs concurrencySlots".split())}},
    "/queues/shown/dlq": named("total", entries=[named("enteredAt reason error retryCount lastRetryAt nextRetryAt expiresAt", job={"id", "data"},
                                                       attempts=[{"attempt", "startedAt", "failedAt", "reason", "error", "duration"}])]),
    "/queues/shown/dlq/stats": {"stats": set("total byReason byQueue pendingRetry expired oldestEntry newestEntry".split())},
}


@checks
def dashboard(broker):
    """each route that the official dashboard needs has the members it reads, with jobs in every state behind it"""
    client = Client(broker)
    with broker.connect() as wire:
        push = lambda **more: wire.call("PUSH", queue="shown", name="n", data={"a": 1}, maxAttempts=1, **more)  # noqa: E731
        take = lambda: wire.call("PULL", queue="shown")["job"]["id"]  # noqa: E731
        push()
        wire.call("ACK", id=take(), result=1)
        push()
        wire.call("FAIL", id=take(), error="no luck")
        push()
        take()
        push(jobId="shown-job")
        push(delay=60000)
        push(priority=3)
        wire.call("Cron", name="shown", queue="shown", repeatEvery=3_600_000)
        wire.call("RegisterWorker", name="w", queues=["shown"])
        for path, shape in NEEDED.items():
            answer = client.good("GET", path)
            has(answer, shape, path)
        same(client.good("GET", "/dashboard/queues/shown")["counts"]["failed"], 1)
        wire.call("CronDelete", name="shown")
        wire.call("Obliterate", queue="shown")


@checks
def workers(broker):
    """workers register, beat, are listed and unregister; unknown ones are not found"""
    client = Client(broker)
    added = client.good("POST", "/workers", {"name": "w", "queues": ["rest"], "workerId": "w1"})
    same(added["data"]["workerId"], "w1")
    client.good("POST", "/workers/w1/heartbeat", {"activeJobs": 2})
    same(client.good("GET", "/queues/rest/workers")["workers"][0]["activeJobs"], 2)
    assert any(worker["id"] == "w1" for worker in client.good("GET", "/workers")["data"]["workers"])
    client.good("DELETE", "/workers/w1")
    same(client.ask("DELETE", "/workers/w1")[0], 404)


@checks
def events(broker):
    """a stream tells of jobs, of their queue's counts and of what operators did, and a client that comes back gets what it missed"""
    client = Client(broker)
    stream, other = Stream(client), Stream(client, "/events/queues/elsewhere")
    same(stream.hello[0], "3000")
    same(stream.hello[1]["connected"], True)
    client.good("POST", "/queues/told/jobs", {"jobId": "t1", "data": "secret payload"})
    client.good("POST", "/queues/told/jobs/pull", {})
    client.good("POST", "/jobs/t1/fail", {"error": "no luck", "unrecoverable": True})
    client.good("POST", "/queues/told/drain")
    until("the drain is told of", lambda: stream.named("queue:drained"))
    mine = [(name, data) for name, _, data in stream.frames if data.get("jobId") == "t1" and name.startswith("job:")]
    same([name for name, _ in mine], ["job:pushed", "job:active", "job:failed"])
    same((mine[2][1]["queue"], mine[2][1]["error"]), ("told", "no luck"))
    assert not any("secret payload" in json.dumps(frame) for frame in stream.frames)
    counts = until("the counts follow", lambda: [data for data in stream.named("queue:counts") if data["failed"] == 1])
    same(counts[-1]["queue"], "told")
    until("the other stream hears of the drain", lambda: other.named("queue:drained"))
    same([name for name, _, _ in other.frames if name.startswith("job:")], [])
    numbers = [number for _, number, _ in stream.frames]
    same(numbers, sorted(set(numbers)))
    pushed = next(number for name, number, data in stream.frames if name == "job:pushed")
    again = Stream(client, **{"Last-Event-ID": str(pushed)})
    until("what was missed", lambda: len([frame for frame in again.frames if frame[2].get("jobId") == "t1"]) == 2)
    same(client.good("GET", "/health")["connections"]["sse"], 3)
    snapshot = until("a snapshot", lambda: stream.named("stats:snapshot"), seconds=20)
    assert "told" in snapshot[0]["queues"], snapshot[0]
    for one in (stream, other, again):
        one.close()
    until("streams are given back", lambda: client.good("GET", "/health")["connections"]["sse"] == 0, seconds=20)


@checks
def unknown(broker):
    """what is not there is answered so, and nothing is broken by odd requests"""
    client = Client(broker)
    same(client.ask("GET", "/ws")[0], 501)
    same(client.ask("GET", "/queues/rest/jobs")[0], 405)
    same(client.raw("GET", "/nothing")[0], 404)
    same(client.raw("PATCH", "/queues")[0], 405)
    for text in ("{", "[1]", "nul", "1"):
        connection = http.client.HTTPConnection(*client.place, timeout=10)
        connection.request("POST", "/queues/rest/jobs", text, {"Content-Type": "application/json"})
        same(connection.getresponse().status, 400)
        connection.close()
    with socket.create_connection(client.place, timeout=10) as half:
        half.sendall(b"POST /queues/rest/jobs HTTP/1.1\r\nHost: %s:%d\r\nContent-Length: 100\r\n\r\n{" % (client.place[0].encode(), client.place[1]))
    client.good("GET", "/health")


@checks
def tokens(_):
    """with AUTH_TOKENS a bearer token is needed, and CORS lets in those who are named"""
    env = {"AUTH_TOKENS": "one,two", "CORS_ALLOW_ORIGIN": "http://dash.example, http://other.example"}
    with Broker(env=env) as broker:
        stranger, known = Client(broker), Client(broker, Authorization="Bearer two")
        same(stranger.ask("GET", "/queues"), (401, {"ok": False, "error": "Unauthorized"}))
        known.good("GET", "/queues")
        same(stranger.raw("GET", "/live")[0], 200)
        status, headers, _ = known.raw("GET", "/queues", Origin="http://other.example")
        same((status, headers.get("access-control-allow-origin")), (200, "http://other.example"))
        same(known.raw("GET", "/queues", Origin="http://evil.example")[0], 403)
        same(stranger.raw("OPTIONS", "/queues", Origin="http://dash.example")[0], 204)
    env = {**os.environ, "CORS_ALLOW_ORIGIN": "*", "AUTH_TOKENS": ""}
    ended = subprocess.run([program()], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=20)
    same(ended.returncode, 2)
    contains(ended.stderr, "AUTH_TOKENS must be set")


def main():
    with Broker() as broker:
        return broker.judge(checks.run(broker))


if __name__ == "__main__":
    sys.exit(main())
