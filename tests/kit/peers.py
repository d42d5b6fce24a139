"""Programs in three languages that do the same through their official clients: `tests/sdk/*/peer.*`.

As an adder a program adds the jobs it is given and reads their results. As a worker it works until its input ends, and
appends to a file of its own, a JSON line for each start and each end of a run:

    {"what": "start", "by": its name, "job": id, "at": start of the lease, "t": now, "name": …, "data": …}
    {"what": "end",   "by": its name, "job": id, "at": start of the lease, "t": now, "how": "done" or "threw"}

Times are milliseconds since the epoch, the lease's by the broker's clock and `t` by the program's. What a run does is in
the job's data: `ms` how long it takes, `fails` how many attempts throw, `fatal` throw for good, `echo` comes back in the
result, which is `{"by", "at", "echo"}`. The environment names a file of certificates, `PEER_CA`, for TLS, and a token,
`PEER_TOKEN`. The npm program can also listen, and then appends `{"what": "heard", "by", "job"}` for each completed job.
"""
import json
import os
import subprocess
import sys

from .broker import ROOT, TARGET

SDK = os.path.join(ROOT, "tests", "sdk")
PROGRAMS = {
    "npm": [os.path.join(SDK, "npm", "node_modules", ".bin", "bun"), os.path.join(SDK, "npm", "peer.ts")],
    "python": [sys.executable, os.path.join(SDK, "python", "peer.py")],
    "rust": [os.path.join(TARGET, "debug", "onceover-sdk-peer")],
}
OPTIONS = {"concurrency": 4, "lock_ms": 30_000, "heartbeat_ms": 10_000}


def adder(language, port, queue, jobs, env=()):
    """Runs a program that adds jobs, each `{"name", "data"}`, and returns how it ended."""
    command = [*PROGRAMS[language], "add", str(port), queue]
    return subprocess.run(command, input=json.dumps(jobs), capture_output=True, text=True, timeout=60, env={**os.environ, **dict(env)})


def add(language, port, queue, jobs, env=()):
    """Lets a program add jobs and returns `{"id", "result"}` for each."""
    done = adder(language, port, queue, jobs, env)
    assert done.returncode == 0, f"{language} adder: {done.stderr[-2000:]}"
    return json.loads(done.stdout)


class PeerWorker:
    """A running worker program."""

    def __init__(self, language, port, queue, folder, name, env=(), role="work", **options):
        self.language, self.name, self.path = language, name, os.path.join(folder, f"{name}.jsonl")
        command = [*PROGRAMS[language], role, str(port), queue, self.path, name, json.dumps({**OPTIONS, **options})]
        # What a client prints about a connection that the test has cut is of no interest.
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                        env={**os.environ, **dict(env)})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def kill(self):
        """Ends it as a crash would."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(10)

    def retire(self):
        """Tells it to finish what it has begun, and to end."""
        self.process.stdin.close()

    def stop(self, timeout=30):
        """The same, and returns its exit code."""
        self.retire()
        return self.process.wait(timeout)

    def lines(self):
        """What it has told so far. The last line of a killed program may be cut."""
        if not os.path.exists(self.path):
            return []
        with open(self.path, encoding="utf-8") as file:
            return [json.loads(line) for line in file.read().splitlines() if line.endswith("}")]
