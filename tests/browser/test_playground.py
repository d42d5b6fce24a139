#!/usr/bin/env python3
"""The playground as a user meets it: scenarios, the run by hand, files, and all of it without a mouse.

It runs in Chromium on the page that the broker serves. The broker itself must not notice: at the end its log of adds is empty.
"""
import json
import os
import sys
import tempfile

from playwright.sync_api import expect

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import ROOT  # noqa: E402
from kit.checks import Checks, contains, same  # noqa: E402
from test_browser import run  # noqa: E402

checks = Checks("playground")
AXE = os.path.join(ROOT, "ui", "node_modules", "axe-core", "axe.min.js")
SIZES = [(1280, 800), (960, 600)]
# Rules whose breach makes something unusable for some people.
GRAVE = ("serious", "critical")
# The part of its time that a page may work while a full run is shown, and over how long that is measured.
BUSY_MAX = 0.5
BUSY_OVER_MS = 3_000

# The least that a scenario's file says.
FILE = {"title": "A file", "queue": "q", "key": "k", "worker": {"auto": True, "durationMs": 500, "leaseMs": 5000}}


class Play:
    """The playground on a page, and short ways to look at it."""

    def __init__(self, page):
        self.all, self.page = page, page.page

    def open(self, scenario, speed="5"):
        self.all.show("playground", s=scenario)
        expect(self.at("scenario")).to_have_value(scenario)
        self.at("reset").click()
        self.at("speed").select_option(speed)
        expect(self.at("clock")).to_have_attribute("data-clock", "ready")
        return self

    def at(self, part):
        return self.page.get_by_test_id(f"playground.{part}")

    def lane(self, at, part):
        return self.at("lane").nth(at).get_by_test_id(f"playground.{part}")

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def tab_to(self, testid):
        """Moves the focus by Tab alone, as someone without a mouse does."""
        for _ in range(80):
            self.press("Tab")
            if self.page.evaluate("document.activeElement?.dataset.testid") == testid:
                return
        raise AssertionError(f"Tab does not reach {testid}")

    def ended(self):
        expect(self.at("clock")).to_have_attribute("data-clock", "done", timeout=15_000)

    def figures(self, at):
        texts = self.lane(at, "figure.jobs").inner_text(), self.lane(at, "figure.runs").inner_text()
        return [int(text.split()[-1]) for text in texts]


@checks
def newest_wins(play):
    """"Latest settings win" by keys alone: replace ends with the newest data, the plain key with the oldest, in words"""
    play.all.show("adds")
    play.press("g", "p")
    expect(play.at("lane").first).to_be_visible()
    play.tab_to("playground.scenario")
    play.page.keyboard.type("Latest")
    expect(play.at("lane")).to_have_count(3)
    play.tab_to("playground.run")
    play.press("Enter")
    play.ended()
    same(play.page.evaluate("location.hash"), "#/playground?s=latest-settings-win")
    expect(play.lane(0, "last")).to_have_text("last data v1")
    expect(play.lane(0, "ran")).to_have_text("v1 ran last: the oldest data. v2 to v4 did not run.")
    expect(play.lane(1, "last")).to_have_text("last data v4")
    expect(play.lane(1, "ran")).to_have_text("v4 ran last: the newest data. v2 and v3 did not run.")


@checks
def scenarios(play):
    """every shipped scenario runs by itself, with its three lines and the counts that these promise"""
    wanted = {
        "double-click": [[2, 2], [1, 1]],
        "webhook-storm": [[8, 8], [6, 6], [1, 1]],
        "search-as-you-type": [[6, 6], [1, 1], [6, 1]],
        "latest-settings-win": [[1, 1], [4, 2], [2, 2]],
        "worker-dies": [[1, 2], [2, 3], [3, 4]],
        "two-queues": [[1, 1], [2, 2]],
        "lost-reply": [[3, 3], [2, 2], [1, 1]],
    }
    for name, lanes in wanted.items():
        play.open(name)
        play.at("run").click()
        play.ended()
        same([play.figures(at) for at in range(len(lanes))], lanes)
        same(play.at("text").locator("dd").count(), 3)
        assert play.at("line").count() > 3, name


@checks
def by_hand(play):
    """a run by hand without a mouse: adds, lanes, pick up, complete, fail, step and reset"""
    play.open("custom", "1")
    expect(play.at("empty")).to_have_text("Press Space to add. Every lane gets the same add; watch what each strategy does with it.")
    play.tab_to("playground.auto")
    play.press("Space")
    expect(play.at("auto")).not_to_be_checked()
    play.page.evaluate("document.activeElement.blur()")
    play.press("Space", "Space")
    expect(play.lane(2, "figure.jobs")).to_have_text("jobs 2")
    expect(play.lane(0, "figure.absorbed")).to_have_text("absorbed 1")
    play.press("1")
    expect(play.at("where")).to_have_text("lane 1:")
    play.press("w")
    expect(play.lane(0, "figure.runs")).to_have_text("runs 1")
    expect(play.lane(1, "figure.runs")).to_have_text("runs 0")
    play.press("c")
    expect(play.lane(0, "ran")).to_contain_text("v1 ran last: the oldest data.")
    play.press("1", "3", "w", "f")
    expect(play.at("line").last).to_contain_text("failed, attempt 1 of 3. It is tried again in")
    play.press("s")
    expect(play.at("clock")).to_have_attribute("data-clock", "paused")
    play.press("0")
    expect(play.at("clock")).to_have_text("t=0.0 s")
    expect(play.at("line")).to_have_count(0)


@checks
def pointing(play):
    """arrow keys and the pointer tell the same sentence that the log has; the table has it too"""
    play.open("double-click")
    play.at("run").click()
    play.ended()
    play.at("picture").nth(1).focus()
    for _ in range(10):
        play.press("ArrowRight")
        if "returned" in play.at("said").inner_text():
            break
    sentence = "Returned order-123 (active): the job ID is in use by an unfinished job."
    contains(play.at("said").inner_text(), "t=0.75 s", "job ID", sentence)
    contains(play.at("log").inner_text(), sentence)
    play.press("Escape")
    play.at("picture").nth(1).locator('[data-decision="existing.job_id"] path').hover(force=True)
    contains(play.at("said").inner_text(), sentence)
    play.at("tables").click()
    contains(play.at("table").nth(1).inner_text(), sentence, "completed at 1.6 s")
    play.at("tables").click()


@checks
def a_dead_worker(play):
    """a killed worker's job stays active until its lease runs out, then it waits again"""
    play.open("custom", "5")
    play.at("auto").uncheck()
    play.at("add").click()
    play.at("pickUp").click()
    play.at("kill").click()
    expect(play.at("kill")).to_be_disabled()
    expect(play.at("log")).to_contain_text("is gone without a word. Its lease ends in")
    expect(play.at("log")).to_contain_text("ran out: it waits again.", timeout=10_000)


@checks
def files(play):
    """a run by hand is saved, opened in another window and plays there the same; a broken file is refused by name"""
    play.open("custom", "5")
    play.at("auto").uncheck()
    for _ in range(3):
        play.at("add").click()
    play.at("pickUp").click()
    play.at("share").click()
    shown = play.at("share.text").input_value()
    with play.page.expect_download() as download:
        play.at("share.save").click()
    path = os.path.join(tempfile.mkdtemp(prefix="onceover-test-"), download.value.suggested_filename)
    download.value.save_as(path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    same((text, os.path.basename(path)), (shown, "my-custom.json"))
    same([step["act"]["do"] for step in json.loads(text)["script"]], ["add", "add", "add", "work"])
    play.press("Escape")
    wanted = [play.figures(at) for at in range(3)]
    other = play.page.context.new_page()
    other.goto(f"{play.all.broker.url}/#/playground")
    there = Play(play.all)
    there.page = other
    expect(there.at("lane").first).to_be_visible()
    there.at("share").click()
    there.at("share.file").set_input_files(path)
    expect(there.at("scenario")).to_have_value("my-custom")
    there.at("run").click()
    there.ended()
    same([there.figures(at) for at in range(3)], wanted)
    there.at("share").click()
    there.at("share.file").set_input_files({"name": "x.json", "mimeType": "application/json", "buffer": b'{"title": 7}'})
    expect(other.get_by_test_id("toast").first).to_contain_text("Not a scenario: invalid type: integer 7, expected a string at line 1")
    other.close()


@checks
def code(play):
    """the add of a lane is there as a program of each client, with the lane's options"""
    play.open("webhook-storm")
    play.at("share").click()
    play.at("share.code.tab").click()
    play.at("code.lane").select_option("2")
    for language, parts in {"typescript": ["evt-8812", "8000", "webhooks"], "python": ["evt-8812", "8000"], "rust": ["evt-8812", "8"]}.items():
        play.at("code.language").select_option(language)
        contains(play.at("code").inner_text(), *parts)
    play.press("Escape")


@checks
def windows(play):
    """two windows have runs of their own, and a reload keeps a window's run"""
    play.open("custom", "1")
    play.at("add").click()
    expect(play.lane(0, "figure.jobs")).to_have_text("jobs 1")
    other = play.page.context.new_page()
    other.goto(f"{play.all.broker.url}/#/playground?s=custom")
    expect(other.get_by_test_id("playground.figure.jobs").first).to_have_text("jobs 0")
    other.close()
    play.page.reload()
    expect(play.lane(0, "figure.jobs")).to_have_text("jobs 1")


@checks
def takes_over(play):
    """"Use this strategy" opens the composer with the lane's options"""
    play.open("webhook-storm")
    play.lane(2, "use").click()
    sheet = play.page.get_by_role("dialog")
    expect(sheet).to_be_visible()
    values = sheet.locator("input").evaluate_all("inputs => inputs.map(input => input.value)")
    assert "evt-8812" in values and "webhooks" in values, values
    play.press("Escape")
    expect(sheet).to_have_count(0)


@checks
def presenting(play):
    """presentation hides the navigation, half as large again; Escape leaves it"""
    play.open("two-queues")
    size = "document.querySelector('[data-testid=\"playground.ran\"]').getBoundingClientRect().height"
    before = play.page.evaluate(size)
    play.at("present").click()
    expect(play.page.get_by_test_id("nav.adds")).to_have_count(0)
    assert play.page.evaluate(size) > before * 1.4
    play.press("Escape")
    expect(play.page.get_by_test_id("nav.adds")).to_be_visible()


@checks
def looks(play):
    """nothing is cut at both sizes in both themes, and no serious fault for assistive technology"""
    for width, height in SIZES:
        play.page.set_viewport_size({"width": width, "height": height})
        for theme in ("dark", "light"):
            play.page.emulate_media(color_scheme=theme)
            for table in (False, True):
                play.open("worker-dies")
                play.at("run").click()
                play.ended()
                if table:
                    play.at("tables").click()
                same(play.page.evaluate(CUT), [])
                play.page.evaluate(open(AXE, encoding="utf-8").read())
                found = play.page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
                grave = [(it["id"], [node["html"][:120] for node in it["nodes"]]) for it in found if it["impact"] in GRAVE]
                same(grave, [])
                if table:
                    play.at("tables").click()
    play.page.set_viewport_size({"width": 1280, "height": 800})
    play.page.emulate_media(color_scheme=None)


# Texts that do not fit where they stand, unless they are meant to be cut with an ellipsis.
CUT = """() => [...document.querySelectorAll('[data-testid="playground"] *')].filter((it) => {
    if (!it.clientWidth || it.closest('.cut, .sr, svg, select, textarea') || it.matches('input')) return false;
    const style = getComputedStyle(it), box = it.getBoundingClientRect();
    const hidden = style.overflowX !== 'visible' && style.overflowX !== 'auto';
    return (hidden && it.scrollWidth > it.clientWidth + 1) || box.right > innerWidth + 1;
}).map((it) => it.className + ': ' + it.textContent.slice(0, 60))"""


@checks
def calm(play):
    """a run holds 200 adds and says so; in three such lanes the running clock takes less than half of the page's time"""
    script = [{"atMs": 10 * at, "act": {"do": "add", "v": at + 1}} for at in range(200)]
    lanes = [{"strategy": "none"}, {"strategy": "replace"}, {"strategy": "extend", "ttlMs": 5000}]
    full = {**FILE, "id": "full", "lanes": lanes, "script": script, "lengthMs": 60_000}
    play.open("custom", "1")
    play.at("share").click()
    play.at("share.file").set_input_files({"name": "full.json", "mimeType": "application/json", "buffer": json.dumps(full).encode()})
    expect(play.at("scenario")).to_have_value("full")
    play.at("run").click()
    expect(play.at("v")).to_have_attribute("placeholder", "201", timeout=30_000)
    session = play.page.context.new_cdp_session(play.page)
    # Time of the processor and not of the wall, so that what runs beside this test does not count.
    session.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy():
        return {it["name"]: it["value"] for it in session.send("Performance.getMetrics")["metrics"]}["TaskDuration"]

    before = busy()
    play.page.wait_for_timeout(BUSY_OVER_MS)
    share = (busy() - before) * 1000 / BUSY_OVER_MS
    print(f"     the page was busy {share:.0%} of the time")
    assert share < BUSY_MAX, f"{share:.0%}"
    play.press("Space")
    expect(play.page.get_by_test_id("toast").last).to_contain_text("This run has 200 adds")


@checks
def untouched(play):
    """in all this the broker logged no add, the page threw nothing and asked no other host"""
    same(play.all.broker.rpc({"type": "overview"})["counts"]["adds"], 0)
    same(play.all.troubles, [])


if __name__ == "__main__":
    sys.exit(run(checks, Play))
