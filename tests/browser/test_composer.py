#!/usr/bin/env python3
"""The composer in a real browser: Chromium, driven by Playwright and mostly by keyboard, against a broker of its own.

What is foreseen is compared with what then happens, what is replayed with what was logged, and a payload of ten megabytes is
shown, copied, edited and sent while the page counts how long it was held up.
"""
import json
import os
import sys
import tempfile

from playwright.sync_api import expect, sync_playwright

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import Broker  # noqa: E402
from kit.checks import Checks, same, until  # noqa: E402

checks = Checks("composer")
CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run"]
# The longest that one step with the largest payload may hold up the page, on a machine that does other things too.
HELD_UP_MS_MAX = 1000


class Page:
    def __init__(self, browser, broker):
        self.broker, self.wire = broker, broker.connect()
        context = browser.new_context(viewport={"width": 1280, "height": 800}, permissions=["clipboard-read", "clipboard-write"])
        self.page = context.new_page()
        self.page.goto(f"{broker.url}/#token={broker.token}")
        expect(self.page.get_by_test_id("screen")).to_be_visible()
        self.show("adds")

    def show(self, place):
        self.page.evaluate("hash => { location.hash = hash }", f"#/{place}")

    def at(self, testid):
        return self.page.get_by_test_id(testid)

    def newest(self, text=""):
        return self.broker.rpc({"type": "adds", "filter": text, "limit": 1})["rows"][0]

    def write(self, text):
        """Replaces the text of the editor, as a paste does."""
        editor = self.at("composer.data").get_by_test_id("editor")
        editor.click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(text)

    def close(self):
        self.page.keyboard.press("Escape")
        expect(self.at("composer")).to_have_count(0)


@checks
def foreseen(page):
    """N opens it, what is said of an add happens when Ctrl Enter sends it, and again for its repetition"""
    for decision in ("created", "existing.key"):
        page.page.keyboard.press("n")
        page.at("composer.queue").fill("mail")
        page.at("composer.key.id").check()
        page.at("composer.dedup.key").fill("user-42")
        page.at("composer.dedup.ttl").fill("1 h")
        page.write('{"n": 9007199254740993}')
        expect(page.at("composer.ifSent")).to_have_attribute("data-decision", decision)
        chip = page.at("composer.why").inner_text()
        page.page.keyboard.press("Control+Enter")
        expect(page.at("composer")).to_have_count(0)
        row = page.newest()
        same(row["decision"], decision)
        same(row["dataPreview"], '{"n": 9007199254740993}')
        assert row["why"].split(".")[0].replace("`", "")[:20] in chip.replace("`", ""), (row["why"], chip)
        same(page.broker.rpc({"type": "draft", "seq": row["seq"]})["add"]["ttlMs"], 3_600_000)


@checks
def named(page):
    """a mistake is named at its field, nothing is sent, and the draft is there again after closing"""
    before = page.newest()["seq"]
    page.page.keyboard.press("n")
    page.at("composer.queue").fill("not a queue")
    expect(page.at("composer.queue")).to_have_attribute("aria-invalid", "true")
    page.page.get_by_text("Timing and retries").click()
    page.at("composer.delay").fill("soon")
    expect(page.at("composer.problem")).to_contain_text("delay")
    page.page.keyboard.press("Control+Enter")
    page.close()
    page.page.keyboard.press("n")
    expect(page.at("composer.queue")).to_have_value("not a queue")
    page.close()
    same(page.newest()["seq"], before)


@checks
def as_text(page):
    """the command can be written as JSON, and the form shows what was written"""
    page.page.keyboard.press("n")
    page.at("composer.tab.json").click()
    page.at("composer.json").get_by_test_id("editor").click()
    page.page.keyboard.press("Control+a")
    page.page.keyboard.insert_text('{"cmd": "PUSH", "queue": "json", "priority": 4, "tags": ["a"], "prio": 1}')
    expect(page.at("composer.ignored")).to_contain_text("prio")
    page.at("composer.tab.form").click()
    expect(page.at("composer.queue")).to_have_value("json")
    expect(page.at("composer.priority")).to_have_value("4")
    page.close()


@checks
def replayed(page):
    """E opens a logged add; its edit points to it, and a run of a thousand over sixteen connections makes one job"""
    page.wire.call("PUSH", queue="runs", name="task", data={"n": 1}, uniqueKey="once", delay=60_000)
    page.wire.call("RemoveDeduplicationKey", queue="runs", deduplicationId="once")
    page.wire.call("Drain", queue="runs")
    seq = page.newest("queue:runs")["seq"]
    page.at("adds.row").first.click()
    page.page.keyboard.press("e")
    expect(page.page.get_by_role("heading", name=f"Replay #{seq}")).to_be_visible()
    page.at("composer.times").fill("1000")
    page.at("composer.connections").fill("16")
    page.at("composer.send").click()
    page.at("composer.confirm.confirm").click()
    expect(page.at("composer.run")).to_contain_text("1,000 adds: 1 created, 999 returned, 0 rejected in", timeout=30_000)
    page.at("composer.run.show").click()
    row = page.newest("run:1")
    same((row["replayOf"], page.broker.rpc({"type": "adds", "filter": "run:1", "limit": 0})["total"]), (seq, 1000))


@checks
def exported(page):
    """the filtered log is saved as a file, every matching add in it"""
    for n in range(450):
        page.wire.call("PUSH", queue="kept", name="task", data={"n": n})
    page.show("adds?q=queue:kept")
    page.at("adds.more").click()
    with page.page.expect_download() as download:
        page.at("adds.more.ndjson").click()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "adds")
        download.value.save_as(path)
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
    same([json.loads(line["data"]) for line in lines], [{"n": n} for n in reversed(range(450))])


@checks
def large(page):
    """ten megabytes are loaded, copied, edited and sent, and no step holds the page up for long"""
    text = "x" * 1000
    data = {"list": [{"n": n, "text": text} for n in range(9_500)], "exact": 2**53 + 1}
    page.wire.call("PUSH", queue="large", name="task", data=data)
    seq = page.newest("queue:large")["seq"]
    page.page.evaluate("""() => {
        window.held = 0;
        new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) window.held = Math.max(window.held, entry.duration);
        }).observe({ type: 'longtask', buffered: true });
    }""")
    page.show(f"adds?open={seq}")
    page.at("adds.data.copy").click()
    until("the whole is copied", lambda: page.page.evaluate("async () => (await navigator.clipboard.readText()).length") > 9_000_000, 30)
    same(json.loads(page.page.evaluate("() => navigator.clipboard.readText()")), data)
    page.at("adds.edit").click()
    page.at("composer.takeData").click()
    editor = page.at("composer.data").get_by_test_id("editor")
    expect(editor).to_be_visible(timeout=30_000)
    editor.focus()
    page.page.keyboard.press("Control+Home")
    page.page.keyboard.press("ArrowRight")
    page.page.keyboard.insert_text('"first": true,')
    expect(page.at("composer.ifSent")).to_have_attribute("data-decision", "created", timeout=30_000)
    page.page.keyboard.press("Control+Enter")
    expect(page.at("composer")).to_have_count(0, timeout=30_000)
    got = json.loads(page.broker.rpc({"type": "addData", "seq": page.newest("queue:large")["seq"]})["text"])
    same(got, {"first": True, **data})
    held = page.page.evaluate("() => window.held")
    print(f"     the longest step held the page up for {held:.0f} ms", flush=True)
    assert held < HELD_UP_MS_MAX, f"{held} ms"


if __name__ == "__main__":
    with Broker() as broker, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = Page(browser, broker)
        page.wire.call("PUSH", queue="first", name="task", data=1)
        code = checks.run(page)
        browser.close()
    sys.exit(code)
