#!/usr/bin/env python3
"""The page of `onceoverd` in a real browser: Chromium, driven by Playwright, against a broker of its own.

Jobs are added through raw frames, as any client would; the checks read what the page says about them and act as a user would.
A failed check leaves a picture of the page in the target folder.
"""
import os
import re
import sys
import time

from playwright.sync_api import Error, expect, sync_playwright

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import TARGET, Broker, free_port  # noqa: E402
from kit.checks import Checks, contains, same, until  # noqa: E402

checks = Checks("browser")
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
# From the call of a client to the row on the screen.
ROW_MS_MAX = 300
WINDOW = {"ttl": 600_000}


class Page:
    """The page, a client of the broker, and short ways to look and act."""

    def __init__(self, browser, broker):
        self.broker, self.wire = broker, broker.connect()
        self.context = browser.new_context(viewport={"width": 1280, "height": 800})
        self.page, self.troubles = self.context.new_page(), []
        self.page.on("pageerror", lambda error: self.troubles.append(f"exception: {error}"))
        self.page.on("console", self._console)
        self.page.on("request", self._request)
        self.page.goto(f"{broker.url}/#token={broker.token}")

    def _console(self, message):
        # A broken connection to a stopped broker is reported by the browser itself.
        if message.type == "error" and "net::ERR" not in message.text and "Failed to load resource" not in message.text:
            self.troubles.append(f"console: {message.text}")

    def _request(self, request):
        if not request.url.startswith((self.broker.url, "data:", "blob:")):
            self.troubles.append(f"asks elsewhere: {request.url}")

    def show(self, screen, **params):
        query = "&".join(f"{name}={value}" for name, value in params.items())
        self.page.evaluate("hash => { location.hash = hash }", f"#/{screen}" + (f"?{query}" if query else ""))
        expect(self.page.get_by_test_id("screen")).to_have_attribute("data-screen", screen)

    def at(self, testid, **attributes):
        selector = f'[data-testid="{testid}"]' + "".join(f'[data-{name}="{value}"]' for name, value in attributes.items())
        return self.page.locator(selector)

    def add(self, queue, key=None, data=None, **fields):
        if key is not None:
            fields = {"uniqueKey": key, "dedup": WINDOW, **fields}
        return self.wire.call("PUSH", queue=queue, name="task", data=data or {"n": 1}, **fields)

    def owner(self, queue, key):
        return self.wire.call("GetDeduplicationJobId", queue=queue, deduplicationId=key)["data"]["jobId"]


@checks
def sentence_of_an_add(page):
    """an add and its repetition appear, the second with the sentence that names the first and the time left"""
    page.show("adds")
    first = page.add("emails", "order-1", {"order": 1})["id"]
    second = page.add("emails", "order-1", {"order": 2})["id"]
    same(second, first)
    returned = page.at("adds.row", key="order-1", decision="existing.key")
    expect(returned).to_be_visible(timeout=2000)
    expect(page.at("adds.row", key="order-1", decision="created")).to_be_visible()
    returned.click()
    sentence = page.page.get_by_test_id("adds.why").inner_text()
    contains(sentence, "Returned", first[-6:], "waiting", "order-1")
    assert re.search(r"for another (9 m|10 m|59\d s)", sentence), sentence
    contains(page.page.get_by_test_id("adds.data").inner_text(), '"order": 2')
    contains(page.page.get_by_test_id("adds.asked").inner_text(), "uniqueKey", "order-1", "ttl")
    contains(page.page.get_by_test_id("adds.answered").inner_text(), first)
    page.page.keyboard.press("Escape")
    expect(page.at("adds.drawer")).to_have_count(0)


@checks
def latency(page):
    """from the add to the row on the screen: under 300 ms"""
    page.show("adds")
    # The clock is stopped inside the page, so the driver's own polling is not measured.
    page.page.evaluate("""() => {
        window.seen = {};
        new MutationObserver(() => {
            for (const row of document.querySelectorAll('[data-testid="adds.row"]')) {
                window.seen[row.dataset.key] ??= performance.timeOrigin + performance.now();
            }
        }).observe(document.body, { subtree: true, childList: true, attributes: true, attributeFilter: ['data-key'] });
    }""")
    took = []
    for number in range(15):
        key, sent = f"fast-{number}", time.time() * 1000
        page.add("latency", key)
        page.page.wait_for_function("key => window.seen[key]", arg=key, timeout=3000)
        took.append(page.page.evaluate("key => window.seen[key]", key) - sent)
        page.page.wait_for_timeout(150)
    assert max(took) < ROW_MS_MAX, f"took {[round(ms) for ms in took]} ms"


@checks
def decisions(page):
    """each decision of an add shows under its own word"""
    page.show("adds", q="queue:decisions")
    page.add("decisions", "a")
    page.add("decisions", "a")
    page.add("decisions", "a", dedup={**WINDOW, "extend": True})
    page.add("decisions", "a", dedup={**WINDOW, "replace": True})
    taken = page.wire.call("PULL", queue="decisions", owner="w")
    same(taken["job"]["uniqueKey"], "a")
    page.add("decisions", "a", dedup={**WINDOW, "extend": True})
    page.add("decisions", "a", dedup={**WINDOW, "replace": True})
    page.add("decisions", jobId="browser-id")
    page.add("decisions", jobId="browser-id")
    page.add("elsewhere", jobId="browser-id")
    page.add("decisions", "bad", dedup={"ttl": -1})
    for decision in ("created", "existing.key", "extended", "replaced", "rejected.extend", "moved", "existing.job_id", "rejected.invalid"):
        expect(page.at("adds.row", decision=decision).first, decision).to_be_visible(timeout=3000)
    page.show("adds", q="queue:elsewhere")
    expect(page.at("adds.row", decision="existing.elsewhere")).to_be_visible(timeout=3000)


@checks
def release_a_key(page):
    """a key is released from its row after a preview; the job stays and the next add makes a second one"""
    first = page.add("stuck", "sync")["id"]
    page.show("keys", q="queue:stuck")
    page.at("keys.row", key="sync").click()
    page.at("keys.release").click()
    contains(page.at("keys.release.preview").inner_text(), "next add")
    same(page.owner("stuck", "sync"), first)
    page.at("keys.release.confirm").click()
    until("the key is free", lambda: page.owner("stuck", "sync") is None)
    same(page.wire.call("GetState", id=first)["state"], "waiting")
    second = page.add("stuck", "sync")["id"]
    assert second != first
    page.page.keyboard.press("Escape")


@checks
def release_of_a_changed_key(page):
    """a key that changed while its preview was open is not released"""
    page.add("changed", "k")
    page.show("keys", q="queue:changed")
    page.at("keys.row", key="k").click()
    page.at("keys.release").click()
    expect(page.at("keys.release.preview")).to_be_visible()
    second = page.add("changed", "k", dedup={**WINDOW, "replace": True})["id"]
    confirm = page.at("keys.release.confirm")
    if confirm.is_visible():
        try:
            confirm.click(timeout=500)
        except Error:
            pass  # the popover noticed the change by itself
    expect(page.at("keys.release.changed")).to_be_visible(timeout=3000)
    same(page.owner("changed", "k"), second)
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("Escape")


@checks
def replay_an_add(page):
    """a logged add is sent again with the same options and leaves a row that points to its origin"""
    page.add("again", "k", {"big": 2**53 + 1, "text": "ä"})
    page.show("adds", q="queue:again")
    page.at("adds.row", key="k", decision="created").click()
    page.at("adds.replay").click()
    expect(page.at("adds.row", key="k", decision="existing.key")).to_be_visible(timeout=3000)
    page.wire.call("RemoveDeduplicationKey", queue="again", deduplicationId="k")
    page.at("adds.replay").click()
    until("a second job is there", lambda: page.wire.call("Count", queue="again")["count"] == 2)
    jobs = page.wire.call("GetJobs", queue="again", limit=10)["jobs"]
    for field in ("data", "name", "uniqueKey", "priority", "maxAttempts", "deduplicationTtl"):
        same((field, jobs[0].get(field)), (field, jobs[1].get(field)))
    same(jobs[1]["data"]["big"], 2**53 + 1)
    page.page.keyboard.press("Escape")


@checks
def job_drawer(page):
    """a job's drawer shows payload, error and attempts; a failed job is retried from there"""
    id_ = page.add("jobs", data={"invoice": "R-77"}, maxAttempts=1)["id"]
    token = page.wire.call("PULL", queue="jobs", owner="w")["token"]
    page.wire.call("FAIL", id=id_, token=token, error="no such customer")
    page.show("jobs", q="queue:jobs")
    page.at("jobs.row", state="failed").click()
    drawer = page.at("jobs.drawer")
    expect(drawer).to_contain_text("no such customer", timeout=3000)
    expect(drawer).to_contain_text("R-77")
    page.at("jobs.retry").click()
    until("the job waits again", lambda: page.wire.call("GetState", id=id_)["state"] == "waiting")
    page.page.keyboard.press("Escape")


@checks
def filter_and_chips(page):
    """the filter and the chips are answered by the broker; a wrong filter is marked, not followed"""
    for number in range(3):
        page.add("filtered", f"user-{number}")
    page.show("keys", q="key:user-*")
    expect(page.at("keys.row")).to_have_count(3)
    page.show("keys", q="key:user-1")
    expect(page.at("keys.row")).to_have_count(1)
    page.show("adds", q="queue:nothing-here")
    expect(page.at("adds.empty")).to_contain_text("No adds match")


@checks
def many_rows(page):
    """ten thousand adds are listed without being drawn, and the page stays quick"""
    page.show("adds")
    page.wire.many(({"cmd": "PUSH", "queue": "many", "name": "n", "data": {"n": n}} for n in range(10_000)), window=500)
    expect(page.at("adds.row").first).to_be_visible(timeout=5000)
    page.page.wait_for_timeout(500)
    drawn = page.at("adds.row").count()
    assert drawn < 200, f"{drawn} rows are drawn"
    began = time.monotonic()
    page.show("keys")
    expect(page.at("keys.row").first).to_be_visible()
    assert time.monotonic() - began < 1.0, "changing the screen took more than a second"


@checks
def sizes(page):
    """at 1280x800 and 960x600 there are at least 19 and 14 rows of adds, and nothing wider than the window"""
    page.show("adds")
    for width, height, rows in ((1280, 800, 19), (960, 600, 14)):
        page.page.set_viewport_size({"width": width, "height": height})
        page.page.wait_for_timeout(300)
        visible = page.page.evaluate("""() => {
            const table = document.querySelector('[data-testid="adds.table"]').getBoundingClientRect();
            return [...document.querySelectorAll('[data-testid="adds.row"]')].map((row) => row.getBoundingClientRect())
                .filter((box) => box.top >= table.top && box.bottom <= table.bottom).length;
        }""")
        assert visible >= rows, f"{visible} rows at {width}x{height}"
        wider = page.page.evaluate("document.documentElement.scrollWidth > innerWidth || document.documentElement.scrollHeight > innerHeight")
        same((width, wider), (width, False))
    page.page.set_viewport_size({"width": 1280, "height": 800})


@checks
def without_mouse(page):
    """an add is opened and replayed with the keyboard alone"""
    page.add("keyboard", "k")
    page.show("adds", q="queue:keyboard")
    # Old rows stay until those of the new filter are there.
    expect(page.at("adds.row")).to_have_count(1, timeout=3000)
    page.at("adds.table").focus()
    page.page.keyboard.press("Enter")
    expect(page.at("adds.drawer")).to_be_visible()
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("r")
    expect(page.at("adds.row", key="k", decision="existing.key")).to_be_visible(timeout=3000)


@checks
def restart_of_the_broker(page):
    """while the broker is down the page says so; afterwards it is live again, with the same keys and time left"""
    page.add("restart", "kept")
    page.show("keys", q="queue:restart")
    expect(page.at("keys.row", key="kept")).to_be_visible(timeout=3000)
    page.broker.kill()
    expect(page.page.get_by_role("alert").or_(page.page.get_by_role("status")).filter(has_text=re.compile("broker", re.I)).first).to_be_visible(timeout=5000)
    page.broker.start()
    page.wire = page.broker.connect()
    # The new link in the same tab changes only the fragment; the page takes the token and loads itself again.
    with page.page.expect_event("load", timeout=10_000):
        page.page.goto(f"{page.broker.url}/#token={page.broker.token}")
    page.show("keys", q="queue:restart")
    expect(page.at("keys.row", key="kept")).to_be_visible(timeout=10_000)
    page.show("adds")
    page.add("restart", "after")
    expect(page.at("adds.row", key="after")).to_be_visible(timeout=3000)


@checks
def no_trouble(page):
    """in all this the page threw nothing, logged no error and asked no other host"""
    same(page.troubles, [])


def run(checks, subject=lambda page: page):
    """Runs checks on what `subject` makes of a page on a broker of its own. A failed one leaves a picture of the page."""
    with sync_playwright() as playwright, Broker(ui_port=free_port()) as broker:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = Page(browser, broker)
        code = checks.run(subject(page))
        if code:
            folder = os.path.join(TARGET, "browser")
            os.makedirs(folder, exist_ok=True)
            path = os.path.join(folder, f"{checks.area}-failed.png")
            page.page.screenshot(path=path)
            print(f"the page at the end: {path}")
        browser.close()
    return code


if __name__ == "__main__":
    sys.exit(run(checks))
