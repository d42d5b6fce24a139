#!/usr/bin/env python3
"""What a broker does with bytes and commands it cannot use: an answer that says why, and it goes on serving.

One broker serves all checks, so whatever one of them broke shows in the next.
"""
import os
import resource
import struct
import sys
import threading
import time

import msgpack

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import Broker  # noqa: E402
from kit.checks import Checks, contains, same, until  # noqa: E402
from kit.wire import Gone, Wire  # noqa: E402

checks = Checks("bad input")
FRAME_BYTES_MAX = 64 * 1024 * 1024
INVALID_FORMAT, INVALID = "Invalid command format", "Invalid command"


def healthy(broker, seconds=2.0):
    """The broker answers a newcomer in time."""
    began = time.monotonic()
    with broker.connect(timeout=seconds) as wire:
        assert wire.call("Ping")["data"]["pong"] is True
    assert broker.alive(), f"the broker ended: {broker.tail()}"
    return time.monotonic() - began


def total(broker, queue):
    with broker.connect() as wire:
        return sum(wire.call("GetJobCounts", queue=queue)["counts"].values())


def answer_to(broker, payload):
    """The answer to one frame, after which the same connection must still work."""
    with broker.connect() as wire:
        wire.frame(payload)
        answer = wire.message()
        assert wire.call("Ping")["ok"], "the connection does not work any more"
        return answer


@checks
def frames_that_are_no_message(broker):
    """a frame that is not one MessagePack value is answered with: Invalid command format"""
    whole = msgpack.packb({"cmd": "Ping"})
    broken = [
        b"", b"\xc1", whole[:-1], whole + b"\x00", b"\xff\xfe garbage", b"\x81", b"\xdb\x00\x00\x00\x05ab", b"\xc0", b"\x00", b"\xc2",
        b"\xa0", b"\x81\xc4\x01a\x01", b"\xdd\xff\xff\xff\xff", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff",
    ]
    for payload in broken:
        same((payload, answer_to(broker, payload)), (payload, {"ok": False, "error": INVALID_FORMAT}))


@checks
def messages_that_are_no_command(broker):
    """a message without a command is answered with: Invalid command, and with its reqId"""
    for value in [7, "text", [1, 2], True, {}, {"reqId": "a"}, {"cmd": None, "reqId": "a"}, {"cmd": "", "reqId": "a"}]:
        wanted = {"ok": False, "error": INVALID}
        if isinstance(value, dict) and "reqId" in value:
            wanted["reqId"] = "a"
        same((value, answer_to(broker, msgpack.packb(value))), (value, wanted))


@checks
def unknown_commands(broker):
    """an unknown command is answered by name"""
    with broker.connect() as wire:
        for name in ["Nonsense", "push", "PUSH ", "Crons", "x" * 1000, "数据"]:
            answer = wire.call(name, queue="q")
            same((answer["ok"], answer["error"]), (False, f"Unknown command: {name}"))


@checks
def nesting(broker):
    """a message nested a hundred thousand deep is refused without harm"""
    for start in (b"\x91", b"\x81\xa1k"):
        answer = answer_to(broker, b"\x82\xa3cmd\xa4PUSH\xa4data" + start * 100_000 + b"\xc0")
        same(answer["ok"], False)
    healthy(broker)


@checks
def oversized_frames(broker):
    """a frame over 64 MiB is refused by its header, the connection is closed, no memory is taken"""
    before = broker.memory_mib()
    for size in [FRAME_BYTES_MAX + 1, 0xFFFFFFFF, struct.unpack(">I", b"GET ")[0]]:
        with broker.connect() as wire:
            wire.raw(struct.pack(">I", size) + b"x" * 100)
            same(wire.message(), {"ok": False, "error": f"Frame too large: {size} bytes exceeds maximum {FRAME_BYTES_MAX}"})
            try:
                wire.message()
                raise AssertionError("the connection stays open")
            except Gone:
                pass
    assert broker.memory_mib() - before < 20, "memory was taken for a refused frame"
    healthy(broker)


@checks
def announced_but_never_sent(broker):
    """frames that are announced and never sent take no memory"""
    before = broker.memory_mib()
    wires = [broker.connect() for _ in range(50)]
    for wire in wires:
        wire.raw(struct.pack(">I", FRAME_BYTES_MAX) + b"\x82")
    healthy(broker)
    assert broker.memory_mib() - before < 50, "memory was taken for frames that did not come"
    for wire in wires:
        wire.close()


@checks
def chopped_and_glued(broker):
    """frames that arrive byte by byte, or many in one piece, are all answered"""
    frame = msgpack.packb({"cmd": "Ping", "reqId": "p"})
    data = struct.pack(">I", len(frame)) + frame
    with broker.connect() as wire:
        for byte in data:
            wire.raw(bytes([byte]))
        same(wire.message()["reqId"], "p")
        wire.raw(data * 500)
        same({wire.message()["reqId"] for _ in range(500)}, {"p"})


@checks
def gone_in_the_middle(broker):
    """a client that leaves in the middle of a frame, or with commands in flight, harms nobody"""
    for _ in range(50):
        wire = broker.connect()
        wire.raw(struct.pack(">I", 5000) + b"\x81")
        wire.close()
        wire = broker.connect()
        for _ in range(100):
            wire.send({"cmd": "PUSH", "queue": "left", "data": {}})
        wire.send({"cmd": "PULL", "queue": "none", "timeout": 60_000})
        wire.close()
    healthy(broker)


@checks
def wrong_types(broker):
    """fields of a wrong type or range are named, and the add leaves nothing behind"""
    table = [
        ({"queue": None}, "Queue name is required"),
        ({"queue": ""}, "Queue name is required"),
        ({"queue": "q" * 257}, "Queue name too long (max 256 characters)"),
        ({"queue": "a b"}, "Queue name contains invalid characters"),
        ({"queue": "../etc"}, "Queue name contains invalid characters"),
        ({"priority": "high"}, "priority must be a number"),
        ({"priority": 1.5}, "priority must be an integer"),
        ({"priority": 2_000_000}, "priority must be at most 1000000"),
        ({"delay": -1}, "delay must be at least 0"),
        ({"delay": float("nan")}, "delay must be a finite number"),
        ({"delay": 1e12}, "delay must be at most 31536000000"),
        ({"maxAttempts": 0}, "maxAttempts must be at least 1"),
        ({"timeout": []}, "timeout must be a number"),
        ({"backoff": {"type": "cubic", "delay": 1}}, "backoff.type must be 'fixed' or 'exponential'"),
        ({"backoff": {"type": "fixed"}}, "backoff.delay is required"),
        ({"dependsOn": ["nobody"]}, "Dependency job not found: nobody"),
        ({"uniqueKey": ["k"]}, "uniqueKey must be a string"),
        ({"uniqueKey": "k", "dedup": "yes"}, "dedup must be an object"),
        ({"uniqueKey": "k", "dedup": {"ttl": -1}}, "dedup.ttl must be"),
        ({"uniqueKey": "k", "dedup": {"extend": 1}}, "dedup.extend must be a boolean"),
        ({"dedup": {"ttl": 1000}}, "Deduplication requires either hash: true or a custom key"),
    ]
    with broker.connect() as wire:
        for fields, text in table:
            answer = wire.call("PUSH", **{"queue": "typed", "data": {}, **fields})
            same((fields, answer["ok"]), (fields, False))
            contains(answer["error"], text)
            bulk = {key: value for key, value in fields.items() if key != "queue"}
            if bulk:
                answer = wire.call("PUSHB", queue="typed", jobs=[{"data": {}}, {"data": {}, **bulk}])
                same((fields, answer["ok"]), (fields, False))
                contains(answer["error"], "jobs[1]: ", text)
        for cmd, fields in [("ACK", {}), ("ACK", {"id": 7}), ("PULL", {}), ("PULLB", {"queue": "typed", "count": 5000}), ("PUSHB", {"queue": "typed"})]:
            answer = wire.call(cmd, **fields)
            assert answer["ok"] is False and answer["error"], f"{cmd} {fields} answered {answer}"
            assert "undefined" not in answer["error"] and "panic" not in answer["error"], answer["error"]
    same(total(broker, "typed"), 0)


@checks
def texts_that_are_not_utf8(broker):
    """a job id that is not valid UTF-8 is refused, so that two broken ids never become one"""
    for broken in (b"\xff", b"\xc3\x28", b"\xed\xa0\x80"):
        answer = answer_to(broker, b"\x84\xa3cmd\xa4PUSH\xa5queue\xa4utf8\xa5jobId" + bytes([0xA0 + len(broken)]) + broken + b"\xa5reqId\xa1r")
        same((broken, answer["ok"]), (broken, False))
    same(total(broker, "utf8"), 0)


@checks
def numbers_of_every_kind(broker):
    """every numeric encoding of an option is accepted: 64-bit integers, floats, small integers"""
    with broker.connect() as wire:
        for ttl in (5000, 5000.0, 2**33, float(2**33)):
            answer = wire.call("PUSH", queue="numbers", data={"big": 2**53 + 1}, uniqueKey=f"k{ttl}{type(ttl)}", dedup={"ttl": ttl})
            same(answer["ok"], True)
        same(wire.call("GetJob", id=answer["id"])["job"]["data"]["big"], 2**53 + 1)


@checks
def wrong_token(broker):
    """a lock token that is not the delivery's does not finish the job"""
    with broker.connect() as wire:
        id_ = wire.call("PUSH", queue="token", data={})["id"]
        token = wire.call("PULL", queue="token", owner="w")["token"]
        same(wire.call("ACK", id=id_, token="no")["ok"], False)
        same(wire.call("GetState", id=id_)["state"], "active")
        same(wire.call("ACK", id=id_, token=token)["ok"], True)
        same(wire.call("ACK", id=id_, token=token)["ok"], False)


@checks
def full_inbox(broker):
    """a client that sends without reading is slowed down or cut off; others are served, what was accepted is whole"""
    sent = bytearray()
    frame = msgpack.packb({"cmd": "PUSH", "queue": "flood", "data": {"pad": "x" * 8000}})
    data = (struct.pack(">I", len(frame)) + frame) * 64
    stop = threading.Event()

    def flood():
        wire = Wire(broker.port)
        wire.socket.settimeout(1.0)
        end = time.monotonic() + 6
        try:
            while not stop.is_set() and time.monotonic() < end and len(sent) < 200:
                wire.socket.sendall(data)
                sent.append(1)
        except OSError:
            pass
        stop.wait(10)
        wire.close()

    threads = [threading.Thread(target=flood, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    slowest = 0.0
    for _ in range(40):
        slowest = max(slowest, healthy(broker, seconds=5.0))
        time.sleep(0.1)
    stop.set()
    for thread in threads:
        thread.join(20)
    assert slowest < 2.0, f"a newcomer waited {slowest:.1f} s"
    assert sent, "nothing could be sent"
    assert broker.memory_mib() < 1_500, f"{broker.memory_mib():.0f} MiB in use"
    with broker.connect() as wire:
        job = wire.call("GetJobs", queue="flood", limit=1)["jobs"][0]
        same(len(job["data"]["pad"]), 8000)
        same(wire.call("Obliterate", queue="flood")["ok"], True)


@checks
def slow_reader(broker):
    """a client that asks for much and reads nothing is cut off or held; others are served"""
    with broker.connect() as wire:
        wire.call("PUSH", queue="slow", data={"pad": "x" * 1_000_000})
        id_ = wire.call("GetJobs", queue="slow", limit=1)["jobs"][0]["id"]
        wire.socket.settimeout(0.5)
        try:
            for number in range(300):
                wire.send({"cmd": "GetJob", "id": id_, "n": number})
        except (Gone, TimeoutError):
            pass
        time.sleep(1)
        healthy(broker)
        assert broker.memory_mib() < 1_500, f"{broker.memory_mib():.0f} MiB in use"


@checks
def many_connections(broker):
    """more than a thousand connections are served, and there is room again afterwards; the bound is tested in bad-start"""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 4096:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    wires = [broker.connect(timeout=5) for _ in range(1500)]
    assert all(wire.call("Ping")["ok"] for wire in wires)
    for wire in wires:
        wire.close()
    until("there is room again", lambda: room(broker))


def room(broker):
    try:
        return healthy(broker) is not None
    except (Gone, OSError, AssertionError):
        return False


@checks
def still_whole(broker):
    """after all this the broker works, and what it kept is whole after a restart"""
    with broker.connect() as wire:
        id_ = wire.call("PUSH", queue="whole", data={"n": 1}, uniqueKey="k", dedup={"ttl": 60_000})["id"]
    same(broker.stop(), 0)
    broker.start()
    with broker.connect() as wire:
        same(wire.call("GetJob", id=id_)["job"]["data"], {"n": 1})
        same(wire.call("PUSH", queue="whole", data={}, uniqueKey="k", dedup={"ttl": 60_000})["id"], id_)


if __name__ == "__main__":
    with Broker() as the_broker:
        sys.exit(checks.run(the_broker))
