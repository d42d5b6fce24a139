#!/usr/bin/env python3
"""The real window under a virtual display: the program as built, its own broker inside, driven by WebKitWebDriver.

Adds come through a socket, as from any client. A failed check leaves a picture of the window in the target folder.
"""
import os
import re
import shutil
import socket
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import TARGET, free_port, program  # noqa: E402
from kit.checks import Checks, contains, same, until  # noqa: E402
from kit.wire import Wire  # noqa: E402
from webdriver import Display, Refused, Window  # noqa: E402

checks = Checks("window")
PICTURES = os.path.join(TARGET, "window")
WINDOW = {"ttl": 600_000}
ROW_MS_MAX = 300


class App:
    """The program with a data folder of its own, and a client of its broker."""

    def __init__(self, display, data, port):
        self.window, self.port = Window(display, program("onceover"), ["--port", str(port), "--data", data]), port

    def __enter__(self):
        self.window.__enter__()
        self.wire = None
        return self

    def __exit__(self, kind, error, _):
        try:
            if error is not None:
                os.makedirs(PICTURES, exist_ok=True)
                path = os.path.join(PICTURES, "failed.png")
                self.window.picture(path)
                print(f"the window at the end: {path}")
        except (OSError, Refused):
            print("there is no picture of the window, it does not answer")
        finally:
            if self.wire is not None:
                self.wire.close()
            self.window.__exit__()

    def connect(self):
        self.wire = until("the broker listens", self._try, 15)
        return self.wire

    def _try(self):
        try:
            return Wire(self.port)
        except OSError:
            return None

    def show(self, screen, query=""):
        self.window.run("location.hash = arguments[0]", f"#/{screen}?q={query}")
        self.window.find(f'[data-testid="screen"][data-screen="{screen}"]')

    def add(self, queue, key, data=None, **fields):
        return self.wire.call("PUSH", queue=queue, name="task", data=data or {"n": 1}, **{"uniqueKey": key, "dedup": WINDOW, **fields})["id"]


def at(testid, **attributes):
    return f'[data-testid="{testid}"]' + "".join(f'[data-{name}="{value}"]' for name, value in attributes.items())


@checks
def whole_slice(display, data):
    """an add through a socket is explained in the window, its key released and the add replayed"""
    with App(display, data, free_port()) as app:
        wire = app.connect()
        contains(app.window.title(), "Onceover")
        app.show("adds")
        first = app.add("emails", "order-1")
        same(app.add("emails", "order-1", {"n": 2}), first)
        app.window.click(at("adds.row", key="order-1", decision="existing.key"))
        contains(app.window.text(at("adds.why")), "Returned", first[-6:], "order-1", "for another")
        owner = {"queue": "emails", "deduplicationId": "order-1"}

        app.show("keys", "queue:emails")
        app.window.click(at("keys.row", key="order-1"))
        app.window.click(at("keys.release"))
        contains(app.window.text(at("keys.release.preview")), "next add")
        app.window.click(at("keys.release.confirm"))
        until("the key is free", lambda: wire.call("GetDeduplicationJobId", **owner)["data"]["jobId"] is None)
        same(wire.call("GetState", id=first)["state"], "waiting")

        app.show("adds", "queue:emails")
        app.window.click(at("adds.row", key="order-1", decision="existing.key"))
        app.window.click(at("adds.replay"))
        until("the replay made a job", lambda: wire.call("Count", queue="emails")["count"] == 2)
        second = wire.call("GetDeduplicationJobId", **owner)["data"]["jobId"]
        same(wire.call("GetJob", id=second)["job"]["data"], {"n": 2})
        os.makedirs(PICTURES, exist_ok=True)
        app.window.picture(os.path.join(PICTURES, "adds.png"))


@checks
def latency(display, data):
    """from the add to the row in the window: under 300 ms"""
    with App(display, data, free_port()) as app:
        app.connect()
        app.show("adds")
        app.window.run("""
            window.seen = {};
            new MutationObserver(() => {
                for (const row of document.querySelectorAll('[data-testid="adds.row"]')) {
                    window.seen[row.dataset.key] ??= performance.timeOrigin + performance.now();
                }
            }).observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-key'] });
        """)
        took = []
        for number in range(10):
            key, sent = f"fast-{number}", time.time() * 1000
            app.add("latency", key)
            took.append(until("the row appears", lambda: app.window.run("return window.seen[arguments[0]]", key), 3) - sent)
            time.sleep(0.2)
        assert max(took) < ROW_MS_MAX, f"took {[round(ms) for ms in took]} ms"


@checks
def second_start_keeps_everything(display, data):
    """closed and opened again, the window shows the same keys"""
    with App(display, data, free_port()) as app:
        app.connect()
        id_ = app.add("kept", "k")
    with App(display, data, free_port()) as app:
        app.connect()
        app.show("keys", "queue:kept")
        app.window.find(at("keys.row", key="k", owner=id_))


@checks
def port_taken(display, data):
    """when the port is taken the window opens, says so, and offers another one that works"""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with App(display, data, port) as app:
            app.window.click(at("port.use"), 20)
            app.port = until("the broker listens elsewhere", lambda: other_port(app, port), 15)
            assert app.connect().call("Ping")["ok"]


def other_port(app, taken):
    """The port that the window names now, if it is not the taken one."""
    found = [int(text) for text in re.findall(r"127\.0\.0\.1:(\d+)", app.window.run("return document.body.innerText"))]
    return next((port for port in found if port != taken), None)


def main():
    data = tempfile.mkdtemp(prefix="onceover-window-data-")
    try:
        with Display() as display:
            return checks.run(display, data)
    finally:
        shutil.rmtree(data, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
