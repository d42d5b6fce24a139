#!/usr/bin/env python3
"""What clients send is shown as text and never run as markup: on every screen, in every drawer, in the palette and in what is copied.

Every text that a client or a worker can set holds markup that would add an element and call a function if a browser took it for such.
"""
import os
import sys

from playwright.sync_api import expect

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.checks import Checks, same  # noqa: E402
from test_browser import run  # noqa: E402

checks = Checks("markup")
EVIL = "\"'></script></style></textarea><x-ran id=ran></x-ran><img src=x onerror=ran()><script>ran()</script><svg onload=ran()>{{ran()}}${ran()}\u202e"
LINK = "javascript:ran()"
QUEUE = "markup"


def harm(page):
    """What ran, what became an element, and what would run on a click."""
    return page.page.evaluate("""() => ({
        ran: window.hasRun ?? 0,
        elements: document.querySelectorAll('x-ran, #ran, img[onerror], svg[onload]').length,
        links: [...document.querySelectorAll('a')].filter((link) => link.href.startsWith('javascript:')).length,
    })""")


NONE = {"ran": 0, "elements": 0, "links": 0}


def shows(page, text="<x-ran id=ran>"):
    expect(page.page.locator("body")).to_contain_text(text)
    same(harm(page), NONE)


@checks
def filled(page):
    """jobs, keys, workers, logs, results and errors full of markup are there"""
    page.page.evaluate("() => { window.ran = () => { window.hasRun = (window.hasRun ?? 0) + 1 } }")
    data = {EVIL: EVIL, "link": LINK, "deep": [[{"html": EVIL}]]}
    waits = page.wire.call("PUSH", queue=QUEUE, name=EVIL, data=data, uniqueKey=EVIL, dedup={"ttl": 600_000}, tags=[EVIL])
    assert waits["ok"], waits
    assert page.wire.call("PUSH", queue=QUEUE, name=EVIL, data=data, uniqueKey=EVIL, dedup={"ttl": 600_000})["ok"]
    assert not page.wire.call("PUSH", queue=EVIL, name="n", data=data)["ok"]
    assert not page.wire.call(EVIL)["ok"]
    assert page.wire.call("RegisterWorker", name=EVIL, queues=[QUEUE], hostname=EVIL, workerId=EVIL)["ok"]
    for ends in ("ACK", "FAIL", None):
        assert page.wire.call("PUSH", queue=f"{QUEUE}.{ends}", name=EVIL, data=data, jobId=f"{EVIL} {ends}", maxAttempts=1)["ok"]
        job = page.wire.call("PULL", queue=f"{QUEUE}.{ends}", owner=EVIL)
        id_, token = job["job"]["id"], job["token"]
        assert page.wire.call("AddLog", id=id_, message=EVIL)["ok"]
        assert page.wire.call("Progress", id=id_, progress=5, message=EVIL)["ok"]
        if ends == "ACK":
            assert page.wire.call("ACK", id=id_, token=token, result={EVIL: EVIL})["ok"]
        elif ends == "FAIL":
            assert page.wire.call("FAIL", id=id_, token=token, error=EVIL, stack=[EVIL])["ok"]


@checks
def adds(page):
    """Adds and its drawer"""
    page.show("adds")
    rows = page.at("adds.row")
    expect(rows).to_have_count(6)
    for at in range(6):
        rows.nth(at).click()
        expect(page.at("adds.drawer")).to_be_visible()
        same(harm(page), NONE)
        page.page.keyboard.press("Escape")
    shows(page)


@checks
def keys(page):
    """Keys, its drawer, and the question before a release"""
    page.show("keys")
    page.at("keys.row").first.click()
    expect(page.at("keys.drawer")).to_be_visible()
    page.at("keys.release").click()
    expect(page.at("keys.release.preview")).to_be_visible()
    shows(page)
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("Escape")


@checks
def jobs(page):
    """Jobs and the drawer of one that waits, runs, is done and failed"""
    page.show("jobs")
    for state in ("waiting", "active", "completed", "failed"):
        page.at("jobs.row", state=state).first.click()
        expect(page.at("jobs.drawer")).to_contain_text("<x-ran id=ran>")
        same(harm(page), NONE)
        page.page.keyboard.press("Escape")


@checks
def others(page):
    """Queues, Clients, Attention, Settings"""
    for screen in ("queues", "clients", "settings"):
        page.show(screen)
        page.page.wait_for_timeout(200)
        same(harm(page), NONE)
    page.show("clients")
    shows(page)


@checks
def palette_and_filter(page):
    """the palette and a filter that is not understood repeat what was typed as text"""
    page.show("adds")
    page.page.keyboard.press("Control+k")
    page.page.keyboard.insert_text(EVIL)
    page.page.wait_for_timeout(300)
    same(harm(page), NONE)
    # The first empties it.
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("Escape")
    expect(page.at("palette")).to_have_count(0)
    page.page.evaluate("text => { location.hash = '#/adds?q=' + encodeURIComponent(text) }", f"bogus:{EVIL}")
    page.page.wait_for_timeout(300)
    same(harm(page), NONE)


@checks
def replay(page):
    """the composer with an add full of markup, and the program it would be in each language"""
    page.show("adds", q=f"queue:{QUEUE}")
    page.at("adds.row").last.click()
    page.page.keyboard.press("e")
    expect(page.page.get_by_role("dialog")).to_be_visible()
    same(harm(page), NONE)
    page.page.keyboard.press("Escape")
    page.page.keyboard.press("Escape")


@checks
def nothing_ran(page):
    """a page opened by a link that holds markup shows it as text, too, and in all this nothing ran"""
    page.page.goto(f"{page.broker.url}/?{LINK}#/jobs?q=%3Cimg%20src%3Dx%20onerror%3Dran()%3E")
    expect(page.page.get_by_test_id("screen")).to_be_visible()
    same(harm(page), NONE)
    same(page.troubles, [])


if __name__ == "__main__":
    sys.exit(run(checks))
