"""The two places where the page runs, behind one face: Chromium on `onceoverd`'s door, and the real window under a virtual display.

Both get `probe.js`, which measures inside the page. Chromium also says how long each task kept a processor busy, which a loaded
machine does not change; WebKitGTK has no such figure, so there only the clock on the wall counts.
"""
import json
import os
import sys
import time

from playwright.sync_api import sync_playwright

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "window"))
from webdriver import Display, Window  # noqa: E402

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--enable-precise-memory-info"]
LONG_US = 50_000
MB = 1024 * 1024
with open(os.path.join(HERE, "probe.js"), encoding="utf-8") as file:
    PROBE = file.read()


class Chromium:
    """A page of a broker that runs on its own."""

    name = "Chromium"

    def __enter__(self):
        self.playwright = sync_playwright().start()
        self.browser = self.playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        return self

    def __exit__(self, *_):
        self.browser.close()
        self.playwright.stop()

    def open(self, broker, screen="adds"):
        self.context = self.browser.new_context(viewport={"width": 1280, "height": 800})
        self.page = self.context.new_page()
        self.page.add_init_script(PROBE)
        self.page.goto(f"{broker.url}/#token={broker.token}")
        self.page.get_by_test_id("screen").wait_for()
        self.cdp = self.context.new_cdp_session(self.page)
        self.run(f"location.hash = '#/{screen}'")

    def close(self):
        self.context.close()

    def run(self, script):
        return self.page.evaluate("async () => {" + script + "}")

    def click(self, selector):
        """With the mouse, at once: rows never stand still here, which the driver's own click would wait for."""
        place = self.run(f"const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]")
        self.page.mouse.click(*place)

    def press(self, key):
        self.page.keyboard.press(key)

    def until(self, selector, begin):
        """Milliseconds from `begin` to the frame that shows the selector."""
        return self.run(f"return probe.until({json.dumps(selector)}, () => {{ {begin} }})")

    def heap_bytes(self):
        """What is reachable."""
        for _ in range(2):
            self.cdp.send("HeapProfiler.collectGarbage")
        return self.cdp.send("Runtime.getHeapUsage")["usedSize"]

    def begin_trace(self):
        """Notes the processor time of every task from now on."""
        self.events = []
        self.cdp.on("Tracing.dataCollected", lambda part: self.events.extend(part["value"]))
        self.cdp.send("Tracing.start", {"transferMode": "ReportEvents", "traceConfig": {"includedCategories": ["toplevel", "disabled-by-default-devtools.timeline", "__metadata"]}})

    def long_tasks(self):
        """Milliseconds of processor time of each task of the page's main thread over the bound."""
        done = []
        self.cdp.on("Tracing.tracingComplete", lambda _: done.append(True))
        self.cdp.send("Tracing.end")
        end = time.monotonic() + 60
        while not done:
            assert time.monotonic() < end, "the trace did not end"
            self.page.wait_for_timeout(50)
        mains = {(e["pid"], e["tid"]) for e in self.events if e.get("name") == "thread_name" and e["args"]["name"] == "CrRendererMain"}
        tasks = [e["tdur"] for e in self.events if e.get("name") in ("RunTask", "ThreadControllerImpl::RunTask") and (e["pid"], e["tid"]) in mains and "tdur" in e]
        assert tasks, "the trace names no task of the page"
        self.busy_s = sum(tasks) / 1e6
        return sorted(round(us / 1000) for us in tasks if us > LONG_US)


class WebKit:
    """The window, with its own broker inside."""

    name = "WebKitGTK"

    def __init__(self, binary):
        self.binary = binary

    def __enter__(self):
        self.display = Display().__enter__()
        return self

    def __exit__(self, *_):
        self.display.__exit__()

    def open(self, port, data):
        self.spawned = time.time() * 1000
        self.window = Window(self.display, self.binary, ["--port", str(port), "--data", data])
        self.window.__enter__()
        self.window.find('[data-testid="screen"]', 20)
        self.run(PROBE)

    def close(self):
        self.window.__exit__()

    def run(self, script):
        return self.window.run(script)

    def click(self, selector):
        self.window.click(selector, 5)

    def press(self, key):
        self.window.press(key)

    def heap_bytes(self):
        """WebKit tells no page its heap, so this is the whole memory of the process that draws it."""
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
                    name, _, rest = stat.read().partition("(")[2].rpartition(")")
                if name.startswith("WebKitWebProces") and int(rest.split()[2]) == self.window.driver.pid:
                    with open(f"/proc/{pid}/statm", encoding="utf-8") as statm:
                        return int(statm.read().split()[1]) * os.sysconf("SC_PAGESIZE")
            except (OSError, ValueError):
                continue
        raise AssertionError("no process draws the window")

    def until(self, selector, begin):
        """`probe.until`, for a driver that only runs plain functions."""
        self.run(f"window.answer = undefined; probe.until({json.dumps(selector)}, () => {{ {begin} }}).then((ms) => (window.answer = ms))")
        end = time.monotonic() + 15
        while (answer := self.run("return window.answer ?? null")) is None:
            assert time.monotonic() < end, f"{selector} did not appear"
            time.sleep(0.02)
        return answer

