"""A client of the HTTP interface: requests as JSON, and event streams."""
import http.client
import json
import socket
import threading

from .checks import until


class Client:
    """One request at a time, as JSON."""

    def __init__(self, broker, **headers):
        host, port = broker.url.removeprefix("http://").rsplit(":", 1)
        self.place, self.headers = (host, int(port)), headers

    def raw(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection(*self.place, timeout=20)
        try:
            text = None if body is None else json.dumps(body)
            kind = {} if body is None else {"Content-Type": "application/json"}
            connection.request(method, path, text, {**kind, **self.headers, **headers})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def ask(self, method, path, body=None, **headers):
        status, _, text = self.raw(method, path, body, **headers)
        return status, json.loads(text)

    def good(self, method, path, body=None):
        status, answer = self.ask(method, path, body)
        assert status == 200 and (isinstance(answer, list) or answer["ok"] is True), f"{method} {path}: {status} {answer}"
        return answer


class Stream(threading.Thread):
    """Reads an event stream; `frames` are (name, id, data)."""

    def __init__(self, client, path="/events", **headers):
        super().__init__(daemon=True)
        self.connection = http.client.HTTPConnection(*client.place, timeout=60)
        self.connection.request("GET", path, headers={**client.headers, **headers})
        self.answer = self.connection.getresponse()
        self.frames, self.hello, self.text = [], None, ""
        if self.answer.status == 200:
            self.start()
            until("the stream begins", lambda: self.hello)

    def run(self):
        fields = {}
        try:
            for line in self.answer:
                line = line.decode().rstrip("\n")
                if not line:
                    self.take(fields)
                    fields = {}
                elif not line.startswith(":"):
                    name, _, value = line.partition(": ")
                    fields[name] = value
        except (OSError, ValueError, AttributeError, http.client.HTTPException):
            pass

    def take(self, fields):
        if "event" in fields:
            self.frames.append((fields["event"], int(fields["id"]), json.loads(fields["data"])))
        elif "data" in fields:
            self.hello = (fields.get("retry"), json.loads(fields["data"]))

    def named(self, name):
        return [data for given, _, data in self.frames if given == name]

    def close(self):
        if self.connection.sock:
            self.connection.sock.shutdown(socket.SHUT_RDWR)
        self.connection.close()
