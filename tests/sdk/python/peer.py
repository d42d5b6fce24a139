#!/usr/bin/env python3
"""One Python program among those that share a queue: adds jobs, or works them, through the official client.

    peer.py add PORT QUEUE                       reads a JSON list of {name, data} and answers with {id, result} for each
    peer.py work PORT QUEUE FILE NAME OPTIONS    works until its input ends; what the file gets is told in tests/kit/peers.py
"""
import json
import os
import sys
import time

from bunqueue import Queue, UnrecoverableError, Worker

CA, TOKEN = os.environ.get("PEER_CA"), os.environ.get("PEER_TOKEN")
SERVER = {"host": "127.0.0.1", "token": TOKEN, "tls": {"ca_file": CA} if CA else None}


def add(port, name):
    with Queue(name, port=port, **SERVER) as queue:
        ids = [queue.add(job["name"], job["data"]).id for job in json.load(sys.stdin)]
        json.dump([{"id": one, "result": queue.wait_for_job(one, 20_000)} for one in ids], sys.stdout)


def work(port, name, path, own, options):
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def tell(what, lease, **more):
        os.write(file, (json.dumps({"what": what, **lease, "t": time.time() * 1000, **more}) + "\n").encode())

    def process(job):
        lease = {"by": own, "job": job.id, "at": job.raw["startedAt"]}
        tell("start", lease, name=job.name, data=job.data)
        time.sleep(job.data.get("ms", 0) / 1000)
        if job.data.get("fatal") or job.attempts < job.data.get("fails", 0):
            tell("end", lease, how="threw")
            raise UnrecoverableError("as asked") if job.data.get("fatal") else RuntimeError("as asked")
        tell("end", lease, how="done")
        return {"by": own, "at": lease["at"], "echo": job.data.get("echo")}

    worker = Worker(
        name, process, port=port, **SERVER, concurrency=options["concurrency"], batch_size=options["concurrency"],
        lock_ttl_ms=options["lock_ms"], heartbeat_interval_s=options["heartbeat_ms"] / 1000, poll_timeout_ms=1_000, name=own,
    )
    sys.stdin.read()
    worker.close()


def main():
    role, port, name, *rest = sys.argv[1:]
    if role == "add":
        add(int(port), name)
    else:
        path, own, options = rest
        work(int(port), name, path, own, json.loads(options))


if __name__ == "__main__":
    main()
