"""One client of the kill test: random commands on one queue, one at a time, each answer compared with the model.

When the connection breaks, `doubt` holds the model as it would be had the unanswered command taken effect.
"""
import random
import threading

from kit.wire import Gone
from model import HOUR, Model, now_ms

WINDOWS = [120_000, 120_000, 4_000, 1_500]


class Client(threading.Thread):
    def __init__(self, broker, queue, seed, model=None, number=0):
        super().__init__(daemon=True)
        self.broker, self.queue, self.random = broker, queue, random.Random(seed)
        self.model, self.doubt, self.number = model or Model(), None, number
        self.error, self.answered = None, 0

    def run(self):
        try:
            with self.broker.connect() as self.wire:
                while True:
                    self.model.expire()
                    # A short queue, so that the jobs which hold keys are pulled and end, too.
                    adds = (45, 4) if len(self.model.numbers("waiting")) < 8 else (10, 0)
                    self.random.choices(
                        [self.add, self.bulk, self.pull, self.finish, self.fail, self.cancel, self.release],
                        [*adds, 22, 15, 8, 4, 5],
                    )[0]()
        except Gone:
            pass
        except Exception as error:  # reported by the round that started the thread
            self.error = error

    def call(self, after, cmd, **fields):
        """Sends a command. Until the answer is there, `after` is what may hold as well as the present model."""
        self.doubt = after
        answer = self.wire.call(cmd, **fields)
        self.doubt, self.answered = None, self.answered + 1
        return answer

    def options(self):
        """A random add: plain, with a custom id, or with a key; never a key that is about to end."""
        kind = self.random.choice(["plain", "custom", "key", "key", "key"])
        more = {"maxAttempts": 200, "backoff": HOUR}
        if self.random.random() < 0.25:
            more["delay"] = HOUR
        if kind == "custom":
            return {**more, "jobId": f"{self.queue}-{self.random.randrange(4)}"}
        if kind == "plain":
            return more
        text = f"key-{self.random.randrange(6)}"
        if text in self.model.keys and self.model.keys[text].near_end():
            return more
        dedup = self.random.choice([
            {}, {"ttl": self.random.choice(WINDOWS)}, {"ttl": self.random.choice(WINDOWS), "extend": True},
            {"ttl": self.random.choice(WINDOWS), "replace": True}, {"replace": True},
        ])
        return {**more, "uniqueKey": text, "dedup": dedup}

    def add(self):
        self.number += 1
        options, sent = self.options(), now_ms()
        doubt = self.model.copy()
        doubt.add(self.number, options, sent, sent + 5000)
        answer = self.call(doubt, "PUSH", queue=self.queue, name="n", data={"n": self.number}, **options)
        self.settle(self.number, options, sent, answer)

    def settle(self, number, options, sent, answer):
        wanted = self.model.add(number, options, sent, now_ms())
        if wanted[0] == "refused":
            assert not answer["ok"] and "extended TTL" in answer["error"], f"wanted a refusal, got {answer}"
            return
        assert answer.get("ok"), f"add {options} answered {answer}"
        if wanted[0] == "new":
            assert answer["id"] not in self.ids() - {options.get("jobId")}, f"wanted a new job, got {answer} for {options}"
            self.model.jobs[number]["id"] = answer["id"]
        elif wanted[1] in self.model.jobs:
            assert answer["id"] == self.model.jobs[wanted[1]]["id"], f"wanted job {wanted[1]}, got {answer} for {options}"

    def ids(self):
        return {job["id"] for job in self.model.jobs.values() if job["id"] is not None}

    def bulk(self):
        """A batch without keys: all of it or, when the answer never came, all or nothing."""
        first, count = self.number + 1, self.random.randrange(2, 12)
        self.number += count
        jobs = [{"name": "n", "data": {"n": n}, "maxAttempts": 200, "backoff": HOUR} for n in range(first, first + count)]
        doubt = self.model.copy()
        for n in range(first, first + count):
            doubt.add(n, {}, 0, 0)
        answer = self.call(doubt, "PUSHB", queue=self.queue, jobs=jobs)
        assert answer.get("ok") and len(answer["ids"]) == count, f"bulk answered {answer}"
        for n, id_ in zip(range(first, first + count), answer["ids"]):
            self.model.add(n, {}, 0, 0)
            self.model.jobs[n]["id"] = id_

    def pull(self):
        # A pull without an answer leaves a job active or waiting; the restart puts both back, so there is no doubt.
        answer = self.call(self.model, "PULL", queue=self.queue, owner="w", lockTtl=HOUR)
        assert answer["ok"], f"pull answered {answer}"
        if answer.get("job") is None:
            assert not self.model.numbers("waiting"), "nothing to pull, though jobs wait"
            return
        number = answer["job"]["data"]["n"]
        job = self.model.jobs[number]
        assert job["state"] == "waiting" and job["id"] == answer["job"]["id"], f"pulled {answer['job']['id']}: {job}"
        job.update(state="active", token=answer["token"])

    def active(self):
        numbers = self.model.numbers("active")
        return self.random.choice(numbers) if numbers else None

    def finish(self):
        number = self.active()
        if number is None:
            return
        job, doubt = self.model.jobs[number], self.model.copy()
        doubt.finish(number, "completed")
        answer = self.call(doubt, "ACK", id=job["id"], token=job["token"], result={"n": number})
        assert answer["ok"], f"ack answered {answer}"
        self.model.finish(number, "completed")

    def fail(self):
        number = self.active()
        if number is None:
            return
        final = self.random.random() < 0.4
        job, doubt = self.model.jobs[number], self.model.copy()
        change = (lambda model: model.finish(number, "failed")) if final else (lambda model: model.retry(number))
        change(doubt)
        more = {"unrecoverable": True} if final else {}
        answer = self.call(doubt, "FAIL", id=job["id"], token=job["token"], error="as asked", **more)
        assert answer["ok"], f"fail answered {answer}"
        change(self.model)

    def cancel(self):
        numbers = self.model.numbers("waiting", "delayed")
        if not numbers:
            return
        number, doubt = self.random.choice(numbers), self.model.copy()
        doubt.remove(number)
        answer = self.call(doubt, "Cancel", id=self.model.jobs[number]["id"])
        assert answer["ok"], f"cancel answered {answer}"
        self.model.remove(number)

    def release(self):
        held = [text for text, key in self.model.keys.items() if not key.near_end()]
        if not held:
            return
        text, doubt = self.random.choice(held), self.model.copy()
        del doubt.keys[text]
        answer = self.call(doubt, "RemoveDeduplicationKey", queue=self.queue, deduplicationId=text)
        assert answer["data"]["count"] == 1, f"release of {text} answered {answer}"
        del self.model.keys[text]
