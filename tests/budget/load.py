#!/usr/bin/env python3
"""Adds at a steady rate over several connections: `load.py PORT RATE SECONDS CONNECTIONS`; rate 0 = as fast as answers come.

Every frame is made before the clock starts, in one process without threads, so that the generator costs little of the machine
that it shares with what it measures. Prints one line of JSON: how many adds were answered with `ok`, in how many seconds, and
how long answers took, counted from the moment an add was due: a broker that falls behind cannot hide it.
"""
import json
import selectors
import socket
import struct
import sys
import time

import msgpack

BURST_S = 0.005
# Requests in flight on a connection when the rate is not given.
WINDOW = 32
OK = msgpack.packb({"ok": True})[1:]


def frame(number):
    """Half of the adds have one of 500 keys, so most of these are absorbed; the others are new jobs."""
    add = {"cmd": "PUSH", "queue": f"load-{number % 5}", "name": "task", "data": {"n": number, "pad": "x" * 80}, "reqId": str(number)}
    if number % 2:
        add |= {"uniqueKey": f"user-{number % 1000}", "dedup": {"ttl": 60_000}}
    payload = msgpack.packb(add, use_bin_type=True)
    return struct.pack(">I", len(payload)) + payload


class Line:
    """A connection: what it still has to send, and when the adds in flight were due. Answers come in the order of requests."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.out, self.into, self.due, self.at = bytearray(), bytearray(), [], 0

    def send(self, frames, due):
        for one in frames:
            self.out += one
            self.due.append(due)
        self.flush()

    def flush(self):
        while self.out:
            try:
                sent = self.socket.send(self.out)
            except BlockingIOError:
                return
            del self.out[:sent]

    def receive(self, took):
        """Takes the answers that are there."""
        try:
            self.into += self.socket.recv(1 << 18)
        except BlockingIOError:
            return
        now, place, ready = time.perf_counter(), 0, len(self.into)
        while ready - place >= 4:
            (size,) = struct.unpack_from(">I", self.into, place)
            if ready - place < 4 + size:
                break
            assert OK in self.into[place + 4:place + 4 + size], f"refused: {bytes(self.into[place + 4:place + 4 + size])!r}"
            took.append(now - self.due[self.at])
            self.at += 1
            place += 4 + size
        del self.into[:place]

    @property
    def in_flight(self):
        return len(self.due) - self.at


def steady(lines, wait, rate, seconds, took):
    """Bursts at their moments. Returns how long it took until the last answer."""
    burst = max(1, round(rate * BURST_S))
    frames = [frame(number) for number in range(int(rate * seconds))]
    began = time.perf_counter()
    for at in range(0, len(frames), burst):
        due = began + at / rate
        while (left := due - time.perf_counter()) > 0:
            wait(left)
        lines[at // burst % len(lines)].send(frames[at:at + burst], due)
    while any(line.in_flight for line in lines):
        wait(1)
    return time.perf_counter() - began


def flat_out(lines, wait, seconds, took):
    """As many in flight as the window allows, until the time is over."""
    frames = [frame(number) for number in range(20_000)]
    began, at = time.perf_counter(), 0
    while (now := time.perf_counter()) - began < seconds:
        for line in lines:
            if (room := WINDOW - line.in_flight) > 0:
                line.send([frames[(at + i) % len(frames)] for i in range(room)], now)
                at += room
        wait(0.1)
    while any(line.in_flight for line in lines):
        wait(1)
    return time.perf_counter() - began


def main():
    port, rate, seconds, connections = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
    lines, took, watch = [Line(port) for _ in range(connections)], [], selectors.DefaultSelector()
    for line in lines:
        watch.register(line.socket, selectors.EVENT_READ, line)

    def wait(longest):
        for key, _ in watch.select(longest):
            key.data.flush()
            key.data.receive(took)

    lasted = steady(lines, wait, rate, seconds, took) if rate else flat_out(lines, wait, seconds, took)
    took.sort()
    quantile = lambda q: round(took[min(len(took) - 1, int(q * len(took)))] * 1000, 2)  # noqa: E731
    print(json.dumps({"adds": len(took), "seconds": round(lasted, 3), "p50_ms": quantile(0.5), "p99_ms": quantile(0.99), "max_ms": quantile(1)}))


if __name__ == "__main__":
    main()
