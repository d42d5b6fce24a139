"""Between worker programs and the broker: passes every byte on, reads the frames, and cuts connections when told to.

Each program gets a door of its own. What is read is told to a ledger: a request before it is passed on, an answer before
it is passed on, the end of a connection before the broker can notice it. So whatever the broker does because of a
request or an end, it does later than the ledger's time for it.
"""
import random
import socket
import struct
import threading
import time

import msgpack


def now():
    """Milliseconds since the epoch, the unit and origin of the broker's own times."""
    return time.time() * 1000


class Frames:
    """Cuts a stream into messages."""

    def __init__(self):
        self.buffer = bytearray()

    def feed(self, data):
        self.buffer += data
        while len(self.buffer) >= 4:
            (size,) = struct.unpack_from(">I", self.buffer)
            if len(self.buffer) < 4 + size:
                return
            message = msgpack.unpackb(bytes(self.buffer[4:4 + size]), raw=False, strict_map_key=False)
            del self.buffer[:4 + size]
            yield message


class Connection:
    """One program's connection and the one to the broker that stands for it."""

    def __init__(self, tap, worker, client):
        self.tap, self.worker, self.client, self.ended = tap, worker, client, None
        self.broker = socket.create_connection(("127.0.0.1", tap.broker_port))
        self.pending, self.lock = {}, threading.Lock()
        for side in (self.client, self.broker):
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for way in (self._up, self._down):
            threading.Thread(target=self._relay, args=(way,), daemon=True).start()

    def cut(self):
        """Resets both sides, as a broken cable or a dying router would."""
        for side in (self.client, self.broker):
            try:
                side.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            except OSError:
                pass
        self._end()

    def _relay(self, way):
        try:
            way()
        except OSError:
            pass
        self._end()

    def _up(self):
        frames = Frames()
        while data := self.client.recv(1 << 16):
            for request in frames.feed(data):
                self.pending[request.get("reqId")] = self.tap.ledger.requested(request, now())
            self.broker.sendall(data)

    def _down(self):
        frames = Frames()
        while data := self.broker.recv(1 << 16):
            for answer in frames.feed(data):
                note = self.pending.pop(answer.get("reqId"), None)
                if note is not None:
                    self.tap.ledger.answered(self, note, answer)
            self.client.sendall(data)

    def _end(self):
        with self.lock:
            if self.ended is not None:
                return
            self.ended = now()
        self.tap.gone(self)
        for side in (self.broker, self.client):
            try:
                # Wakes the thread that reads here; says nothing to the other end, which `close` does.
                side.shutdown(socket.SHUT_RD)
            except OSError:
                pass
            side.close()


class Tap:
    """All doors to one broker."""

    def __init__(self, broker_port, ledger):
        self.broker_port, self.ledger = broker_port, ledger
        self.open, self.lock, self.doors = set(), threading.Lock(), []

    def door(self, worker):
        """Opens a door for a program and returns its port."""
        door = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.doors.append(door)
        threading.Thread(target=self._accept, args=(door, worker), daemon=True).start()
        return door.getsockname()[1]

    def cut_one(self, chance: random.Random):
        """Cuts a connection, and returns whether there was one."""
        with self.lock:
            some = sorted(self.open, key=lambda one: (one.worker, id(one)))
        if some:
            chance.choice(some).cut()
        return bool(some)

    def gone(self, connection):
        with self.lock:
            self.open.discard(connection)

    def _accept(self, door, worker):
        while True:
            client, _ = door.accept()
            try:
                connection = Connection(self, worker, client)
            except OSError:
                client.close()
                continue
            with self.lock:
                if connection.ended is None:
                    self.open.add(connection)
