"""What one client knows about its queue: the least that an acknowledged command promises, kept in plain dictionaries.

A job is known by the number in its payload, so that an add whose answer never came can still be recognised afterwards.
The client chooses commands whose outcome does not depend on the passing of time: delays and leases are hours long, and
keys near the end of their window are left alone.
"""
import time

HOUR = 3_600_000
# Clocks of client and broker are the same machine's; between sending and answer lies the moment that counts.
NEAR_END_MS = 300


def now_ms():
    return time.time() * 1000


class Key:
    """Who holds a key, and between which moments its window ends (none: it ends with its owner)."""

    def __init__(self, owner, ends=None):
        self.owner, self.ends = owner, ends

    def over(self):
        return self.ends is not None and now_ms() > self.ends[1] + NEAR_END_MS

    def near_end(self):
        return self.ends is not None and self.ends[0] - NEAR_END_MS < now_ms() <= self.ends[1] + NEAR_END_MS


class Model:
    def __init__(self):
        self.jobs = {}      # number -> {"id", "state", "attempts", "token"}
        self.keys = {}      # text -> Key
        self.customs = {}   # custom id -> number

    def copy(self):
        other = Model()
        other.jobs = {number: dict(job) for number, job in self.jobs.items()}
        other.keys = {text: Key(key.owner, key.ends) for text, key in self.keys.items()}
        other.customs = dict(self.customs)
        return other

    def expire(self):
        for text in [text for text, key in self.keys.items() if key.over()]:
            del self.keys[text]

    def numbers(self, *states):
        return [number for number, job in self.jobs.items() if job["state"] in states]

    def live(self, number):
        return number in self.jobs and self.jobs[number]["state"] not in ("completed", "failed")

    def add(self, number, options, sent, answered):
        """Takes an add into account. Returns what must be answered: ("new",), ("owner", number) or ("refused",)."""
        custom, key_text = options.get("jobId"), options.get("uniqueKey")
        if custom in self.customs and self.live(self.customs[custom]):
            return ("owner", self.customs[custom])
        if custom in self.customs:
            del self.jobs[self.customs[custom]]
        dedup = options.get("dedup", {})
        ttl = dedup.get("ttl")
        ends = None if ttl is None else (sent + ttl, answered + ttl)
        held = self.keys.get(key_text)
        if held is not None:
            state = self.jobs[held.owner]["state"] if held.owner in self.jobs else "gone"
            if dedup.get("replace"):
                if state in ("waiting", "delayed"):
                    self.forget(held.owner)
            elif dedup.get("extend") and ttl is not None:
                held.ends = ends
                return ("owner", held.owner) if state in ("waiting", "delayed") else ("refused",)
            else:
                return ("owner", held.owner)
        self.jobs[number] = {
            "id": custom, "state": "delayed" if options.get("delay") else "waiting", "attempts": 0, "token": None
        }
        if key_text is not None:
            self.keys[key_text] = Key(number, ends)
        if custom is not None:
            self.customs[custom] = number
        return ("new",)

    def forget(self, number):
        del self.jobs[number]
        self.customs = {custom: owner for custom, owner in self.customs.items() if owner != number}

    def remove(self, number):
        """A job removed by hand frees its key, whatever its window."""
        self.forget(number)
        self.keys = {text: key for text, key in self.keys.items() if key.owner != number}

    def finish(self, number, state):
        """A job that ended frees its key, unless a window is open."""
        job = self.jobs[number]
        job.update(state=state, token=None, attempts=job["attempts"] + (state == "failed"))
        self.keys = {text: key for text, key in self.keys.items() if key.owner != number or key.ends is not None}

    def retry(self, number):
        job = self.jobs[number]
        job.update(state="delayed", attempts=job["attempts"] + 1, token=None)
