#!/usr/bin/env python3
"""The window's HTTP door: nobody without the token learns anything or changes anything, and odd requests harm nothing."""
import http.client
import json
import os
import socket
import sys
from urllib.parse import quote, urlencode

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import Broker  # noqa: E402
from kit.checks import Checks, same  # noqa: E402

checks = Checks("door")


def place(broker):
    host, port = broker.url.removeprefix("http://").rsplit(":", 1)
    return host, int(port)


def ask(broker, method, path, body=None, headers=None):
    """Status, headers and body of one request; no header but Host is added."""
    connection = http.client.HTTPConnection(*place(broker), timeout=10)
    try:
        connection.request(method, path, body, headers or {})
        answer = connection.getresponse()
        return answer.status, {key.lower(): value for key, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def bearer(broker, **more):
    return {"Authorization": f"Bearer {broker.token}", "Content-Type": "application/json", **more}


def cookie(broker):
    status, headers, _ = ask(broker, "POST", "/session", json.dumps({"token": broker.token}), {"Content-Type": "application/json", "Origin": broker.url})
    assert status in (200, 204), f"session answered {status}"
    return headers["set-cookie"]


OVERVIEW = json.dumps({"type": "overview"})


@checks
def without_token(broker):
    """without the token there is no view, no change and no event stream"""
    for method, path, body in [("POST", "/rpc", OVERVIEW), ("GET", "/changes", None), ("GET", "/rpc", None)]:
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": "session=wrong"}):
            status, _, text = ask(broker, method, path, body, {"Content-Type": "application/json", **headers})
            assert status in (401, 403, 404, 405), f"{method} {path} answered {status}"
            assert b"revision" not in text
    status, _, _ = ask(broker, "POST", "/session", json.dumps({"token": "wrong"}), {"Content-Type": "application/json"})
    assert status in (401, 403), f"a wrong token answered {status}"


@checks
def with_token(broker):
    """the token opens the door, as a header or as a cookie that scripts of other sites never send"""
    status, headers, text = ask(broker, "POST", "/rpc", OVERVIEW, bearer(broker))
    same(status, 200)
    assert "revision" in json.loads(text)
    assert "access-control-allow-origin" not in headers
    set_cookie = cookie(broker)
    for word in ("HttpOnly", "SameSite=Strict", "Path=/"):
        assert word.lower() in set_cookie.lower(), set_cookie
    headers = {"Cookie": set_cookie.split(";")[0], "Content-Type": "application/json", "Origin": broker.url}
    same(ask(broker, "POST", "/rpc", OVERVIEW, headers)[0], 200)


@checks
def foreign_sites(broker):
    """requests that other sites make a browser send are refused, even with the cookie"""
    pair = cookie(broker).split(";")[0]
    for more in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}, {"Host": f"evil.example:{place(broker)[1]}"}, {"Origin": "null"}):
        status, _, text = ask(broker, "POST", "/rpc", OVERVIEW, {"Cookie": pair, "Content-Type": "application/json", **more})
        assert status in (400, 401, 403, 421), f"{more} answered {status}"
        assert b"revision" not in text
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        status, _, _ = ask(broker, "POST", "/rpc", OVERVIEW, {"Cookie": pair, "Content-Type": kind, "Origin": "https://evil.example"})
        assert status >= 400


@checks
def nothing_by_get(broker):
    """looking changes nothing: no GET, HEAD or OPTIONS with the token does what a POST would do"""
    with broker.connect() as wire:
        assert wire.call("PUSH", queue="looked", uniqueKey="k", dedup={"ttl": 600_000}, data={})["ok"]
        act = {"type": "releaseKey", "queue": "looked", "key": "k"}
        for method in ("GET", "HEAD", "OPTIONS"):
            for path in (f"/rpc?{urlencode(act)}", f"/rpc?body={quote(json.dumps(act))}", "/session", "/session?token=" + broker.token):
                status, headers, _ = ask(broker, method, path, json.dumps(act), bearer(broker))
                assert status >= 400 or method == "OPTIONS", f"{method} {path} answered {status}"
                assert "set-cookie" not in headers, f"{method} {path} gives a session"
        assert wire.call("GetDeduplicationJobId", queue="looked", deduplicationId="k")["data"]["jobId"], "the key is gone"


@checks
def secrets(_):
    """no token is in the log, not even at its most talkative, whether it was right or wrong"""
    tokens = ["first-secret-token", "second-secret-token"]
    with Broker(env={"AUTH_TOKENS": ",".join(tokens), "RUST_LOG": "trace"}) as broker:
        with broker.connect() as wire:
            assert not wire.call("Auth", token="a-wrong-guess")["ok"]
            assert wire.call("Auth", token=tokens[0])["ok"]
            assert wire.call("PUSH", queue="q", data={})["ok"]
        ask(broker, "POST", "/rpc", OVERVIEW, bearer(broker))
        ask(broker, "POST", "/rpc", OVERVIEW, bearer(broker, Authorization="Bearer a-wrong-guess"))
        session = cookie(broker).split(";")[0].split("=")[1]
        broker.stop()
        # The link that opens the window is for the person who started the program; it is not of the log.
        log = [line for line in broker.output if f"{broker.url}/#token=" not in line]
    assert any("stopping" in line for line in log), log
    for secret in (*tokens, "a-wrong-guess", broker.token, session):
        same([line for line in log if secret in line], [])


@checks
def page(broker):
    """the page itself is served with a strict policy and knows no other host"""
    status, headers, text = ask(broker, "GET", "/")
    same(status, 200)
    assert b"<html" in text.lower() and b"UI not built" not in text, "the page is not the built one"
    policy = headers["content-security-policy"]
    assert "default-src 'self'" in policy or "default-src 'none'" in policy, policy
    rules = dict(rule.strip().split(" ", 1) for rule in policy.rstrip("; ").split(";"))
    same((rules["script-src"], rules["style-src"], rules["connect-src"]), ("'self'", "'self'", "'self'"))
    same((rules["frame-ancestors"], rules["base-uri"], rules["form-action"]), ("'none'", "'none'", "'none'"))
    same(headers.get("x-content-type-options"), "nosniff")


@checks
def odd_paths(broker):
    """paths that leave the page's folder lead nowhere"""
    for path in ("/../Cargo.toml", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/assets/../../../etc/passwd", "/%00"):
        status, _, text = ask(broker, "GET", path)
        assert b"root:" not in text and b"[package]" not in text, f"{path} shows a file"
        assert status < 500, f"{path} answered {status}"


@checks
def odd_bodies(broker):
    """a request that cannot be understood is answered with a failure, and the next one works"""
    for body in (b"", b"{", b"[]", b"null", b"\xff\xff", b'{"type":"nothing"}', b'{"type":"add"}', b'{"type":"adds","limit":-1}', b'{"type":"adds","limit":"x"}',
                 b'{"type":"replayAdd","seq":999999999}', b'{"type":"releaseKey","queue":"no","key":"no","ownerId":"x","generation":1}', b"[" * 100_000):
        status, _, text = ask(broker, "POST", "/rpc", body, bearer(broker))
        assert 200 <= status < 500, f"{body[:40]} answered {status}"
        assert status != 200 or json.loads(text), f"{body[:40]} answered nothing"
    status, _, _ = ask(broker, "POST", "/rpc", OVERVIEW, bearer(broker))
    same(status, 200)


@checks
def huge_body(broker):
    """a body without end is cut off"""
    with socket.create_connection(place(broker), timeout=10) as raw:
        head = f"POST /rpc HTTP/1.1\r\nHost: {broker.url.removeprefix('http://')}\r\nAuthorization: Bearer {broker.token}\r\n"
        raw.sendall((head + "Content-Type: application/json\r\nContent-Length: 2000000000\r\n\r\n").encode())
        sent = 0
        try:
            while sent < 200_000_000:
                sent += raw.send(b" " * 65536)
        except OSError:
            pass
        assert sent < 200_000_000, "200 MB were read"
    same(ask(broker, "POST", "/rpc", OVERVIEW, bearer(broker))[0], 200)


@checks
def many_listeners(broker):
    """event streams that nobody reads, and that vanish, cost nothing"""
    raws = []
    for _ in range(60):
        raw = socket.create_connection(place(broker), timeout=10)
        raw.sendall(f"GET /changes HTTP/1.1\r\nHost: {broker.url.removeprefix('http://')}\r\nAuthorization: Bearer {broker.token}\r\n\r\n".encode())
        raws.append(raw)
    with broker.connect() as wire:
        for number in range(500):
            assert wire.call("PUSH", queue="listened", data={"n": number})["ok"]
    for raw in raws:
        raw.close()
    same(ask(broker, "POST", "/rpc", OVERVIEW, bearer(broker))[0], 200)


if __name__ == "__main__":
    with Broker() as the_broker:
        sys.exit(checks.run(the_broker))
