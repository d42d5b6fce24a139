#!/usr/bin/env python3
"""Everything without a mouse: each screen is reached, read and acted on with keys alone, and the broker says what came of it.

No check clicks or points; focus is moved by keys only and must be seen wherever it goes. The playground's keys are tried in
`test_playground.py`.
"""
import os
import sys

from playwright.sync_api import sync_playwright

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import Broker  # noqa: E402
from kit.checks import Checks, contains, same, until  # noqa: E402
from kit.scenes import CHROMIUM, FLAGS, Stage, traffic  # noqa: E402

checks = Checks("keyboard")
FOCUS = """() => {
    const at = document.activeElement;
    if (!at || at === document.body) return null;
    // A grid shows its focus on its active row, an editor on itself or on its frame.
    const shown = [at, at.closest('[data-focus]'), at.querySelector('.row.active'), at.parentElement].filter(Boolean);
    const seen = shown.some((one) => {
        const style = getComputedStyle(one);
        return (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2) || style.boxShadow !== 'none' || style.borderColor !== style.backgroundColor && one.matches('input, textarea, select');
    });
    return { name: at.dataset.testid ?? at.getAttribute('aria-label') ?? at.textContent.trim().slice(0, 30), seen };
}"""


class Keys:
    """A page and its keyboard."""

    def __init__(self, stage):
        self.stage, self.page, self.wire = stage, stage.page, stage.broker.connect()

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def type(self, text):
        self.page.keyboard.type(text)

    def on(self, screen):
        self.page.locator(f'[data-testid="screen"][data-screen="{screen}"]').wait_for()

    def see(self, testid, **attributes):
        self.stage.see(testid, **attributes)

    def gone(self, testid):
        self.page.locator(f'[data-testid="{testid}"]').first.wait_for(state="detached")

    def reach(self, *testids):
        """Moves the focus by Tab alone until one of these has it, and sees it on every stop of the way."""
        for _ in range(120):
            self.press("Tab")
            focus = self.page.evaluate(FOCUS)
            if focus is None:
                continue
            assert focus["seen"], f"the focus on {focus['name']} cannot be seen"
            if focus["name"] in testids:
                return
        raise AssertionError(f"Tab does not reach {testids}")

    def rows(self, screen, filter_=None):
        """Goes to a screen with its letter, filters it and lands on its first row."""
        self.press("Escape", "Escape", "g", screen[0])
        self.on(screen)
        if filter_ is not None:
            self.press("/", "Control+a")
            self.type(filter_)
            self.press("Enter")
        self.see(f"{screen}.row")
        self.page.wait_for_timeout(500)
        self.reach(f"{screen}.table")
        self.press("Home")

    def text(self, testid):
        return self.stage.at(testid).inner_text()


@checks
def screens(keys):
    """G and a letter reach every screen, Ctrl and comma the settings"""
    for letter, screen in (("a", "adds"), ("k", "keys"), ("j", "jobs"), ("q", "queues"), ("s", "schedules"), ("c", "clients"), ("p", "playground")):
        keys.press("g", letter)
        keys.on(screen)
    keys.press("Control+,")
    keys.on("settings")
    keys.reach("settings.singleKeys")


@checks
def adds(keys):
    """an add is found, opened, compared, replayed and followed to its key"""
    keys.rows("adds", "key:user-43 decision:existing")
    keys.press("Enter")
    keys.see("adds.why")
    contains(keys.text("adds.why"), "user-43")
    keys.press("Escape")
    keys.gone("adds.drawer")
    keys.press("d")
    keys.see("adds.diff")
    keys.press("Escape")
    keys.gone("adds.drawer")
    same(keys.page.evaluate("document.activeElement.dataset.testid"), "adds.table")
    before = keys.stage.broker.rpc({"type": "overview"})["counts"]["adds"]
    keys.press("r")
    until("the add was sent again", lambda: keys.stage.broker.rpc({"type": "overview"})["counts"]["adds"] == before + 1)
    keys.press("o")
    keys.on("keys")
    keys.see("keys.drawer")
    keys.press("Escape")


@checks
def many(keys):
    """rows are selected, a menu is opened and left, columns are chosen"""
    keys.rows("adds", "queue:profiles")
    keys.press("Space", "Shift+ArrowDown", "Shift+ArrowDown")
    keys.see("adds.bulk")
    contains(keys.text("adds.bulk"), "3")
    keys.press("Escape")
    keys.gone("adds.bulk")
    keys.press("Shift+F10")
    keys.see("adds.menu")
    keys.press("Escape")
    keys.gone("adds.menu")
    keys.press("Control+a")
    keys.see("adds.bulk")
    keys.press("Escape")


@checks
def release(keys):
    """a key is released after a preview, and Z takes that back"""
    owner = {"queue": "mail", "deduplicationId": "daily-digest"}
    holder = keys.wire.call("GetDeduplicationJobId", **owner)["data"]["jobId"]
    keys.rows("keys", "key:daily-digest")
    keys.press("x")
    keys.see("keys.release.preview")
    until("the focus is in the popover", lambda: keys.page.evaluate("document.activeElement.closest('[data-testid=\"keys.release.popover\"]') !== null"))
    keys.reach("keys.release.confirm") if keys.page.evaluate("document.activeElement.dataset.testid") != "keys.release.confirm" else None
    keys.press("Enter")
    until("the key is free", lambda: keys.wire.call("GetDeduplicationJobId", **owner)["data"]["jobId"] is None)
    keys.page.get_by_test_id("toast.offer").filter(has_text="Undo").wait_for()
    keys.press("z")
    until("the key is held again", lambda: keys.wire.call("GetDeduplicationJobId", **owner)["data"]["jobId"] == holder)


@checks
def jobs(keys):
    """a job is opened, its tabs are read, a failed one is retried and a waiting one removed"""
    failed = keys.stage.broker.rpc({"type": "jobs", "queue": "reports", "state": "failed", "limit": 1})["rows"][0]["id"]
    keys.rows("jobs", f"id:{failed}")
    keys.press("Enter")
    keys.see("jobs.drawer")
    keys.reach("jobs.tab.overview")
    keys.press("ArrowRight")
    keys.see("jobs.data")
    keys.press("Escape")
    keys.gone("jobs.drawer")
    keys.press("r")
    until("it is retried", lambda: keys.wire.call("GetState", id=failed)["state"] == "waiting")
    keys.press("Delete")
    keys.see("jobs.remove.popover")
    keys.reach("jobs.remove.confirm")
    keys.press("Enter")
    until("it is gone", lambda: not keys.wire.call("GetJob", id=failed)["ok"])


@checks
def queues(keys):
    """a queue is paused and resumed from its menu, and one is obliterated after its name was typed"""
    keys.wire.call("PUSH", queue="rubbish", name="task", data=1)
    keys.rows("queues", "rubbish")
    keys.press("Shift+F10")
    keys.see("queues.menu.pause")
    for _ in range(12):
        keys.press("ArrowDown")
        if keys.page.evaluate("document.activeElement.dataset.testid") == "queues.menu.pause":
            break
    keys.press("Enter")
    until("it is paused", lambda: keys.wire.call("IsPaused", queue="rubbish")["paused"])
    keys.reach("queues.table") if keys.page.evaluate("document.activeElement.dataset.testid") != "queues.table" else None
    keys.press("Home", "Shift+F10")
    keys.see("queues.menu.obliterate")
    for _ in range(12):
        keys.press("ArrowDown")
        if keys.page.evaluate("document.activeElement.dataset.testid") == "queues.menu.obliterate":
            break
    keys.press("Enter")
    keys.see("queues.obliterate.dialog")
    keys.reach("queues.obliterate.dialog.typed") if "typed" not in (keys.page.evaluate("document.activeElement.dataset.testid") or "") else None
    keys.type("rubbish")
    keys.press("Enter")
    until("it is gone", lambda: "rubbish" not in keys.wire.call("ListQueues")["queues"])


@checks
def clients(keys):
    """a client and what it said wrong are opened"""
    keys.rows("clients")
    keys.press("Enter")
    keys.see("clients.drawer")
    keys.press("Escape")
    keys.gone("clients.drawer")


@checks
def everywhere(keys):
    """the palette finds a job by its id, the attention panel, the list of keys and the composer open and close, L pauses"""
    job = keys.stage.broker.rpc({"type": "jobs", "queue": "billing", "limit": 1, "state": "waiting"})["rows"][0]["id"]
    keys.press("Escape", "g", "a")
    keys.on("adds")
    keys.press("Control+k")
    keys.see("palette.input")
    keys.type(job)
    keys.page.locator('[data-testid="palette.found"]', has_text=job).first.wait_for()
    keys.press("Enter")
    keys.on("jobs")
    keys.see("jobs.drawer")
    keys.press("Escape", "!")
    keys.see("attention.panel")
    keys.press("Escape")
    keys.gone("attention.panel")
    keys.press("?")
    keys.see("shortcuts")
    keys.press("Escape")
    keys.gone("shortcuts")
    keys.press("n")
    keys.see("composer")
    keys.press("Escape")
    keys.gone("composer")
    keys.press("l")
    until("it is paused", lambda: "paused" in keys.text("header.live").lower())
    keys.press("l")
    until("it is live", lambda: "live" in keys.text("header.live").lower())


@checks
def compose(keys):
    """an add is written and sent"""
    keys.press("Escape", "g", "a")
    keys.on("adds")
    keys.press("n")
    keys.see("composer")
    keys.reach("composer.queue") if keys.page.evaluate("document.activeElement.dataset.testid") != "composer.queue" else None
    keys.press("Control+a")
    keys.type("typed-by-hand")
    keys.press("Control+Enter")
    until("the job is there", lambda: keys.wire.call("Count", queue="typed-by-hand")["count"] == 1)
    keys.press("Escape")


def main():
    with Broker() as broker, sync_playwright() as playwright:
        clients_ = traffic(broker)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        stage = Stage(browser, broker, (1280, 800), "dark")
        stage.page.set_default_timeout(6000)
        code = checks.run(Keys(stage))
        browser.close()
        assert len(clients_) == 3
    return code


if __name__ == "__main__":
    sys.exit(main())
