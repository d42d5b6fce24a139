#!/usr/bin/env python3
"""What a running broker does when its file misbehaves: a clear error, nothing acknowledged lost, and no restart needed.

Runs in a mount namespace of its own, because a full disk is a small file system in memory here.
"""
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import Broker  # noqa: E402
from kit.checks import Checks, contains, same, until  # noqa: E402

checks = Checks("storage")
INSIDE = "ONCEOVER_IN_NAMESPACE"
# The store waits this long for another program's lock.
BUSY_WAIT_S = 5


class Folder:
    """A folder that is gone afterwards, with a data folder in it."""

    def __enter__(self):
        self.path = tempfile.mkdtemp(prefix="onceover-storage-")
        self.data = os.path.join(self.path, "data")
        os.mkdir(self.data)
        return self

    def __exit__(self, *_):
        subprocess.run(["umount", "-q", self.data], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.path, ignore_errors=True)

    @property
    def file(self):
        return os.path.join(self.data, "onceover.db")


def add(broker, count=1, pad=10):
    """The ids of acknowledged adds, or the error of the first that is refused."""
    with broker.connect() as wire:
        ids = []
        for _ in range(count):
            answer = wire.call("PUSH", queue="q", data={"pad": "x" * pad})
            if not answer["ok"]:
                return ids, answer["error"]
            ids.append(answer["id"])
        return ids, None


def accepted(broker, count=1, pad=10):
    ids, error = add(broker, count, pad)
    same(error, None)
    return ids


def refused(broker, *parts):
    ids, error = add(broker)
    same(ids, [])
    contains(error, "storage error", *parts)


def overview(broker):
    return broker.rpc({"type": "overview"})


def expect(broker, ids):
    """Every one of these jobs is there."""
    with broker.connect() as wire:
        states = list(wire.many({"cmd": "GetState", "id": id_} for id_ in ids))
    lost = [id_ for id_, state in zip(ids, states) if state.get("state") != "waiting"]
    same((len(lost), lost[:3]), (0, []))


def expect_after_kill(broker, ids):
    """They are also there for whoever starts next."""
    broker.kill()
    broker.start()
    expect(broker, ids)


def expect_trouble(broker, *parts):
    """The window shows the error that clients get."""
    trouble = until("the window tells", lambda: overview(broker)["storageTrouble"])
    contains(trouble, *parts)


def expect_no_trouble(broker):
    until("the window tells that it is over", lambda: overview(broker)["storageTrouble"] is None)


def told(broker, part):
    return until(f"a notice about '{part}'", lambda: any(part in notice["text"] for notice in overview(broker)["notices"]))


@checks
def full_disk():
    """a full disk refuses adds with its error, loses nothing, and goes on without a restart once there is room"""
    with Folder() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", folder.data], check=True)
        ballast = os.path.join(folder.data, "ballast")
        with open(ballast, "wb") as file:
            file.write(b"\0" * 3_000_000)
        with Broker(data=folder.data) as broker:
            ids, error = add(broker, 5000, 2000)
            contains(error, "storage error", "disk is full", "free some space")
            assert ids, "nothing was accepted before the disk was full"
            expect_trouble(broker, "disk is full")
            expect(broker, ids)
            os.remove(ballast)
            ids += accepted(broker, 50, 2000)
            expect_no_trouble(broker)
            told(broker, "can be written again")
            expect_after_kill(broker, ids)


@checks
def full_disk_with_nobody_there():
    """that there is room again is noticed even when nobody asks for anything"""
    with Folder() as folder:
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", folder.data], check=True)
        with Broker(data=folder.data) as broker:
            with open(os.path.join(folder.data, "ballast"), "wb", buffering=0) as file:
                try:
                    while True:
                        file.write(b"\0" * 4096)
                except OSError:
                    pass
            ids, error = add(broker, 500, 2000)
            contains(error, "disk is full")
            os.remove(file.name)
            until("it is over", lambda: overview(broker)["storageTrouble"] is None, 20)
            expect_after_kill(broker, ids)


def holding(path, seconds):
    """Keeps the file locked for a while, from another connection."""
    locked = threading.Event()

    def hold():
        tool = sqlite3.connect(path, isolation_level=None, timeout=10)
        tool.execute("BEGIN EXCLUSIVE")
        locked.set()
        time.sleep(seconds)
        tool.execute("ROLLBACK")
        tool.close()

    thread = threading.Thread(target=hold)
    thread.start()
    assert locked.wait(15), "the file could not be locked"
    return thread


@checks
def locked_for_a_moment():
    """a file that another program locks for a moment makes an add wait, not fail"""
    with Folder() as folder, Broker(data=folder.data) as broker:
        accepted(broker)
        tool = holding(folder.file, 1.5)
        began = time.monotonic()
        ids = accepted(broker)
        assert time.monotonic() - began > 1, "the add did not wait"
        tool.join()
        expect_after_kill(broker, ids)


@checks
def locked_for_long():
    """a file that stays locked refuses adds with what to do, and goes on afterwards"""
    with Folder() as folder, Broker(data=folder.data) as broker:
        ids = accepted(broker, 5)
        tool = holding(folder.file, BUSY_WAIT_S + 3)
        refused(broker, "another program keeps it locked")
        expect_trouble(broker, "another program keeps it locked")
        tool.join()
        ids += accepted(broker, 5)
        expect_no_trouble(broker)
        expect_after_kill(broker, ids)


@checks
def deleted():
    """a data file that is deleted is written anew, adds of the meantime included, and the window tells"""
    for harm in (lambda folder: os.remove(folder.file), lambda folder: shutil.rmtree(folder.data)):
        with Folder() as folder, Broker(data=folder.data) as broker:
            ids = accepted(broker, 20)
            harm(folder)
            ids += accepted(broker, 20)
            told(broker, "written anew")
            ids += accepted(broker, 20)
            expect_after_kill(broker, ids)


@checks
def deleted_while_idle():
    """the same when no client asks for anything afterwards"""
    with Folder() as folder, Broker(data=folder.data) as broker:
        ids = accepted(broker, 20)
        shutil.rmtree(folder.data)
        until("the file is there again", lambda: os.path.exists(folder.file))
        told(broker, "written anew")
        expect_after_kill(broker, ids)


@checks
def deleted_and_stopped():
    """the same when the broker is stopped before it has noticed"""
    with Folder() as folder, Broker(data=folder.data) as broker:
        ids = accepted(broker, 20)
        shutil.rmtree(folder.data)
        same(broker.stop(), 0)
        broker.start()
        expect(broker, ids)


@checks
def log_deleted():
    """a write-ahead log that is deleted is begun anew, and nothing in it is lost"""
    with Folder() as folder, Broker(data=folder.data) as broker:
        ids = accepted(broker, 20)
        os.remove(folder.file + "-wal")
        told(broker, "was deleted while the broker ran")
        ids += accepted(broker, 20)
        expect_after_kill(broker, ids)


@checks
def renamed():
    """a renamed data folder refuses adds until it has its name back, without a restart"""
    with Folder() as folder, Broker(data=folder.data) as broker:
        ids = accepted(broker, 20)
        away = folder.data + "-away"
        os.rename(folder.data, away)
        expect_trouble(broker, "moved or renamed")
        refused(broker, "moved or renamed")
        expect(broker, ids)
        os.rename(away, folder.data)
        ids += accepted(broker, 20)
        expect_no_trouble(broker)
        expect_after_kill(broker, ids)


@checks
def replaced():
    """another file in the place of the data file is never touched; what the broker holds is kept beside it at the end"""
    with Folder() as folder, Broker(data=folder.data) as broker:
        ids = accepted(broker, 20)
        other = os.path.join(folder.path, "other")
        with open(other, "w", encoding="utf-8") as file:
            file.write("dear diary")
        os.replace(other, folder.file)
        expect_trouble(broker, "replaced by another file")
        refused(broker, "replaced by another file")
        same(broker.stop(), 0)
        with open(folder.file, encoding="utf-8") as file:
            same(file.read(), "dear diary")
        for name in os.listdir(folder.data):
            if not name.endswith(".kept"):
                os.remove(os.path.join(folder.data, name))
        os.rename(folder.file + ".kept", folder.file)
        broker.start()
        expect(broker, ids)


@checks
def log_cut_or_garbled():
    """of a cut or garbled write-ahead log exactly the first commits are there, and the broker goes on"""

    def cut(path, size):
        os.truncate(path, size * 6 // 10)

    def garble(path, size):
        with open(path, "r+b") as file:
            file.seek(size * 6 // 10)
            file.write(os.urandom(size - size * 6 // 10))

    for harm in (cut, garble):
        with Folder() as folder, Broker(data=folder.data) as broker:
            ids = accepted(broker, 60)
            broker.kill()
            log = folder.file + "-wal"
            harm(log, os.path.getsize(log))
            broker.start()
            with broker.connect() as wire:
                states = [wire.call("GetState", id=id_).get("state") for id_ in ids]
            whole = states.index("unknown") if "unknown" in states else len(states)
            same(set(states[:whole]), {"waiting"})
            same(set(states[whole:]), {"unknown"})
            assert 20 < whole < 60, f"{whole} of 60 are there"
            expect_after_kill(broker, ids[:whole] + accepted(broker, 20))


@checks
def damaged_page():
    """a damaged page is refused at the start with what to do, or is not in use: never a job less without a word"""
    with Folder() as folder, Broker(data=folder.data) as broker:
        ids = accepted(broker, 300, 300)
        same(broker.stop(), 0)
        whole = folder.file + ".whole"
        shutil.copy(folder.file, whole)
        pages, told_of = os.path.getsize(whole) // 4096, 0
        for page in range(1, pages, max(1, pages // 12)):
            shutil.copy(whole, folder.file)
            with open(folder.file, "r+b") as file:
                file.seek(page * 4096)
                file.write(b"\xde\xad" * 2048)
            try:
                broker.start()
            except AssertionError:
                until("it says why", lambda: "onceover.db" in broker.tail() and "backup" in broker.tail())
                told_of += 1
                continue
            expect(broker, ids)
            broker.kill()
        assert told_of > 3, "hardly a page is in use"


@checks
def unreadable_row():
    """a row that cannot be read is set aside and told of; everything else goes on, and it can be put back"""
    with Folder() as folder, Broker(data=folder.data) as broker:
        ids = accepted(broker, 10)
        with broker.connect() as wire:
            wire.call("PUSH", queue="q", data={}, jobId="bad", uniqueKey="bad-key")
            held = wire.call("PUSH", queue="q", data={}, jobId="bad-with-window", uniqueKey="held", dedup={"ttl": 3_600_000})["id"]
        same(broker.stop(), 0)
        with sqlite3.connect(folder.file) as tool:
            tool.execute("UPDATE jobs SET spec = '{' || spec WHERE id = 'bad'")
            tool.execute("UPDATE jobs SET payload_fingerprint = 'none' WHERE id = 'bad-with-window'")
        tool.close()
        for start in (1, 2):
            broker.start()
            expect(broker, ids)
            with broker.connect() as wire:
                same(wire.call("GetState", id="bad")["state"], "unknown")
                # The window of a key is a promise of its own; a key that only its owner kept alive went with it.
                same(wire.call("PUSH", queue="q", data={}, uniqueKey="held")["id"], held)
                same(wire.call("GetDeduplicationJobId", queue="q", deduplicationId="bad-key")["data"]["jobId"], None)
            if start == 1:
                told(broker, "went into its table set_aside")
                until("the log tells", lambda: "set aside, because it cannot be read: table jobs" in broker.tail())
            ids += accepted(broker, 1)
            same(broker.stop(), 0)
        with sqlite3.connect(folder.file) as tool:
            for (statement,) in tool.execute("SELECT statement FROM set_aside ORDER BY number").fetchall():
                tool.execute(statement)
            tool.execute("UPDATE jobs SET spec = substr(spec, 2) WHERE id = 'bad'")
            tool.execute("UPDATE jobs SET payload_fingerprint = 0 WHERE id = 'bad-with-window'")
            tool.execute("DELETE FROM set_aside")
        tool.close()
        broker.start()
        expect(broker, ids + ["bad", held])
        same(overview(broker)["notices"], [])


def main():
    if INSIDE not in os.environ:
        os.environ[INSIDE] = "1"
        rights = "-m" if os.geteuid() == 0 else "-rm"
        os.execvp("unshare", ["unshare", rights, sys.executable, *sys.argv])
    sys.exit(checks.run())


if __name__ == "__main__":
    main()
