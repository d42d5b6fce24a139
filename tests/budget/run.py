#!/usr/bin/env python3
"""The budgets of the window under load: `run.py [--full] [--release] [chromium|webkit]`.

Adds come at 5,000 a second from a load generator while the Adds screen is open and somebody clicks. Rounds with and without the
window alternate, and medians are compared, so that a machine that is busy with other things disturbs both alike.

`--full` is the whole measurement, for a quiet machine: 30 s, three rounds, and the limits as they are promised. Without it the
rounds are short and the limits of what a clock on the wall measures are wider (`SHORT`), because the runner shares its machine:
stalls that a small program next to it met as well are taken off, and in Chromium, which tells the processor time of each task,
they are only shown. What does not depend on other programs (processor time of a task, memory) has the same limit in both.
`--release` measures `target/release`, otherwise the debug programs are measured, which are several times slower.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.path.insert(0, HERE)
from kit.broker import TARGET, Broker, free_port, program  # noqa: E402
from kit.wire import Wire  # noqa: E402
from viewers import MB, Chromium, WebKit  # noqa: E402

RATE, CONNECTIONS = 5_000, 4
FULL = {"seconds": 30, "rounds": 3, "noise": 0, "lags_per_10_s": 1, "click_ms": 100, "switch_ms": 100, "start_ms": 1_500, "share": 0.95}
SHORT = {"seconds": 10, "rounds": 1, "noise": 1, "lags_per_10_s": 6, "click_ms": 250, "switch_ms": 500, "start_ms": 5_000, "share": 0.90}
HEAP_MB = 20
# WebKitGTK tells the memory of the whole process only. It goes up and down like a saw while garbage is collected when the engine
# likes: measured over 100 s and 500,000 adds, from 230 MB after the first seconds to 320 MB and back to 275. So this limit only
# finds what grows by more than the teeth; what is reachable is measured in Chromium, which runs the same page.
PROCESS_MB = 100
LONG_TASKS_PER_10_S = 1
# What is clicked under load, one after the other: a chip, all again, the newest row, and its drawer closed.
CLICKS = ['[data-testid="adds.chip.collapsed"]', '[data-testid="adds.chip.all"]', '[data-testid="adds.row"]', None]
SCREENS = ["keys", "jobs", "queues", "clients", "settings", "adds"]


# Works for 10 ms of processor time ten times a second, as a page does, and counts how often that took more than 50 ms: then
# others had the processors.
NEIGHBOUR = """
import sys, time, select
stalls = 0
while not select.select([sys.stdin], [], [], 0.1)[0]:
    began, end = time.perf_counter(), time.process_time() + 0.010
    while time.process_time() < end:
        pass
    stalls += time.perf_counter() - began > 0.050
print(stalls)
"""


class Neighbour:
    """The stalls of any program on this machine, from the beginning to `stalls`."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", NEIGHBOUR], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def stalls(self):
        out, _ = self.process.communicate("end\n", timeout=20)
        return int(out)


class Verdict:
    """Figures and their limits; a figure over its limit fails the run."""

    def __init__(self):
        self.failed = 0

    def __call__(self, what, value, limit, unit, at_least=False):
        good = value >= limit if at_least else value <= limit
        self.failed += not good
        sign = "at least" if at_least else "at most"
        print(f"{'ok  ' if good else 'FAIL'} {what}: {value:g} {unit} ({sign} {limit:g})", flush=True)

    @staticmethod
    def note(what, value):
        print(f"     {what}: {value}", flush=True)


def load(port, rate, seconds):
    command = [sys.executable, os.path.join(HERE, "load.py"), str(port), str(rate), str(seconds), str(CONNECTIONS)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def result(process):
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0, "the load generator failed"
    answer = json.loads(out)
    return {**answer, "per_s": answer["adds"] / answer["seconds"]}


def click_on(viewer, process, seconds):
    """Clicks three times a second while the load runs."""
    at, end = 0, time.monotonic() + seconds + 5
    while process.poll() is None and time.monotonic() < end:
        selector = CLICKS[at % len(CLICKS)]
        try:
            if selector is None:
                viewer.press("Escape")
            else:
                viewer.click(selector)
        except Exception as error:  # noqa: BLE001
            raise AssertionError(f"{selector} cannot be clicked under load: {error}") from error
        at += 1
        time.sleep(0.3)


def under_load(viewer, port, bounds, verdict):
    """One round with the window. Returns what the load generator says."""
    traced = isinstance(viewer, Chromium)
    # The page comes to its full size first: what a first screenful of rows takes is no growth.
    warm = load(port, RATE, 3)
    click_on(viewer, warm, 3)
    result(warm)
    heap = viewer.heap_bytes()
    viewer.run("probe.lags.length = 0; probe.clicks.length = 0; probe.frames = 0")
    if traced:
        viewer.begin_trace()
    neighbour = Neighbour()
    process = load(port, RATE, bounds["seconds"])
    click_on(viewer, process, bounds["seconds"])
    answer = result(process)
    noise = neighbour.stalls()
    found = viewer.run("return JSON.parse(JSON.stringify(probe))")
    tens = bounds["seconds"] / 10
    clicks = sorted(found["clicks"])
    name = viewer.name
    if traced:
        long = viewer.long_tasks()
        verdict(f"{name}: tasks over 50 ms of processor time, per 10 s", len(long) / tens, LONG_TASKS_PER_10_S, "")
        verdict.note("the longest of them", f"{long[-3:]} ms; the page kept {100 * viewer.busy_s / bounds['seconds']:.0f} % of a processor busy")
    if not traced or bounds is FULL:
        stalls = max(0, len(found["lags"]) - noise * bounds["noise"])
        verdict(f"{name}: stalls over 50 ms on the wall, per 10 s", stalls / tens, bounds["lags_per_10_s"], "")
    worst = sorted(ms for _, ms in found["lags"])[-3:]
    verdict.note("stalls on the wall", f"{len(found['lags'])}, the longest {worst} ms; a small program beside it met {noise}; {found['frames'] / bounds['seconds']:.0f} frames/s")
    verdict(f"{name}: click to response, 95 % of {len(clicks)}", round(clicks[int(0.95 * (len(clicks) - 1))]), bounds["click_ms"], "ms")
    limit = HEAP_MB if traced else PROCESS_MB
    verdict(f"{name}: memory of the page grew by", round((viewer.heap_bytes() - heap) / MB, 1), limit, "MB")
    return answer


def switches(viewer, bounds, verdict):
    """Every screen, from the click on its name to the frame that shows its rows."""
    took = {}
    for screen in SCREENS * 2:
        begin = f"document.querySelector('[data-testid=\"nav.{screen}\"]').click()"
        took[screen] = viewer.until(f'[data-testid="screen"][data-screen="{screen}"] :is([role="row"][data-index], [data-testid$=".empty"], form, fieldset, section)', begin)
        assert took[screen] >= 0, f"the screen {screen} did not come"
    worst = max(took, key=took.get)
    verdict(f"{viewer.name}: the slowest switch of a screen ({worst})", round(took[worst]), bounds["switch_ms"], "ms")


def compare(name, without, with_, bounds, verdict):
    rate = lambda answers: statistics.median(answer["per_s"] for answer in answers)  # noqa: E731
    p99 = lambda answers: statistics.median(answer["p99_ms"] for answer in answers)  # noqa: E731
    verdict(f"{name}: adds answered, against those without a window", round(rate(with_) / rate(without), 3), bounds["share"], "", at_least=True)
    verdict.note("adds a second, and p99 of an answer", f"{rate(with_):.0f} and {p99(with_)} ms with, {rate(without):.0f} and {p99(without)} ms without")


def flat_out(viewer, open_, close, port, rounds, verdict):
    """As many adds as go through, with and without the window. A figure, not a verdict: on two cores the browser, the generator
    and the broker take turns on the processors, whatever the broker does."""
    rates = {True: [], False: []}
    for _ in range(rounds):
        for shown in (False, True):
            if shown:
                open_()
            rates[shown].append(result(load(port, 0, 5))["per_s"])
            if shown:
                close()
    with_, without = statistics.median(rates[True]), statistics.median(rates[False])
    verdict.note(f"{viewer.name}: flat out", f"{with_:.0f} adds/s with the window, {without:.0f} without ({with_ / without:.2f})")


def chromium(bounds, verdict):
    with Chromium() as viewer, Broker() as broker:
        without, with_ = [], []
        for _ in range(bounds["rounds"]):
            without.append(result(load(broker.port, RATE, bounds["seconds"])))
            viewer.open(broker)
            with_.append(under_load(viewer, broker.port, bounds, verdict))
            viewer.close()
        compare(viewer.name, without, with_, bounds, verdict)
        viewer.open(broker)
        switches(viewer, bounds, verdict)
        viewer.close()
        flat_out(viewer, lambda: viewer.open(broker), viewer.close, broker.port, bounds["rounds"], verdict)
        with Broker() as fresh:
            fresh.kill()
            began = time.monotonic()
            fresh.start()
            viewer.open(fresh)
            viewer.page.locator('[role="row"], [data-testid$=".empty"]').first.wait_for()
            verdict("Chromium: from the start of the broker to a page that can be used", round((time.monotonic() - began) * 1000), bounds["start_ms"], "ms")
            viewer.close()


def webkit(bounds, verdict):
    with WebKit(program("onceover")) as viewer, tempfile.TemporaryDirectory(prefix="onceover-budget-") as data:
        without, with_, started = [], [], None
        for _ in range(bounds["rounds"]):
            with Broker() as broker:
                without.append(result(load(broker.port, RATE, bounds["seconds"])))
            port = free_port()
            began = time.monotonic()
            viewer.open(port, data)
            started = started or (time.monotonic() - began) * 1000
            Wire(port).close()
            viewer.run("location.hash = '#/adds'")
            with_.append(under_load(viewer, port, bounds, verdict))
            switches(viewer, bounds, verdict)
            viewer.close()
        compare(viewer.name, without, with_, bounds, verdict)
        verdict("WebKitGTK: from the start of the program to a window that can be used", round(started), bounds["start_ms"], "ms")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--release", action="store_true")
    parser.add_argument("viewer", nargs="?", choices=["chromium", "webkit"])
    options = parser.parse_args()
    if options.release:
        for name in ("onceover", "onceoverd"):
            os.environ[name.upper()] = os.path.join(TARGET, "release", name)
    verdict, bounds = Verdict(), FULL if options.full else SHORT
    for name in [options.viewer] if options.viewer else ["chromium", "webkit"]:
        {"chromium": chromium, "webkit": webkit}[name](bounds, verdict)
    print(f"{verdict.failed} limits broken")
    return 1 if verdict.failed else 0


if __name__ == "__main__":
    sys.exit(main())
