"""What the checks of the Python client share: queues and workers that remember which of their methods were used."""
import inspect
import os
import sys
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from bunqueue import CommandError, Job, Queue, Worker
from kit.broker import Broker
from kit.checks import Checks, same, until

__all__ = ["broker", "checks", "connect", "differs", "fresh", "pull", "refused", "same", "unused", "until", "work"]

checks = Checks("python")
broker = Broker()
USED = set()


class Spied:
    """Passes everything on to an object of the client, and notes each name that a check asks for.

    Methods run on the object itself, so what the client calls on its own behalf is not taken for something checked.
    """

    def __init__(self, target):
        self.__dict__["_target"] = target

    def __getattr__(self, name):
        USED.add(f"{type(self._target).__name__}.{name}")
        return getattr(self._target, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._target.close()


def public(*classes):
    """Every method and property that the client offers, as `Class.name`."""
    names = set()
    for kind in classes:
        for name, value in inspect.getmembers(kind):
            if not name.startswith("_") and (callable(value) or isinstance(value, property)):
                names.add(f"{kind.__name__}.{name}")
    return names


def unused():
    return sorted(public(Queue, Worker, Job) - USED)


def fresh(word):
    return f"{word}-{uuid.uuid4().hex[:8]}"


def connect(name=None):
    return Spied(Queue(name or fresh("py"), host="127.0.0.1", port=broker.port))


def work(queue, processor, **options):
    """A worker with one job at a time; the processor is given a job that remembers its methods, too."""
    options = {"concurrency": 1, "poll_timeout_ms": 300, **options}
    return Spied(Worker(queue.name, lambda job: processor(Spied(job)), host="127.0.0.1", port=broker.port, **options))


def pull(queue, owner="py-by-hand", **fields):
    """Takes the next job by hand: the job, and the token of its lock."""
    reply = queue.connection.call({"cmd": "PULL", "queue": queue.name, "owner": owner, **fields})
    job = reply.get("job")
    return (Spied(Job(job, queue.connection, reply.get("token"))), reply.get("token")) if job else (None, None)


def differs(got, other):
    assert got != other, f"both are {got!r}"


def refused(text, action):
    try:
        action()
    except CommandError as error:
        assert text in str(error), f"refused with {error}"
        return
    raise AssertionError("was not refused")
