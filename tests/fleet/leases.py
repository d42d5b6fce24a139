"""What the broker granted to whom, and when each lease can have ended at the earliest.

A lease is one delivery of a job: its token, and the moment it was given out, which the broker writes into the job as
`startedAt`. It is valid until the first of these:

- it is settled: an ACK, FAIL or MoveToWait with its token is accepted;
- it is released: the connection that pulled it ends, and nobody had renewed it by then;
- it expires: its time has passed since it was given out or last renewed;
- the broker dies.

A run may outlast its lease, because a worker learns of a loss only when it settles; such a run may overlap with the next
one. Two leases of one job may not. All times of requests are taken before the broker gets them, so `earliest_end` is
never later than the true end, and a next lease that starts before it is a fault beyond doubt.
"""
import threading
from collections import defaultdict

# The broker releases what a connection held 20 ms after its end; a busy machine adds to that.
HEARD_WITHIN_MS = 500
SETTLING = {"ACK", "FAIL", "MoveToWait", "MoveToDelayed"}


class Lease:
    def __init__(self, job, token, ttl, connection, deaths=()):
        # `deaths` are the times at which the broker was killed, also later ones.
        self.deaths = deaths
        self.job, self.token, self.at, self.ttl, self.connection = job["id"], token, job["startedAt"], ttl, connection
        # Pairs of a request's time and what came of it: True, False, or None when no answer was seen.
        self.settles, self.renewals = [], []

    def renewed(self):
        return [at for at, done in self.renewals if done]

    def settled(self):
        """Whether an outcome was accepted; None when that cannot be told."""
        outcomes = [done for _, done in self.settles]
        return True if True in outcomes else None if None in outcomes else False

    def died(self):
        """When the broker died with it, if it did."""
        return next((death for death in self.deaths if self.at <= death <= self._end_by_itself()), None)

    def expired(self):
        """Whether nothing but its expiry can have ended it."""
        return self.settled() is False and self.died() is None and (bool(self.renewed()) or self.connection.ended is None)

    def cost_an_attempt(self):
        """Whether it can have ended in a way that counts: by expiry or the broker's death, and not by a release."""
        renewed = any(done is not False for _, done in self.renewals)
        # The broker sweeps expired leases now and then, and hears of a connection's end a moment after it: a lease that was
        # over by then may have been swept first.
        kept = self.connection.ended is None or self.connection.ended + HEARD_WITHIN_MS >= self.at + self.ttl
        return self.settled() is not True and (self.died() is not None or renewed or kept)

    def earliest_end(self):
        return self.died() or self._end_by_itself()

    def _end_by_itself(self):
        ends = [at for at, done in self.settles if done is not False]
        renewed = self.renewed()
        ends.append(max([self.at, *renewed]) + self.ttl)
        if not renewed and self.connection.ended is not None:
            ends.append(self.connection.ended)
        return min(ends)


class Ledger:
    """Keeps the leases. `requested` and `answered` are called by the tap, from many threads."""

    def __init__(self):
        self.tokens, self.jobs, self.lock, self.deaths = {}, defaultdict(list), threading.Lock(), []

    def requested(self, request, at):
        """Notes a request, and returns what its answer will need."""
        cmd = request.get("cmd")
        if cmd in ("PULL", "PULLB"):
            return (cmd, request.get("lockTtl"))
        if cmd in SETTLING:
            return (cmd, self._marks("settles", [request.get("token")], at))
        if cmd == "ACKB":
            return (cmd, self._marks("settles", request.get("tokens"), at))
        if cmd == "JobHeartbeat":
            return (cmd, self._marks("renewals", [request.get("token")], at))
        if cmd == "JobHeartbeatB":
            return (cmd, self._marks("renewals", request.get("tokens"), at))
        return None

    def answered(self, connection, note, answer):
        cmd, marks = note
        if cmd == "PULL":
            self._granted(connection, marks, [answer.get("job")], [answer.get("token")])
        elif cmd == "PULLB":
            self._granted(connection, marks, answer.get("jobs") or [], answer.get("tokens") or [])
        elif cmd == "ACKB":
            ignored = (answer.get("data") or {}).get("ignoredIndices") or []
            # A refused batch can be done in part, unless it was refused for a token.
            refused = False if "token" in str(answer.get("error")).lower() else None
            for index, mark in enumerate(marks):
                mark[1] = index not in ignored if answer["ok"] else refused
        elif cmd == "JobHeartbeatB":
            count = (answer.get("data") or {}).get("count")
            for mark in marks:
                mark[1] = True if count == len(marks) else False if not count else None
        else:
            done = answer["ok"] and (answer.get("data") or {}).get("applied") is not False
            for mark in marks:
                mark[1] = done

    def _marks(self, kind, tokens, at):
        marks = []
        for token in tokens or []:
            marks.append([at, None])
            lease = self.tokens.get(token)
            if lease is not None:
                getattr(lease, kind).append(marks[-1])
        return marks

    def _granted(self, connection, ttl, jobs, tokens):
        with self.lock:
            for job, token in zip(jobs, tokens):
                if job is not None:
                    lease = Lease(job, token, ttl, connection, self.deaths)
                    self.tokens[token] = lease
                    self.jobs[lease.job].append(lease)


def overlaps(leases):
    """Pairs of one job's leases of which the second began before the first can have ended."""
    ordered = sorted(leases, key=lambda lease: lease.at)
    # The broker's times are whole milliseconds.
    return [(a, b) for a, b in zip(ordered, ordered[1:]) if b.at < int(a.earliest_end())]
