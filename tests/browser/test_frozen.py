#!/usr/bin/env python3
"""No client waits for a window: under 5,000 adds a second a page is looked at, frozen, thawed and closed, and the answers to
clients show nothing of it.

A frozen page is a browser whose processes are stopped: it keeps its connections and reads nothing from them. Measured are the
adds that were answered and the slowest hundredth of the answers, against the same load with no page open; rounds alternate.
"""
import os
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "budget"))
from kit.broker import Broker  # noqa: E402
from kit.checks import Checks  # noqa: E402
from run import load, result  # noqa: E402
from viewers import Chromium  # noqa: E402

checks = Checks("frozen")
RATE, SECONDS, ROUNDS = 5_000, 4, 3
# A frozen page takes no processor, so nothing of it may be felt but the noise of the machine.
SHARE, TIMES_AS_LONG, MS_MORE = 0.95, 3, 50


def family(pid):
    """The process and all below it."""
    found = subprocess.run(["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    children = {}
    for line in found.splitlines():
        child, parent = map(int, line.split())
        children.setdefault(parent, []).append(child)
    all_, at = [pid], 0
    while at < len(all_):
        all_ += children.get(all_[at], [])
        at += 1
    return all_


def browser_of(viewer):
    """The pid of the browser that shows this page."""
    mark = viewer.browser.new_browser_cdp_session()
    processes = mark.send("SystemInfo.getProcessInfo")["processInfo"]
    return next(one["id"] for one in processes if one["type"] == "browser")


def compare(rounds):
    """The medians of both kinds of rounds; what is worse with the page is told."""
    median = lambda kind, what: statistics.median(one[what] for one in rounds[kind])  # noqa: E731
    share = median("page", "per_s") / median("none", "per_s")
    slow, usual = median("page", "p99_ms"), median("none", "p99_ms")
    print(f"     {share:.3f} of the adds, p99 {slow} ms against {usual} ms")
    assert share >= SHARE, f"only {share:.3f} of the adds were answered"
    assert slow <= usual * TIMES_AS_LONG + MS_MORE, f"the slowest hundredth took {slow} ms, without the page {usual} ms"


@checks
def frozen(viewer, broker):
    """a page that is frozen under load costs no client an answer"""
    rounds = {"none": [], "page": []}
    for _ in range(ROUNDS):
        rounds["none"].append(result(load(broker.port, RATE, SECONDS)))
        viewer.open(broker)
        processes = family(browser_of(viewer))
        process = load(broker.port, RATE, SECONDS)
        time.sleep(1)
        for pid in processes:
            os.kill(pid, signal.SIGSTOP)
        try:
            rounds["page"].append(result(process))
        finally:
            for pid in processes:
                os.kill(pid, signal.SIGCONT)
        viewer.page.wait_for_selector('[data-testid="adds.row"]', timeout=10_000)
        viewer.close()
    compare(rounds)


@checks
def closed(viewer, broker):
    """closing a page in the middle of it costs no client an answer"""
    rounds = {"none": [], "page": []}
    for _ in range(ROUNDS):
        rounds["none"].append(result(load(broker.port, RATE, SECONDS)))
        viewer.open(broker)
        process = load(broker.port, RATE, SECONDS)
        time.sleep(2)
        viewer.close()
        rounds["page"].append(result(process))
    compare(rounds)


@checks
def thawed(viewer, broker):
    """a page that was frozen while 10,000 adds came shows the newest one within two seconds of its thaw"""
    viewer.open(broker)
    # Single adds: a group of repeats stands where its slot of time puts it.
    viewer.page.evaluate("location.hash = '#/adds?group=0'")
    viewer.page.wait_for_selector('[data-testid="adds.row"]:not([data-count])', timeout=10_000)
    processes = family(browser_of(viewer))
    for pid in processes:
        os.kill(pid, signal.SIGSTOP)
    try:
        result(load(broker.port, RATE, 2))
    finally:
        for pid in processes:
            os.kill(pid, signal.SIGCONT)
    newest = broker.rpc({"type": "adds", "limit": 1})["rows"][0]["seq"]
    viewer.page.wait_for_selector(f'[data-testid="adds.row"][data-index="0"][data-seq="{newest}"]', timeout=2_000)
    viewer.close()


def main():
    with Chromium() as viewer, Broker() as broker:
        return checks.run(viewer, broker)


if __name__ == "__main__":
    sys.exit(main())
