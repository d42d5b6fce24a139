#!/usr/bin/env python3
"""The official clients live through a killed broker: nobody restarts them, and they go on where they were."""
import os
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kit.broker import Broker
from kit.checks import Checks, same, until
from kit.peers import PROGRAMS, PeerWorker, add

checks = Checks("restart")
# How long the broker is away, and how long a client may take to notice that it is back: Python's waits up to five
# seconds between two tries, npm's and Rust's less.
AWAY_SECONDS, BACK_SECONDS = 2.0, 15.0


def round_trip(site, language):
    """One job, added after the fact, worked by the language's worker that was there before; returns its id."""
    (answer,) = add("python", site.broker.port, site.queue(language), [{"name": "x", "data": {"echo": language}}])
    same((answer["result"]["by"], answer["result"]["echo"]), (f"worker-{language}", language))
    return answer["id"]


def every_worker():
    for language in PROGRAMS:
        def check(site, language=language):
            site.back(language)
        check.__name__ = f"{language}_worker"
        check.__doc__ = f"a {language} worker takes jobs again by itself"
        checks(check)


every_worker()


@checks
def what_was_running(site):
    """the job that ran when the broker died is run again, and has one result"""
    states = [site.wire.call("GetJob", id=one)["job"] for one in site.held.values()]
    same([(job["state"], job["attempts"]) for job in states], [("completed", 1)] * len(states))


@checks
def events(site):
    """npm's QueueEvents hears of jobs again by itself"""
    def heard():
        job = round_trip(site, "npm")
        return any(line["job"] == job for line in site.listener.lines())

    until("it hears", heard, BACK_SECONDS)


class Site:
    """A broker with one worker of each language and a listener; it is killed while each worker has a job."""

    def __init__(self, broker, folder):
        self.broker, self.workers = broker, {}
        for language in PROGRAMS:
            self.workers[language] = PeerWorker(language, broker.port, self.queue(language), folder, f"worker-{language}")
        self.listener = PeerWorker("npm", broker.port, self.queue("npm"), folder, "listener", role="listen")
        with broker.connect() as wire:
            until("the listener listens", lambda: self.listens(wire), BACK_SECONDS)
            self.held = {language: wire.call("PUSH", queue=self.queue(language), name="held", data={"ms": 3_000})["id"] for language in PROGRAMS}
            until("each has started", lambda: all(map(self.holds, PROGRAMS)), BACK_SECONDS)
        broker.kill()
        time.sleep(AWAY_SECONDS)
        broker.start()
        self.wire = broker.connect()

    def queue(self, language):
        return f"restart-{language}"

    def holds(self, language):
        return any(line["job"] == self.held[language] for line in self.workers[language].lines())

    def listens(self, wire):
        wire.call("PUSH", queue=self.queue("npm"), name="x", data={})
        return bool(self.listener.lines())

    def back(self, language):
        """Waits until the worker has run what it had and something new."""
        began = time.monotonic()
        until("the held job completes", lambda: self.wire.call("GetState", id=self.held[language])["state"] == "completed", BACK_SECONDS)
        round_trip(self, language)
        assert time.monotonic() - began < BACK_SECONDS
        same(self.workers[language].process.poll(), None)

    def close(self):
        for peer in [*self.workers.values(), self.listener]:
            peer.kill()


def main():
    with Broker(args=["--no-ui"]) as broker, tempfile.TemporaryDirectory(prefix="onceover-restart-") as folder:
        site = Site(broker, folder)
        try:
            return checks.run(site)
        finally:
            site.close()


if __name__ == "__main__":
    sys.exit(main())
