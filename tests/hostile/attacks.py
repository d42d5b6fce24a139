#!/usr/bin/env python3
"""What a hostile client does, in a process of its own: `attacks.py NAME PORT`, until its input ends.

Prints `ready` once the attack is in full swing. It goes on after what the broker answers, be it an error or a closed
connection. All of it is bounded in connections, bytes and time, and goes to one port of this machine.
"""
import itertools
import os
import random
import resource
import select
import socket
import struct
import sys
import time

import msgpack

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from hostile import collisions  # noqa: E402
from kit.wire import Wire  # noqa: E402

MIB = 1 << 20
FRAME_BYTES_MAX = 64 * MIB
SECONDS_MAX = 60
END = time.monotonic() + SECONDS_MAX


def frame(payload):
    return struct.pack(">I", len(payload)) + payload


def command(cmd, **fields):
    return frame(msgpack.packb({"cmd": cmd, **fields}, use_bin_type=True))


def connect(port):
    line = socket.create_connection(("127.0.0.1", port), timeout=5)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line


def going_on():
    """Until the one who started this closes its end."""
    return time.monotonic() < END and not select.select([sys.stdin], [], [], 0)[0]


def ready():
    print("ready", flush=True)


def wait():
    ready()
    while going_on():
        time.sleep(0.02)


class Line:
    """A connection that is made anew when the broker closes it, and whose answers are read and dropped."""

    def __init__(self, port):
        self.port, self.socket = port, connect(port)

    def send(self, data):
        """Sends, while answers are read away. False when the connection was closed and made anew."""
        self.socket.setblocking(False)
        view = memoryview(data)
        while view:
            readable, writable, _ = select.select([self.socket], [self.socket], [], 5)
            try:
                if readable and not self.socket.recv(MIB):
                    raise ConnectionError("closed")
                if writable:
                    view = view[self.socket.send(view[:MIB]):]
            except BlockingIOError:
                continue
            except OSError:
                self.socket.close()
                self.socket = connect(self.port)
                return False
        return True

    def drain(self, seconds=0.0):
        """Reads what is there. Whether anything came."""
        came = False
        while select.select([self.socket], [], [], seconds)[0]:
            try:
                if not self.socket.recv(MIB):
                    raise ConnectionError("closed")
            except OSError:
                self.socket.close()
                self.socket = connect(self.port)
            came, seconds = True, 0.0
        return came


def flood(port, frames, lines=2, pause=0.0):
    """Sends the frames over and over, each once its line has been answered."""
    own = [Line(port) for _ in range(lines)]
    for number, data in enumerate(itertools.cycle(frames)):
        if number == 1:
            ready()
        line = own[number % lines]
        if line.send(data):
            line.drain(0.001)
        time.sleep(pause)
        if not going_on():
            return


def cut_frames(port):
    """frames cut at every length, and the connection closed behind them"""
    whole = command("PUSH", queue="cut", data={"pad": "x" * 300}, uniqueKey="k", reqId="1")
    ready()
    for length in itertools.cycle(range(1, len(whole))):
        with connect(port) as line:
            line.sendall(whole[:length])
        if not going_on():
            return


def length_lies(port):
    """lengths that lie: of the frame, and of texts, lists and maps in it"""
    lies = [b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\xc9\xff\xff\xff\xff\x00"]
    inside = [b"\x83\xa3cmd\xa4PUSH\xa5queue\xa3lie\xa4data" + lie for lie in lies]
    lists = [b"\x83\xa3cmd\xa5PUSHB\xa5queue\xa3lie\xa4jobs" + lie + b"\x80" * 60_000 for lie in lies[:2]]
    own = [connect(port) for _ in range(50)]
    for line in own:
        line.sendall(struct.pack(">I", FRAME_BYTES_MAX) + b"\x82")
    flood(port, [frame(lie) * 200 for lie in lies + inside] + [frame(lie) * 4 for lie in lists], lines=4)


def deep_and_wide(port):
    """nesting of 10,000, and maps of a million entries"""
    head = b"\x83\xa3cmd\xa4PUSH\xa5queue\xa4deep\xa4data"
    deep = [head + start * 10_000 + b"\xc0" for start in (b"\x91", b"\x81\xa1k", b"\xdd\x00\x00\x00\x01")]
    at_limit = [head + start * 60 + b"\xc0" for start in (b"\x91", b"\x81\xa1k")]
    entries = b"".join(msgpack.packb(number) + b"\xc0" for number in range(500_000))
    wide = [head + b"\xdf" + struct.pack(">I", 500_000) + entries, b"\xdf" + struct.pack(">I", 500_000) + entries]
    hashed = b"\x84\xa3cmd\xa4PUSH\xa5queue\xa4deep\xa5dedup\x81\xa4hash\xc3\xa4data" + wide[0][len(head):]
    obliterate = command("Obliterate", queue="deep")
    flood(port, [frame(one) * 20 for one in deep + at_limit] + [frame(one) for one in [*wide, hashed]] + [obliterate], lines=4)


def collision_keys(port):
    """keys, ids and queues that collide under an unkeyed hash"""
    keys = collisions.texts()
    name = random.randrange(1 << 32)

    def batch(field):
        jobs = [{"data": None, field: next(keys), "delay": 3_600_000} for _ in range(1_000)]
        return command("PUSHB", queue=f"collide-{name}", jobs=jobs)

    frames = (batch(field) for field in itertools.cycle(["uniqueKey", "customId"]))
    line = Line(port)
    for number, data in enumerate(frames):
        line.send(data)
        line.drain(1)
        if number == 4:
            ready()
        if number > 40:
            time.sleep(0.02)
        if not going_on():
            return


def large_frames(port):
    """four clients that send frames of 63 MiB: one text, many small values, ten large jobs"""
    head = b"\x83\xa3cmd\xa4PUSH\xa5queue\xa5large\xa4data"
    size = 63 * MIB
    text = head + b"\xdb" + struct.pack(">I", size) + b"x" * size
    values = head + b"\xdd" + struct.pack(">I", size) + b"\x01" * size
    job = b"\x81\xa4data\xdb" + struct.pack(">I", 6 * MIB) + b"y" * (6 * MIB)
    jobs = b"\x83\xa3cmd\xa5PUSHB\xa5queue\xa5large\xa4jobs\x9a" + job * 10
    flood(port, [frame(text), frame(values), frame(jobs), command("Obliterate", queue="large")], lines=4)


def large_batches(port):
    """batches of as many jobs as a frame may hold"""
    jobs = b"\x83\xa3cmd\xa5PUSHB\xa5queue\xa5batch\xa4jobs\xdd" + struct.pack(">I", 100_000) + b"\x80" * 100_000
    line = Line(port)
    ready()
    while going_on():
        line.send(frame(jobs))
        line.drain(5)
        line.send(command("Obliterate", queue="batch"))
        line.drain(5)


def taken_jobs(port):
    """connections that take 20,000 jobs and end"""
    jobs = b"\x83\xa3cmd\xa5PUSHB\xa5queue\xa5taken\xa4jobs\xdd" + struct.pack(">I", 20_000) + b"\x80" * 20_000
    line = Line(port)
    line.send(frame(jobs))
    line.drain(5)
    ready()
    while going_on():
        with connect(port) as taker:
            for _ in range(200):
                taker.sendall(command("PULLB", queue="taken", count=100, timeout=0))
                size = struct.unpack(">I", taker.recv(4, socket.MSG_WAITALL))[0]
                taker.recv(size, socket.MSG_WAITALL)


def large_acks(port):
    """20,000 jobs that are acknowledged at once"""
    with Wire(port, timeout=60) as wire:
        for number in itertools.count():
            wire.call("PUSHB", queue="acked", jobs=[{}] * 20_000)
            taken = [wire.call("PULLB", queue="acked", count=1_000, timeout=0, owner="w") for _ in range(20)]
            if number == 0:
                ready()
            ids = [job["id"] for part in taken for job in part["jobs"]]
            done = wire.call("ACKB", ids=ids, tokens=[token for part in taken for token in part["tokens"]])
            assert done["ok"] and len(ids) == 20_000, done
            if not going_on():
                return


def large_answers(port):
    """questions for everything there is, again and again"""
    line = Line(port)
    for _ in range(20):
        line.send(command("PUSHB", queue="asked", jobs=[{"data": "x" * 200}] * 1_000))
        line.drain(5)
    asks = [command(cmd, queue="asked", limit=1 << 40, count=1 << 40) for cmd in ("GetJobs", "ListDeduplicationKeys", "Dlq")]
    flood(port, asks, lines=4)


def silent(port):
    """1,024 connections that send nothing"""
    own = [connect(port) for _ in range(1_024)]
    wait()
    del own


def never_reads(port):
    """a client that asks and never reads"""
    with connect(port) as line:
        line.sendall(command("PUSH", queue="unread", data="x" * MIB, jobId="unread", delay=3_600_000))
        line.recv(100)
    own, ask = [], command("GetJob", id="unread")
    ready()
    while going_on():
        if len(own) < 4:
            own.append(connect(port))
            own[-1].setblocking(False)
        for line in list(own):
            try:
                line.send(ask * 10)
            except BlockingIOError:
                pass
            except OSError:
                own.remove(line)
        time.sleep(0.01)


def slowloris(port):
    """300 connections that send a byte at a time"""
    own = [connect(port) for _ in range(300)]
    data = command("PUSH", queue="slow", data={"pad": "x" * 100_000})
    ready()
    for at in itertools.cycle(range(len(data) - 1)):
        for line in own:
            try:
                line.send(data[at:at + 1])
            except OSError:
                pass
        time.sleep(0.1)
        if not going_on():
            return


def unfinished(port):
    """200 connections that send most of a frame of 63 MiB and stop"""
    part = b"x" * (20 * MIB)
    own = []
    for _ in range(200):
        line = connect(port)
        line.settimeout(0.2)
        try:
            line.sendall(struct.pack(">I", 63 * MIB) + part)
        except OSError:
            pass
        own.append(line)
        if len(own) == 20:
            ready()
        if not going_on():
            return
    while going_on():
        time.sleep(0.02)


def parked_pulls(port):
    """100,000 pulls that wait for a job"""
    own = [connect(port) for _ in range(100)]
    for number, line in enumerate(own):
        line.sendall(b"".join(command("PULL", queue=f"parked-{number % 7}", timeout=30_000, reqId=str(at)) for at in range(1_000)))
        if number == 20:
            ready()
    while going_on():
        time.sleep(0.02)


def main():
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(4096, hard)), hard))
    # What an attack takes of the processor on its own machine is not the broker's to bound.
    os.nice(19)
    globals()[sys.argv[1]](int(sys.argv[2]))


if __name__ == "__main__":
    main()
