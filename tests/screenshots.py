#!/usr/bin/env python3
"""Pictures of every screen, in both themes and at both sizes, of a broker with made-up but real traffic.

All of them go to the target folder's `screenshots`; those that the README shows are copied to `docs`.
"""
import os
import shutil
import sys
import time

from playwright.sync_api import sync_playwright

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kit.broker import ROOT, TARGET, Broker  # noqa: E402

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FOLDER = os.path.join(TARGET, "screenshots")
SIZES = [(1280, 800), (960, 600)]
SHOWN = {"adds-1280x800-dark": "adds", "keys-open-1280x800-dark": "keys", "jobs-1280x800-light": "jobs"}
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]


def traffic(broker):
    """Adds of every kind, so that each decision has a row."""
    web, mail, worker = broker.connect(), broker.connect(), broker.connect()

    def push(client, queue, name, data, **options):
        return client.call("PUSH", queue=queue, name=name, data=data, **options)

    def window(ttl, **more):
        return {"ttl": ttl, **more}

    worker.call("RegisterWorker", name="mailer-1", queues=["mail", "sync"], concurrency=2, hostname="localhost", pid=os.getpid())
    for user in range(38, 52):
        push(web, "profiles", "save", {"user": user, "theme": "dark"}, uniqueKey=f"user-{user}", dedup=window(45_000 * (user - 36), extend=True))
    for _ in range(6):
        push(web, "profiles", "save", {"user": 42, "theme": "dark"}, uniqueKey="user-42", dedup=window(270_000, extend=True))
    push(web, "profiles", "save", {"user": 43, "theme": "light"}, uniqueKey="user-43", dedup=window(315_000))
    push(mail, "mail", "digest", {"day": "2026-06-01"}, uniqueKey="daily-digest", dedup=window(3_600_000))
    job = worker.call("PULL", queue="mail", owner="mailer-1")
    worker.call("ACK", id=job["job"]["id"], token=job["token"], result={"sent": 812})
    push(mail, "mail", "digest", {"day": "2026-06-01"}, uniqueKey="daily-digest", dedup=window(3_600_000))
    push(web, "billing", "charge", {"order": 123, "amount": 49.9, "currency": "EUR"}, jobId="order-123")
    push(web, "billing", "charge", {"order": 123, "amount": 49.9, "currency": "EUR"}, jobId="order-123")
    push(mail, "mail", "receipt", {"order": 123}, jobId="order-123")
    push(web, "sync", "sync-task", {"action": "sync", "since": "2026-05-31T22:00:00Z"}, uniqueKey="sync-task", dedup=window(60_000))
    held = worker.call("PULL", queue="sync", owner="mailer-1", lockTtl=60_000)
    for _ in range(3):
        push(mail, "sync", "sync-task", {"action": "sync"}, uniqueKey="sync-task", dedup=window(60_000, extend=True))
    push(web, "settings", "apply", {"tenant": 7, "plan": "basic"}, uniqueKey="tenant-7")
    worker.call("PULL", queue="settings", owner="mailer-1", lockTtl=120_000)
    push(web, "settings", "apply", {"tenant": 7, "plan": "pro"}, uniqueKey="tenant-7", dedup={"replace": True})
    push(web, "settings", "apply", {"tenant": 7, "plan": "team"}, uniqueKey="tenant-7", dedup={"replace": True})
    for text in ("o", "on", "once"):
        push(web, "search", "index", {"text": text}, uniqueKey="search-box", delay=20_000, dedup=window(20_000, extend=True, replace=True))
    push(mail, "reports", "nightly", {"year": 2026}, uniqueKey="nightly", backoff={"type": "fixed", "delay": 600_000})
    failed = worker.call("PULL", queue="reports", owner="mailer-1")
    worker.call("FAIL", id=failed["job"]["id"], token=failed["token"], error="connect ECONNREFUSED 10.0.0.5:5432", stack=["at connect (db.ts:41)", "at nightly (reports.ts:12)"])
    push(mail, "reports", "nightly", {"year": 2026}, uniqueKey="nightly")
    push(mail, "reports", "weekly", {"week": 22}, maxAttempts=1)
    failed = worker.call("PULL", queue="reports", owner="mailer-1")
    worker.call("FAIL", id=failed["job"]["id"], token=failed["token"], error="Template not found: weekly.html", stack=["at render (mail.ts:8)"])
    push(web, "billing", "charge", {"order": 124}, priority="high")
    push(web, "imports", "load", {"file": "users.csv", "rows": 120_000}, dedup={"hash": True})
    push(web, "imports", "load", {"rows": 120_000, "file": "users.csv"}, dedup={"hash": True})
    web.call("PUSHB", queue="mail", jobs=[{"name": "welcome", "data": {"user": user}, "uniqueKey": f"welcome-{user}"} for user in range(8)])
    return [web, mail, worker, held]


def shoot(page, url, name, size, theme):
    page.goto(url)
    page.wait_for_timeout(350)
    file = f"{name}-{size[0]}x{size[1]}-{theme}"
    page.screenshot(path=os.path.join(FOLDER, file + ".png"))
    if file in SHOWN:
        shutil.copy(os.path.join(FOLDER, file + ".png"), os.path.join(ROOT, "docs", SHOWN[file] + ".png"))


def rounds(browser, broker):
    jobs = broker.rpc({"type": "jobs", "queue": "reports", "state": "failed", "limit": 1})["rows"]
    refused = broker.rpc({"type": "adds", "filter": "decision:rejected.extend", "limit": 1})["rows"]
    screens = {
        "start": "start", "adds": "adds", "adds-open": f"adds?open={refused[0]['seq']}", "keys": "keys",
        "keys-open": "keys?open=sync/sync-task", "jobs": "jobs", "jobs-open": f"jobs?open={jobs[0]['id']}",
        "queues": "queues", "clients": "clients", "settings": "settings",
    }
    for size in SIZES:
        for theme in ("dark", "light"):
            context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=theme)
            page = context.new_page()
            page.goto(f"{broker.url}/#token={broker.token}")
            page.wait_for_timeout(500)
            for name, route in screens.items():
                shoot(page, f"{broker.url}/#/{route}", name, size, theme)
            played(page, broker, size, theme)
            context.close()


def played(page, broker, size, theme):
    """The playground with a scenario that has been played."""
    place = f"{broker.url}/#/playground?s=latest-settings-win"
    page.goto(place)
    page.get_by_test_id("playground.speed").select_option("5")
    page.get_by_test_id("playground.run").click()
    page.get_by_text("Run again").wait_for()
    shoot(page, place, "playground", size, theme)


def main():
    os.makedirs(FOLDER, exist_ok=True)
    os.makedirs(os.path.join(ROOT, "docs"), exist_ok=True)
    with Broker() as broker, sync_playwright() as playwright:
        clients = traffic(broker)
        time.sleep(0.3)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        rounds(browser, broker)
        browser.close()
        assert len(clients) == 4
    print(f"pictures are in {FOLDER}")


if __name__ == "__main__":
    main()
