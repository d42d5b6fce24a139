"""Raw frames: a 32-bit length, then MessagePack. No client library, so that a test decides every byte.

One thread uses a `Wire`. `call` sends a command and waits for its answer; `send` and `read` are the halves of it, for
commands in flight. Events are kept in `events`. A broken connection raises `Gone`.
"""
import socket
import struct

import msgpack


class Gone(Exception):
    """The broker closed the connection."""


class Wire:
    def __init__(self, port, host="127.0.0.1", timeout=15.0):
        self.socket = socket.create_connection((host, port), timeout=timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.events, self.answers, self.count = [], {}, 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, command):
        """Writes a command and returns the number its answer will carry."""
        self.count += 1
        self.frame(msgpack.packb({**command, "reqId": str(self.count)}, use_bin_type=True))
        return str(self.count)

    def frame(self, payload):
        self.raw(struct.pack(">I", len(payload)) + payload)

    def raw(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Gone(str(error)) from error

    def message(self):
        """The next message, whatever it is."""
        (size,) = struct.unpack(">I", self._exactly(4))
        return msgpack.unpackb(self._exactly(size), raw=False, strict_map_key=False)

    def read(self, number):
        """The answer to the command of this number."""
        while number not in self.answers:
            message = self.message()
            if message.get("type") == "event":
                self.events.append(message["event"])
            else:
                self.answers[message.get("reqId")] = message
        return self.answers.pop(number)

    def call(self, cmd, **fields):
        return self.read(self.send({"cmd": cmd, **fields}))

    def many(self, commands, window=200):
        """The answers to many commands, in order, with a bounded number of them in flight."""
        waiting, answers = [], []
        for command in commands:
            waiting.append(self.send(command))
            if len(waiting) >= window:
                answers.append(self.read(waiting.pop(0)))
        return answers + [self.read(number) for number in waiting]

    def _exactly(self, size):
        parts = bytearray()
        while len(parts) < size:
            try:
                part = self.socket.recv(min(size - len(parts), 1 << 20))
            except TimeoutError as error:
                raise AssertionError("no answer in time") from error
            except OSError as error:
                raise Gone(str(error)) from error
            if not part:
                raise Gone("closed by the broker")
            parts += part
        return bytes(parts)
