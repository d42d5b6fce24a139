#!/usr/bin/env python3
"""The official clients over TLS and with a token: what is promised to them, and what is refused to others."""
import os
import subprocess
import sys
import tempfile
import time
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from kit.broker import Broker
from kit.checks import Checks, same, until
from kit.peers import PROGRAMS, PeerWorker, add, adder
from kit.wire import Gone

checks = Checks("secure")
TOKENS = ["first-token", "second-token"]


def authority(folder, name):
    """Makes a certificate authority and a certificate for this machine's own address: files of the three parts."""
    def openssl(*args):
        subprocess.run(["openssl", *args], check=True, capture_output=True, cwd=folder)

    with open(os.path.join(folder, "extensions"), "w", encoding="utf-8") as file:
        file.write("basicConstraints=critical,CA:FALSE\nextendedKeyUsage=serverAuth\nsubjectAltName=DNS:localhost,IP:127.0.0.1\n")
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}", "-keyout", f"{name}-ca.key", "-out", f"{name}-ca.pem",
            "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", f"{name}.key", "-out", f"{name}.csr")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", f"{name}-ca.pem", "-CAkey", f"{name}-ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "extensions", "-out", f"{name}.pem")
    return [os.path.join(folder, f"{name}{part}") for part in ("-ca.pem", ".pem", ".key")]


def fresh():
    return f"secure-{uuid.uuid4().hex[:8]}"


def every_client():
    for number, language in enumerate(PROGRAMS):
        def works(site, language=language, token=TOKENS[number % len(TOKENS)]):
            env, queue = {"PEER_CA": site.authority, "PEER_TOKEN": token}, fresh()
            with PeerWorker(language, site.broker.port, queue, site.folder, f"{language}-secure", env):
                answers = add(language, site.broker.port, queue, [{"name": "x", "data": {"echo": n}} for n in range(20)], env)
            same([answer["result"]["echo"] for answer in answers], list(range(20)))

        def refused(site, language=language):
            env = {"PEER_CA": site.authority, "PEER_TOKEN": TOKENS[0]}
            wrong = {"a wrong token": {**env, "PEER_TOKEN": "guessed"}, "no token": {"PEER_CA": site.authority},
                     "an authority that did not sign": {**env, "PEER_CA": site.other}}
            for what, other in wrong.items():
                assert adder(language, site.broker.port, fresh(), [{"name": "x", "data": {}}], other).returncode != 0, f"was let in with {what}"

        works.__name__, refused.__name__ = f"{language}_works", f"{language}_refused"
        works.__doc__ = f"{language}: adds, works and reads results over TLS with a token"
        refused.__doc__ = f"{language}: a wrong token, none, and a certificate of someone else are refused"
        checks(works)
        checks(refused)


every_client()


@checks
def plain(site):
    """a client that does not speak TLS is closed, not left waiting"""
    began = time.monotonic()
    with site.broker.connect() as wire:
        try:
            answer = wire.call("Ping")
        except Gone:
            answer = None
    same(answer, None)
    assert time.monotonic() - began < 5


@checks
def window_run(site):
    """a run of many adds from the window comes in over TLS with a token, as any client's"""
    add = {"queue": "secure-run", "dedupId": "once", "ttlMs": 60_000}
    with Broker(env=site.env) as broker:
        started = broker.rpc({"type": "startRun", "add": add, "times": 40, "gapMs": 0, "connections": 8})
        assert started["ok"], started["message"]
        run = until("the run has ended", lambda: next((run for run in [broker.rpc({"type": "run"})["run"]] if not run["going"]), None))
    same((run["created"], run["returned"], run["rejected"], run["error"]), (1, 39, 0, None))


@checks
def nothing_added(site):
    """nothing that was refused is in a queue; this check ends the broker and comes last"""
    site.broker.stop()
    with Broker(data=site.broker.data, args=["--no-ui"]) as opened, opened.connect() as wire:
        for queue in wire.call("ListQueues")["queues"]:
            same((queue, wire.call("GetJobCounts", queue=queue)["counts"]["completed"]), (queue, 20))


class Site:
    """The broker and the files that a check needs."""

    def __init__(self, folder):
        self.folder = folder
        self.authority, certificate, key = authority(folder, "ours")
        self.other, *_ = authority(folder, "other")
        self.env = {"TLS_CERT_FILE": certificate, "TLS_KEY_FILE": key, "AUTH_TOKENS": ",".join(TOKENS)}
        self.broker = Broker(args=["--no-ui"], env=self.env)


def main():
    with tempfile.TemporaryDirectory(prefix="onceover-secure-") as folder:
        site = Site(folder)
        with site.broker:
            return checks.run(site)


if __name__ == "__main__":
    sys.exit(main())
