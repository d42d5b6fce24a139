#!/usr/bin/env python3
"""Webhooks against receivers of every kind: right, dead, slow, failing at first, not HTTP, over TLS; and over a restart."""
import hashlib
import hmac
import http.server
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import Broker, free_port  # noqa: E402
from kit.checks import Checks, contains, same, until  # noqa: E402

checks = Checks("webhooks")
# Retries soon, so that the test need not wait for seconds.
ENV = {"WEBHOOK_RETRY_DELAY_MS": "50"}


class Receiver:
    """Keeps what it is sent. `statuses` are given out first, then 200; `pause` is how long each answer takes."""

    def __init__(self, statuses=(), pause=0.0, tls=None):
        self.calls, self.statuses, self.pause = [], list(statuses), pause
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.calls.append((self.path, dict(self.headers.items()), body))
                time.sleep(receiver.pause)
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.scheme = "http"
        if tls:
            self.scheme = "https"
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, path="/hook?a=1", host="127.0.0.1"):
        return f"{self.scheme}://{host}:{self.server.server_port}{path}"

    def bodies(self):
        return [json.loads(body) for _, _, body in self.calls]

    def close(self):
        self.server.shutdown()
        self.server.server_close()


ALL = ["job.pushed", "job.started", "job.completed", "job.failed", "job.progress"]


def hooked(wire, url, events=ALL, **more):
    answer = wire.call("AddWebhook", url=url, events=list(events), **more)
    assert answer["ok"], answer
    return answer["data"]["webhookId"]


def figures(wire, hook):
    return next(one for one in wire.call("ListWebhooks")["data"]["webhooks"] if one["id"] == hook)


def job(wire, queue, end="ACK", **more):
    """One job from its add to its end."""
    added = wire.call("PUSH", queue=queue, name="n", data={"in": 1}, maxAttempts=1)["id"]
    assert wire.call("PULL", queue=queue)["job"]["id"] == added
    wire.call("Progress", id=added, progress=40)
    assert wire.call(end, id=added, **more)["ok"]
    return added


@checks
def each_event(broker):
    """each event is sent with its body, its headers and a signature that other code finds right"""
    receiver = Receiver()
    with broker.connect() as wire:
        hook = hooked(wire, receiver.url(), queue="each", secret="hidden in plain sight")
        done = job(wire, "each", result={"out": [1]})
        failed = job(wire, "each", "FAIL", error="no luck")
        job(wire, "elsewhere")
        until("all calls are counted", lambda: figures(wire, hook)["successCount"] == 8)
        seen = figures(wire, hook)
        same((seen["failureCount"], seen["enabled"], seen["queue"]), (0, True, "each"))
        assert seen["lastTriggered"] >= seen["createdAt"]
        assert "secret" not in seen and "hidden" not in json.dumps(wire.call("ListWebhooks"))
    of = {(body["event"], body["jobId"]): body for body in receiver.bodies()}
    same(len(of), 8)
    for name in ALL[:2] + ["job.progress"]:
        assert (name, done) in of and (name, failed) in of, name
    same(of["job.completed", done]["data"], {"out": [1]})
    same((of["job.failed", failed]["data"], of["job.failed", failed]["error"]), ({"in": 1}, "no luck"))
    same(of["job.progress", done]["progress"], 40)
    assert "data" not in of["job.pushed", done]
    for path, headers, body in receiver.calls:
        same((path, headers["Content-Type"], headers["Host"]), ("/hook?a=1", "application/json", f"127.0.0.1:{receiver.server.server_port}"))
        same(headers["X-Webhook-Signature"], hmac.new(b"hidden in plain sight", body, hashlib.sha256).hexdigest())
        same((headers["X-Webhook-Event"], int(headers["X-Webhook-Timestamp"])), (json.loads(body)["event"], json.loads(body)["timestamp"]))
    assert not any("hidden" in line for line in broker.output), "the secret is in the log"
    receiver.close()


@checks
def retries(broker):
    """a receiver that fails at first gets the same body again; one that goes on failing is given up after three tries"""
    shaky, broken = Receiver(statuses=[500, 503]), Receiver(statuses=[404] * 99)
    with broker.connect() as wire:
        good, bad = hooked(wire, shaky.url(), ["job.pushed"], queue="shaky"), hooked(wire, broken.url(), ["job.pushed"], queue="shaky")
        wire.call("PUSH", queue="shaky", name="n", data=1)
        until("both have ended", lambda: figures(wire, good)["successCount"] and figures(wire, bad)["failureCount"])
        same((figures(wire, good)["failureCount"], figures(wire, bad)["successCount"]), (0, 0))
    same((len(shaky.calls), len(broken.calls)), (3, 3))
    same(len({body for _, _, body in shaky.calls}), 1)
    shaky.close()
    broken.close()


@checks
def bad_receivers(broker):
    """a dead, a silent and a slow receiver hold up neither the broker nor other receivers"""
    fast, slow = Receiver(), Receiver(pause=3.0)
    deaf = socket.create_server(("127.0.0.1", 0))
    with broker.connect() as wire:
        one = [("job.pushed",)][0]
        dead = hooked(wire, f"http://127.0.0.1:{free_port()}/", one, queue="bad")
        hooked(wire, f"http://127.0.0.1:{deaf.getsockname()[1]}/", one, queue="bad")
        hooked(wire, slow.url(), one, queue="bad")
        good = hooked(wire, fast.url(), one, queue="bad")
        began = time.monotonic()
        wire.many([{"cmd": "PUSH", "queue": "bad", "name": "n", "data": number} for number in range(200)])
        took = time.monotonic() - began
        until("the fast one has all", lambda: figures(wire, good)["successCount"] == 200, seconds=30)
        assert took < 10, f"200 adds took {took:.1f} s"
        until("the dead one is given up", lambda: figures(wire, dead)["failureCount"] == 200, seconds=60)
        assert len(slow.calls) <= 4 * (2 + (time.monotonic() - began) / 3.0), "calls of one webhook run side by side without a bound"
        # Beyond the bound of 1,000 calls that wait, they are given up at once, and that is counted.
        many = [{"name": "n", "data": 0} for _ in range(1000)]
        wire.call("PUSHB", queue="bad", jobs=many)
        wire.call("PUSHB", queue="bad", jobs=many)
        listed = wire.call("ListWebhooks")["data"]["webhooks"]
        slow_hook = next(hook["id"] for hook in listed if hook["url"] == slow.url())
        until("the slow one loses some", lambda: figures(wire, slow_hook)["failureCount"] >= 900, seconds=20)
        for hook in listed:
            wire.call("RemoveWebhook", webhookId=hook["id"])
    deaf.close()
    fast.close()
    slow.close()


@checks
def switching(broker):
    """one that is switched off or removed is not called"""
    receiver = Receiver()
    with broker.connect() as wire:
        hook = hooked(wire, receiver.url(), ["job.pushed"], queue="switch")
        push = lambda: wire.call("PUSH", queue="switch", name="n", data=1)  # noqa: E731
        push()
        until("the first", lambda: len(receiver.calls) == 1)
        same(wire.call("SetWebhookEnabled", id=hook, enabled=False)["ok"], True)
        push()
        same(wire.call("SetWebhookEnabled", id=hook, enabled=True)["ok"], True)
        push()
        until("the third", lambda: len(receiver.calls) == 2)
        same(wire.call("RemoveWebhook", webhookId=hook)["data"], {"removed": True})
        push()
        same(wire.call("RemoveWebhook", webhookId=hook)["error"], "Webhook not found")
        time.sleep(0.3)
        same(len(receiver.calls), 2)
    receiver.close()


@checks
def restart(_):
    """webhooks, their secrets and their counters survive a kill"""
    receiver = Receiver()
    with Broker(env=ENV) as broker:
        with broker.connect() as wire:
            hook = hooked(wire, receiver.url(), ["job.pushed"], secret="kept")
            off = hooked(wire, receiver.url("/off"), ["job.pushed"])
            wire.call("SetWebhookEnabled", id=off, enabled=False)
            wire.call("PUSH", queue="q", name="n", data=1)
            until("the call is counted", lambda: figures(wire, hook)["successCount"] == 1)
            before = wire.call("ListWebhooks")["data"]
        broker.kill()
        broker.start()
        with broker.connect() as wire:
            same(wire.call("ListWebhooks")["data"], before)
            wire.call("PUSH", queue="q", name="n", data=2)
            until("the call after it", lambda: len(receiver.calls) == 2)
            _, headers, body = receiver.calls[1]
            same(headers["X-Webhook-Signature"], hmac.new(b"kept", body, hashlib.sha256).hexdigest())
    receiver.close()


@checks
def strict(_):
    """a strict broker refuses addresses of this machine, and does not call a name that leads there"""
    receiver = Receiver()
    with Broker(env={**ENV, "WEBHOOK_STRICT": "true"}) as broker, broker.connect() as wire:
        for url, what in [("http://localhost/", "localhost"), ("http://2130706433/", "localhost"), ("http://127.0.0.2/", "loopback IP"),
                          ("http://10.0.0.1/", "private IP"), ("http://[fd00::1]/", "private (ULA) IP"), ("http://169.254.169.254/", "link-local IP")]:
            same(wire.call("AddWebhook", url=url, events=[])["error"], f"Webhook URL cannot point to {what}")
        # The machine's own name leads to itself, in whatever way it is known here.
        name = socket.gethostname()
        try:
            address = socket.gethostbyname(name)
        except OSError:
            address = None
        if address and (address.startswith("127.") or address.startswith("10.") or address.startswith("172.") or address.startswith("192.168.")):
            hook = hooked(wire, f"http://{name}:{receiver.server.server_port}/", ["job.pushed"])
            wire.call("PUSH", queue="q", name="n", data=1)
            until("it is given up", lambda: figures(wire, hook)["failureCount"] == 1)
            same(receiver.calls, [])
        same(wire.call("AddWebhook", url="http://example.com/", events=[])["ok"], True)
    receiver.close()


@checks
def over_tls(_):
    """a receiver with a certificate that the system trusts is called over TLS, one without trust is not"""
    folder = tempfile.mkdtemp(prefix="onceover-tls-")
    name = lambda file: os.path.join(folder, file)  # noqa: E731
    new = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    subprocess.run([*new, "-keyout", name("ca.key"), "-out", name("ca.pem"), "-subj", "/CN=test authority"], check=True, capture_output=True)
    subprocess.run([*new, "-keyout", name("key.pem"), "-out", name("cert.pem"), "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                    "-addext", "basicConstraints=critical,CA:FALSE", "-CA", name("ca.pem"), "-CAkey", name("ca.key")], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(name("cert.pem"), name("key.pem"))
    receiver = Receiver(tls=context)
    for trusted, wanted in ((True, "successCount"), (False, "failureCount")):
        env = {**ENV, **({"SSL_CERT_FILE": name("ca.pem")} if trusted else {})}
        with Broker(env=env) as broker, broker.connect() as wire:
            hook = hooked(wire, receiver.url(host="localhost"), ["job.pushed"])
            wire.call("PUSH", queue="q", name="n", data=1)
            until(wanted, lambda: figures(wire, hook)[wanted] == 1)
    same(len(receiver.calls), 1)
    receiver.close()
    shutil.rmtree(folder)


@checks
def bad_input(broker):
    """bad fields are refused by name, and a secret in a refused frame is shown nowhere"""
    with broker.connect() as wire:
        refused = wire.call("AddWebhook", url="nowhere", events=["job.pushed"], secret="never shown anywhere")
        same(refused["error"], "Invalid URL format")
        contains(wire.call("AddWebhook", url="http://h/", events=["job.done"])["error"], "Invalid webhook event(s): job.done. Valid: job.pushed")
    shown = json.dumps(broker.rpc({"type": "overview"})) + json.dumps(broker.rpc({"type": "clients"}))
    assert "never shown" not in shown and "6e65766572" not in shown


def main():
    with Broker(env=ENV) as broker:
        return broker.judge(checks.run(broker))


if __name__ == "__main__":
    sys.exit(main())
