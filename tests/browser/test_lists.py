#!/usr/bin/env python3
"""The lists of adds and keys in a real browser: many keys at once, windows set by hand, what deserves a look, repeats.

Jobs are added through raw frames, as any client would; the worker that is killed is a process of its own.
"""
import os
import subprocess
import sys
import time

from playwright.sync_api import expect

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.path.insert(0, HERE)

from kit.broker import free_port  # noqa: E402
from kit.checks import Checks, contains, same, until  # noqa: E402
from test_browser import WINDOW, run  # noqa: E402

checks = Checks("lists")
# From the kill of a worker to the mark at its key.
NOTICED_S_MAX = 5.0

# Takes one job, renews its lock on a second connection and then waits to be killed: a job whose lock was renewed elsewhere
# stays with its worker until the lease ends.
WORKER = """
import sys, time
sys.path.insert(0, sys.argv[2])
from kit.wire import Wire
one, two = Wire(int(sys.argv[1])), Wire(int(sys.argv[1]))
taken = one.call("PULL", queue="killed", owner="mailer-1", lockTtl=12000, detach=True)
two.call("JobHeartbeat", id=taken["job"]["id"], token=taken["token"], duration=12000)
print("taken", flush=True)
time.sleep(60)
"""


def attention_of(page, key):
    row = page.at("keys.row", key=key)
    return row.get_attribute("data-attention", timeout=500) if row.count() else None


@checks
def many_keys(page):
    """of 1,000 keys that match 990 are released, the 10 that changed are left alone and listed, and an undo puts all back"""
    page.wire.many([{"cmd": "PUSH", "queue": "bulk", "name": "n", "data": {"n": n}, "uniqueKey": f"b-{n:04}", "dedup": WINDOW} for n in range(1000)], window=200)
    page.show("keys", q="queue:bulk")
    expect(page.at("keys.row").first).to_be_visible(timeout=5000)
    page.at("keys.table").focus()
    page.page.keyboard.press("Control+a")
    page.page.keyboard.press("Control+a")
    expect(page.at("keys.bulk")).to_contain_text("All 1,000 that match")
    page.at("keys.bulk.release").click()
    expect(page.at("keys.bulk.groups")).to_contain_text("1,000 owners wait", timeout=5000)
    for n in range(10):
        page.add("bulk", f"b-{n * 90:04}", {"n": "other"}, dedup={**WINDOW, "replace": True})
    expect(page.at("keys.bulk.changed")).to_contain_text("10 changed", timeout=5000)
    page.at("keys.bulk.dialog.confirm").click()
    toast = page.at("toast").filter(has_text="Released 990 keys. 10 had changed and were left alone.")
    expect(toast).to_be_visible(timeout=10_000)
    same(page.broker.rpc({"type": "keys", "filter": "queue:bulk", "limit": 0})["total"], 10)
    toast.get_by_test_id("toast.offer").filter(has_text="Undo").click()
    expect(page.at("toast").filter(has_text="990 keys are held again.")).to_be_visible(timeout=10_000)
    same(page.broker.rpc({"type": "keys", "filter": "queue:bulk", "limit": 0})["total"], 1000)


@checks
def schedules_page(page):
    """of 450 schedules all can be reached by scrolling, in the order of a column"""
    for at in range(450):
        page.wire.call("Cron", name=f"many-{at:03}", queue="timed", repeatEvery=3_600_000 + at)
    page.show("schedules", q="many-")
    expect(page.at("schedules.row", schedule="many-000")).to_be_visible(timeout=5000)
    page.at("schedules.table").focus()
    for _ in range(8):
        page.page.keyboard.press("End")
        page.page.wait_for_timeout(300)
    expect(page.at("schedules.row", schedule="many-449")).to_be_visible(timeout=5000)
    page.show("schedules", q="many-", rev="1")
    expect(page.at("schedules.row").first).to_have_attribute("data-schedule", "many-449", timeout=5000)
    for at in range(450):
        page.wire.call("CronDelete", name=f"many-{at:03}")


@checks
def webhooks(page):
    """a webhook is added with the texts of a client's command, shows what came of its calls, is switched off and removed"""
    url = f"http://127.0.0.1:{free_port()}/hook"
    page.show("settings")
    page.at("webhooks.add").click()
    page.at("webhooks.url").fill("ftp://127.0.0.1/")
    page.at("webhooks.save").click()
    expect(page.at("webhooks.problem")).to_have_text("Webhook URL must use http or https protocol", timeout=5000)
    page.at("webhooks.url").fill(url)
    page.at("webhooks.queue").fill("hooked")
    page.at("webhooks.secret").fill("hidden in plain sight")
    page.at("webhooks.save").click()
    expect(page.at("webhooks")).to_contain_text("completed, failed in hooked", timeout=5000)
    page.wire.call("PUSH", queue="hooked", name="n", data=1, maxAttempts=1)
    page.wire.call("FAIL", id=page.wire.call("PULL", queue="hooked")["job"]["id"], error="no luck")
    expect(page.at("webhooks.failed")).to_have_text("1 given up", timeout=15_000)
    expect(page.at("webhooks.lastError")).not_to_be_empty()
    assert "in plain sight" not in page.page.content()
    page.at("webhooks.enabled").click()
    expect(page.page.locator("[data-webhook]")).to_have_attribute("data-enabled", "false", timeout=5000)
    same([one["enabled"] for one in page.wire.call("ListWebhooks")["data"]["webhooks"]], [False])
    page.at("webhooks.remove").click()
    page.at("webhooks.dialog.confirm").click()
    expect(page.at("webhooks.none")).to_be_visible(timeout=5000)


@checks
def left_out(page):
    """keys whose owner is active can be left out of a release of many"""
    page.add("out", "active", dedup=WINDOW)
    page.wire.call("PULL", queue="out", owner="w")
    page.add("out", "waits")
    page.show("keys", q="queue:out")
    for key in ("active", "waits"):
        expect(page.at("keys.row", key=key)).to_be_visible(timeout=3000)
    for box in page.at("keys.check").all():
        box.click()
    page.at("keys.bulk.release").click()
    contains(page.at("keys.bulk.groups").inner_text(), "1 owner waits", "1 owner is active", "two jobs can run at once")
    page.at("keys.bulk.leaveOut").check()
    expect(page.at("keys.bulk.dialog.confirm")).to_have_text("Release 1 key")
    page.at("keys.bulk.dialog.confirm").click()
    until("the waiting one is free", lambda: page.owner("out", "waits") is None)
    assert page.owner("out", "active") is not None


@checks
def window_by_hand(page):
    """a key's window is extended from the keyboard, and Z puts the old one back"""
    page.add("window", "w", dedup={"ttl": 120_000})
    page.show("keys", q="queue:window")
    expect(page.at("keys.row", key="w")).to_be_visible(timeout=3000)
    page.at("keys.table").focus()
    page.page.keyboard.press("t")
    page.at("keys.window.text").fill("2 h")
    page.page.keyboard.press("Enter")
    ttl = lambda: page.broker.rpc({"type": "key", "queue": "window", "key": "w"})["row"]["ttlMs"]  # noqa: E731
    until("the window is two hours", lambda: ttl() == 7_200_000)
    page.at("keys.window.popover").wait_for(state="detached")
    page.page.keyboard.press("z")
    until("the window is as it was", lambda: ttl() == 120_000)
    page.page.keyboard.press("Escape")


@checks
def ended_row(page):
    """a key whose window ends stays on the screen for a moment with its reason, then leaves"""
    page.show("keys", q="queue:ends")
    page.add("ends", "short", dedup={"ttl": 1500})
    expect(page.at("keys.row", key="short")).to_be_visible(timeout=3000)
    expect(page.at("keys.ended")).to_have_text("TTL ended", timeout=5000)
    expect(page.at("keys.row", key="short")).to_have_count(0, timeout=6000)


@checks
def killed_worker(page):
    """a killed worker's key is marked within 5 s, says when it heals, and the job comes back to waiting"""
    id_ = page.add("killed", "sync", dedup={"ttl": 600_000})["id"]
    command = [sys.executable, "-c", WORKER, str(page.broker.port), os.path.dirname(HERE)]
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    same(worker.stdout.readline().strip(), "taken")
    page.show("keys", q="queue:killed")
    expect(page.at("keys.row", state="active")).to_be_visible(timeout=3000)
    worker.kill()
    worker.wait()
    killed = time.monotonic()
    until("the mark", lambda: "worker_gone" in (attention_of(page, "sync") or ""), NOTICED_S_MAX)
    assert time.monotonic() - killed < NOTICED_S_MAX
    page.page.keyboard.press("!")
    panel = page.at("attention.key", key="sync")
    expect(panel).to_contain_text("its worker left")
    expect(panel.get_by_test_id("attention.heals")).to_contain_text("left.")
    panel.get_by_test_id("attention.return").click()
    until("the job waits again", lambda: page.wire.call("GetState", id=id_)["state"] == "waiting")
    until("nothing is wrong any more", lambda: not attention_of(page, "sync"))
    expect(page.at("keys.row", key="sync", state="waiting")).to_be_visible(timeout=3000)


@checks
def twins(page):
    """two live jobs with one key are in the attention panel, which shows both and asks about the one without the key"""
    first = page.add("twins", "t")["id"]
    page.wire.call("RemoveDeduplicationKey", queue="twins", deduplicationId="t")
    page.add("twins", "t")
    page.at("header.attention").click()
    panel = page.at("attention.key", key="t")
    expect(panel).to_contain_text("2 live jobs carry t", timeout=5000)
    panel.get_by_test_id("attention.twins").click()
    expect(page.at("jobs.row")).to_have_count(2, timeout=3000)
    page.at("header.attention").click()
    panel.get_by_test_id("attention.removeTwin").click()
    expect(page.at("jobs.id")).to_have_text(first, timeout=3000)
    page.at("jobs.remove.confirm").click()
    expect(page.at("jobs.row")).to_have_count(1, timeout=3000)
    # From a row's menu the question is about that row, whatever the drawer shows.
    page.add("twins", "other")
    page.show("jobs", queue="twins")
    page.at("jobs.row").nth(0).click()
    expect(page.at("jobs.drawer")).to_be_visible(timeout=3000)
    second = page.at("jobs.row").nth(1).get_attribute("data-id")
    page.at("jobs.row", id=second).click(button="right")
    page.at("jobs.menu.remove").click()
    page.at("jobs.remove.confirm").click()
    expect(page.at("jobs.row", id=second)).to_have_count(0, timeout=3000)
    expect(page.at("jobs.row")).to_have_count(1, timeout=3000)


@checks
def repeats(page):
    """in a storm repeats are one row with their number, which opens to the single adds"""
    page.show("adds")
    page.wire.many(({"cmd": "PUSH", "queue": "storm", "name": "n", "data": {"n": n}, "uniqueKey": "hot", "dedup": WINDOW} for n in range(2000)), window=200)
    group = page.at("adds.row", key="hot", decision="existing.key")
    expect(group.first).to_be_visible(timeout=5000)
    until("the repeats are counted", lambda: int(group.first.get_attribute("data-count") or 0) > 100, 8)
    page.show("adds", group="1", q="queue:storm")
    # Counted at one moment: rows come and go while the list is renewed.
    counted = "rows => rows.reduce((sum, row) => sum + Number(row.dataset.count || 1), 0)"
    until("all are counted", lambda: page.at("adds.row").evaluate_all(counted) == 2000, 8)
    group.first.click()
    expect(page.at("adds.short").first).to_be_visible(timeout=3000)
    page.at("adds.group.list").click()
    expect(page.at("adds.row").nth(20)).to_be_visible(timeout=3000)
    page.at("adds.within").click()
    page.at("adds.group").uncheck()
    expect(page.at("adds.row").nth(20)).to_be_visible(timeout=3000)


@checks
def compare(page):
    """D compares the data of an absorbed add with its owner's, line by line"""
    page.add("differs", "d", {"plan": "old", "same": 1})
    page.add("differs", "d", {"plan": "new", "same": 1}, priority=5)
    page.show("adds", q="queue:differs", group="0")
    expect(page.at("adds.row", key="d", decision="existing.key")).to_be_visible(timeout=3000)
    page.at("adds.table").focus()
    page.page.keyboard.press("Home")
    page.page.keyboard.press("d")
    contains(page.at("adds.diff").inner_text(), '"plan": "old"', '"plan": "new"')
    contains(" ".join(page.at("adds.fact").all_inner_texts()), "options dropped", "priority 5", "data differs")
    page.page.keyboard.press("Escape")


@checks
def filter_help(page):
    """the filter offers fields and values while one types; a mistake is underlined and the rows stay"""
    page.add("help", "me")
    page.show("keys", q="queue:help")
    expect(page.at("keys.row", key="me")).to_be_visible(timeout=3000)
    box = page.at("keys.filter")
    box.click()
    box.press("End")
    box.type(" sta")
    expect(page.at("keys.filter.offer")).to_have_text(["state:of the owner"])
    box.press("ArrowDown")
    box.press("Enter")
    box.type("w")
    box.press("ArrowDown")
    box.press("Enter")
    expect(box).to_have_value("queue:help state:waiting ")
    expect(page.at("keys.row", key="me")).to_be_visible()
    box.type("left:soon")
    expect(page.at("keys.filter.problem")).to_contain_text("left")
    expect(page.at("keys.filter.wrong")).to_have_text("left:soon")
    expect(page.at("keys.row", key="me")).to_be_visible()
    box.press("Escape")
    expect(page.at("keys.filter.problem")).to_have_count(0)


@checks
def columns_and_menu(page):
    """a column is switched on, widened and remembered; Shift F10 has the row's actions"""
    page.show("keys", q="queue:help")
    page.at("keys.more").click()
    page.at("keys.column", column="strategy").click()
    page.page.keyboard.press("Escape")
    head = page.page.get_by_role("columnheader", name="STRATEGY")
    expect(head).to_be_visible()
    edge = page.at("table.edge", column="key").bounding_box()
    width = lambda: page.page.get_by_role("columnheader", name="KEY").bounding_box()["width"]  # noqa: E731
    before = width()
    page.page.mouse.move(edge["x"] + 4, edge["y"] + 10)
    page.page.mouse.down()
    page.page.mouse.move(edge["x"] - 96, edge["y"] + 10)
    page.page.mouse.up()
    assert abs(before - width() - 100) < 3, (before, width())
    page.page.reload()
    expect(page.page.get_by_role("columnheader", name="STRATEGY")).to_be_visible(timeout=5000)
    assert abs(before - width() - 100) < 3
    expect(page.at("keys.row", key="me")).to_be_visible(timeout=3000)
    page.at("keys.table").focus()
    page.page.keyboard.press("Shift+F10")
    expect(page.at("keys.menu.release")).to_be_visible()
    page.page.keyboard.press("Escape")
    expect(page.at("keys.menu")).to_have_count(0)


@checks
def schedules(page):
    """schedules count down, run by key, are found by name, and go after a question"""
    cron = lambda name, **fields: page.wire.call("Cron", name=name, queue="planned", **fields)["cron"]  # noqa: E731
    cron("nightly", schedule="0 3 * * *", timezone="Europe/Berlin", maxLimit=7)
    cron("tick", repeatEvery=3_600_000)
    page.show("schedules")
    row = page.at("schedules.row", schedule="nightly")
    expect(row).to_be_visible(timeout=3000)
    contains(row.inner_text(), "0 3 * * *", "At 03:00", "Europe/Berlin", "0 of 7", "in ")
    contains(page.at("schedules.row", schedule="tick").inner_text(), "Every 1 h", "in ")
    row.focus()
    page.page.keyboard.press("r")
    until("it has run", lambda: page.wire.call("Count", queue="planned")["count"] == 1)
    expect(row).to_contain_text("added", timeout=3000)
    same(page.wire.call("CronGet", name="nightly")["cron"]["executions"], 0)
    page.show("schedules", q="tic")
    expect(row).to_have_count(0, timeout=3000)
    tick = page.at("schedules.row", schedule="tick")
    tick.focus()
    page.page.keyboard.press("Delete")
    page.at("schedules.delete.dialog.confirm").click()
    until("it is gone", lambda: not page.wire.call("CronGet", name="tick")["ok"])
    expect(page.at("schedules.empty")).to_contain_text("No schedules match", timeout=3000)
    page.wire.call("CronDelete", name="nightly")


@checks
def limits_of_a_queue(page):
    """a queue's limits are set and removed from its menu, its row shows them, and a group is paused and resumed"""
    limits = lambda: page.wire.call("GetQueueLimits", queue="mails")["data"]["limits"]  # noqa: E731
    for tenant in ("acme", "globex"):
        page.add("mails", groupId=tenant)
    page.show("queues", q="mails")
    page.at("queues.row", queue="mails").click(button="right")
    page.at("queues.menu.limits").click()
    expect(page.at("queues.limits.groups")).to_contain_text("globex", timeout=5000)
    page.at("queues.limits.most").fill("2")
    page.at("queues.limits.max").fill("5")
    page.page.get_by_role("button", name="Pause group acme").click()
    expect(page.page.get_by_role("button", name="Resume group acme")).to_be_visible(timeout=5000)
    same(page.wire.call("IsGroupPaused", queue="mails", groupId="acme")["data"], {"paused": True})
    page.page.get_by_role("button", name="Resume group acme").click()
    page.at("queues.limits.dialog.confirm").click()
    expect(page.at("toast").filter(has_text="hands out at most 2 jobs at once and 5 jobs per 1 s")).to_be_visible(timeout=5000)
    same((limits()["concurrencyLimit"], limits()["rateLimit"]), (2, {"max": 5, "duration": 1000}))
    expect(page.at("queues.row", queue="mails")).to_contain_text("5 per 1 s", timeout=5000)
    contains(page.at("queues.row", queue="mails").inner_text().replace("\u00a0", " "), "0 / 2")
    page.at("queues.row", queue="mails").click(button="right")
    page.at("queues.menu.limits").click()
    expect(page.at("queues.limits.most")).to_have_value("2", timeout=5000)
    page.at("queues.limits.most").fill("")
    page.at("queues.limits.max").fill("")
    page.at("queues.limits.dialog.confirm").click()
    expect(page.at("toast").filter(has_text="has no limits")).to_be_visible(timeout=5000)
    same((limits()["concurrencyLimit"], limits()["rateLimit"]), (None, None))


@checks
def no_trouble(page):
    """in all this the page threw nothing, logged no error and asked no other host"""
    same(page.troubles, [])


if __name__ == "__main__":
    sys.exit(run(checks))
