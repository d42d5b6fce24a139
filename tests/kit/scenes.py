"""Every screen, drawer, dialog and state of the page with something in it: for pictures, and for checks that hold everywhere.

`traffic` fills a broker with made-up but real adds. A scene is a function that brings a fresh page into its state; each begins
with a page of its own, so that no scene depends on another.
"""
import os

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"]
SIZES = [(1280, 800), (960, 600)]
THEMES = ["dark", "light"]
LONG = "user-with-a-very-long-key-" + "0123456789abcdef" * 8
LONG_QUEUE = "queue-with-a-very-long-name-" + "0123456789abcdef" * 5


def traffic(broker):
    """Adds of every kind, so that each decision has a row. Returns the connections, which have to stay open."""
    web, mail, worker = broker.connect(), broker.connect(), broker.connect()

    def push(client, queue, name, data, **options):
        return client.call("PUSH", queue=queue, name=name, data=data, **options)

    def window(ttl, **more):
        return {"ttl": ttl, **more}

    limits_and_family(web)
    worker.call("RegisterWorker", name="mailer-1", queues=["mail", "sync"], concurrency=2, hostname="localhost", pid=os.getpid())
    for user in range(38, 52):
        push(web, "profiles", "save", {"user": user, "theme": "dark"}, uniqueKey=f"user-{user}", dedup=window(300_000 * (user - 36), extend=True))
    for _ in range(6):
        push(web, "profiles", "save", {"user": 42, "theme": "dark"}, uniqueKey="user-42", dedup=window(270_000, extend=True))
    push(web, "profiles", "save", {"user": 43, "theme": "light"}, uniqueKey="user-43", dedup=window(315_000))
    push(web, "profiles", "save", {"note": "long " * 300, "n": 2**60}, uniqueKey=LONG, dedup=window(3_600_000))
    push(mail, "mail", "digest", {"day": "2026-06-01"}, uniqueKey="daily-digest", dedup=window(3_600_000))
    job = worker.call("PULL", queue="mail", owner="mailer-1")
    worker.call("ACK", id=job["job"]["id"], token=job["token"], result={"sent": 812})
    push(mail, "mail", "digest", {"day": "2026-06-01"}, uniqueKey="daily-digest", dedup=window(3_600_000))
    push(web, "billing", "charge", {"order": 123, "amount": 49.9, "currency": "EUR"}, jobId="order-123")
    push(web, "billing", "charge", {"order": 123, "amount": 49.9, "currency": "EUR"}, jobId="order-123")
    push(mail, "mail", "receipt", {"order": 123}, jobId="order-123")
    push(web, "sync", "sync-task", {"action": "sync", "since": "2026-05-31T22:00:00Z"}, uniqueKey="sync-task", dedup=window(600_000))
    worker.call("PULL", queue="sync", owner="mailer-1", lockTtl=600_000)
    for _ in range(3):
        push(mail, "sync", "sync-task", {"action": "sync"}, uniqueKey="sync-task", dedup=window(600_000, extend=True))
    push(web, "settings", "apply", {"tenant": 7, "plan": "basic"}, uniqueKey="tenant-7")
    worker.call("PULL", queue="settings", owner="mailer-1", lockTtl=600_000)
    push(web, "settings", "apply", {"tenant": 7, "plan": "pro"}, uniqueKey="tenant-7", dedup={"replace": True})
    push(web, "settings", "apply", {"tenant": 7, "plan": "team"}, uniqueKey="tenant-7", dedup={"replace": True})
    for text in ("o", "on", "once"):
        push(web, "search", "index", {"text": text}, uniqueKey="search-box", delay=240_000, dedup=window(240_000, extend=True, replace=True))
    push(mail, "reports", "nightly", {"year": 2026}, uniqueKey="nightly", backoff={"type": "fixed", "delay": 600_000})
    failed = worker.call("PULL", queue="reports", owner="mailer-1")
    worker.call("FAIL", id=failed["job"]["id"], token=failed["token"], error="connect ECONNREFUSED 10.0.0.5:5432", stack=["at connect (db.ts:41)", "at nightly (reports.ts:12)"])
    push(mail, "reports", "nightly", {"year": 2026}, uniqueKey="nightly")
    push(mail, "reports", "weekly", {"week": 22}, maxAttempts=1)
    failed = worker.call("PULL", queue="reports", owner="mailer-1")
    worker.call("AddLog", id=failed["job"]["id"], message="rendering 12 pages", level="info")
    worker.call("FAIL", id=failed["job"]["id"], token=failed["token"], error="Template not found: weekly.html", stack=["at render (mail.ts:8)"])
    push(web, "billing", "charge", {"order": 124}, priority="high")
    push(web, "imports", "load", {"file": "users.csv", "rows": 120_000}, dedup={"hash": True})
    push(web, "imports", "load", {"rows": 120_000, "file": "users.csv"}, dedup={"hash": True})
    mail.call("Cron", name="nightly-report", queue="reports", jobName="nightly", schedule="30 2 * * *", timezone="Europe/Berlin")
    mail.call("Cron", name="sync-contacts", queue="sync", jobName="contacts", repeatEvery=900_000, immediately=True)
    mail.call("Cron", name="trial-mails", queue="mail", jobName="trial", schedule="0 9 * * mon-fri", maxLimit=10, immediately=True)
    web.call("AddWebhook", url="http://127.0.0.1:9/hooks/mail?team=billing", events=["job.completed", "job.failed"], queue="mail", secret="s")
    web.call("AddWebhook", url="https://hooks.example.com/onceover/everything/that/happens/to/jobs/of/this/broker", events=["job.progress"])
    web.call("PUSHB", queue="mail", jobs=[{"name": "welcome", "data": {"user": user}, "uniqueKey": f"welcome-{user}"} for user in range(8)])
    web.call("Nonsense", field=1)
    return [web, mail, worker]


def limits_and_family(client):
    """A queue with limits and groups, one with a name as long as can be, and a parent that waits for its children."""
    for tenant in ("acme", "acme", "globex", LONG):
        client.call("PUSH", queue="tenants", name="bill", data={}, groupId=tenant)
    client.call("SetConcurrency", queue="tenants", limit=20)
    client.call("RateLimit", queue="tenants", limit=100, duration=60_000)
    client.call("SetGroupConcurrency", queue="tenants", groupId="acme", concurrency=2)
    client.call("SetGroupRateLimit", queue="tenants", groupId="acme", max=10, duration=60_000)
    client.call("PauseGroup", queue="tenants", groupId="globex")
    client.call("PUSH", queue=LONG_QUEUE, name="bill", data={})
    client.call("RateLimit", queue=LONG_QUEUE, limit=100_000, duration=3_600_000)
    client.call("Cron", name=LONG, queue=LONG_QUEUE, jobName="bill", schedule="0 0 1,15 * *", timezone="America/Argentina/Buenos_Aires")
    pages = ["page-1", "page-2", "page-" + "0123456789abcdef" * 4]
    of_book = {"data": {"__parentId": "book", "__parentQueue": "books"}, "parentId": "book"}
    book = {"data": {"__childrenIds": pages}, "childrenIds": pages, "dependsOn": pages}
    jobs = [{"id": page, "queue": "books", "input": {"name": "page", **of_book}} for page in pages]
    client.call("PUSHF", jobs=[*jobs, {"id": "book", "queue": "books", "input": {"name": "book", **book}}])


class Stage:
    """A page in one size and theme, and short ways to bring it somewhere."""

    def __init__(self, browser, broker, size, theme):
        self.broker, self.size, self.theme = broker, size, theme
        self.context = browser.new_context(viewport={"width": size[0], "height": size[1]}, color_scheme=theme, reduced_motion="reduce")
        self.page = self.context.new_page()
        self.page.goto(f"{broker.url}/#token={broker.token}")
        # The first answer: the token has become a cookie, which the pages after this one need.
        self.page.get_by_test_id("header.address").wait_for()

    def close(self):
        self.context.close()

    def go(self, route):
        self.page.goto("about:blank")
        self.page.goto(f"{self.broker.url}/#/{route}")
        self.page.get_by_test_id("screen").wait_for()

    def at(self, testid, **attributes):
        selector = f'[data-testid="{testid}"]' + "".join(f'[data-{name}="{value}"]' for name, value in attributes.items())
        return self.page.locator(selector).first

    def click(self, testid, **attributes):
        self.at(testid, **attributes).click()

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def see(self, testid, **attributes):
        self.at(testid, **attributes).wait_for()

    def focus(self, screen):
        """Puts the keyboard into the screen's table, on its first row."""
        self.see(f"{screen}.row")
        self.at(f"{screen}.table").focus()

    def settle(self):
        """Waits until the page stands still: what it asked for has come, and what moves has moved."""
        self.page.wait_for_timeout(350)


def newest(broker, filter_):
    return broker.rpc({"type": "adds", "filter": filter_, "limit": 1})["rows"][0]["seq"]


def job(broker, **query):
    return broker.rpc({"type": "jobs", "limit": 1, **query})["rows"][0]["id"]


def adds_open(stage):
    stage.go(f"adds?open={newest(stage.broker, 'decision:rejected.extend')}")
    stage.see("adds.why")


def adds_compared(stage):
    stage.go(f"adds?open={newest(stage.broker, 'queue:profiles key:user-43 decision:existing')}")
    stage.click("adds.compare")
    stage.see("adds.diff")


def adds_selected(stage):
    stage.go("adds")
    stage.focus("adds")
    stage.press("Space", "Shift+ArrowDown", "Shift+ArrowDown")
    stage.see("adds.bulk")


def adds_menu(stage):
    stage.go("adds")
    stage.focus("adds")
    stage.press("Shift+F10")
    stage.see("adds.menu")


def adds_columns(stage):
    stage.go("adds")
    stage.click("adds.more")
    stage.see("adds.more.menu")


def adds_hidden(stage):
    stage.go("adds?q=key:nobody-has-this")
    stage.see("adds.empty")


def adds_mistake(stage):
    stage.go("adds?q=colour:red")
    stage.see("adds.filter")


def keys_release(stage):
    stage.go("keys?open=sync/sync-task")
    stage.click("keys.release")
    stage.see("keys.release.preview")


def keys_window(stage):
    stage.go("keys?open=sync/sync-task")
    stage.click("keys.window")
    stage.see("keys.window.popover")


def keys_bulk(stage):
    stage.go("keys")
    stage.focus("keys")
    stage.press("Space", "Shift+ArrowDown", "Shift+ArrowDown")
    stage.click("keys.bulk.release")
    stage.see("keys.bulk.dialog")


def attention(stage):
    stage.go("keys")
    stage.see("keys.row")
    stage.press("!")
    stage.see("attention.panel")


def jobs_tab(name):
    def scene(stage):
        stage.go(f"jobs?open={job(stage.broker, queue='reports', state='failed')}")
        stage.click(f"jobs.tab.{name}")
    return scene


def jobs_editor(stage):
    stage.go(f"jobs?open={job(stage.broker, queue='billing', state='waiting')}")
    stage.click("jobs.edit")
    stage.see("jobs.editor")


def jobs_bulk(stage):
    stage.go("jobs")
    stage.focus("jobs")
    stage.press("Space", "Shift+ArrowDown", "Shift+ArrowDown")
    stage.click("jobs.bulk.remove")
    stage.see("jobs.bulk.dialog")


def queues_obliterate(stage):
    stage.go("queues")
    stage.focus("queues")
    stage.press("Shift+F10")
    stage.click("queues.menu.obliterate")
    stage.see("queues.obliterate.dialog")


def queues_dialog(name, queue, field, text):
    """A dialog from a queue's menu, with something in it that cannot be."""
    def scene(stage):
        stage.go(f"queues?q={queue}")
        stage.focus("queues")
        stage.press("Shift+F10")
        stage.click(f"queues.menu.{name}")
        stage.see(f"queues.{name}.dialog")
        stage.at(f"queues.{name}.{field}").fill(text)
    return scene


def schedules_delete(stage):
    stage.go("schedules?q=very-long")
    stage.focus("schedules")
    stage.press("Delete")
    stage.see("schedules.delete.dialog")


def clients_open(stage):
    stage.go("clients")
    stage.see("clients.row")
    stage.click("clients.row")
    stage.see("clients.drawer")


def composer(stage):
    stage.go("adds")
    stage.see("adds.row")
    stage.press("n")
    stage.see("composer")


def composer_tab(name):
    """A logged add as a draft, on one of the composer's tabs."""
    def scene(stage):
        stage.go("adds?q=key:user-42")
        stage.focus("adds")
        stage.press("e")
        stage.see("composer.ifSent")
        stage.click(f"composer.tab.{name}")
    return scene


def replay_many(stage):
    stage.go("adds?q=key:user-42")
    stage.focus("adds")
    stage.press("Shift+R")
    stage.see("composer.ifSent")


def palette(stage):
    stage.go("adds")
    stage.see("adds.row")
    stage.press("Control+k")
    stage.see("palette.input")


def shortcuts(stage):
    stage.go("adds")
    stage.see("adds.row")
    stage.press("?")
    stage.see("shortcuts")


def toast(stage):
    stage.go("adds")
    stage.focus("adds")
    stage.press("r")
    stage.see("toast")


def paused(stage):
    stage.go("adds")
    stage.see("adds.row")
    stage.press("l")


def played(stage):
    """A scenario that has run to its end."""
    stage.go("playground?s=latest-settings-win")
    stage.at("playground.speed").select_option("5")
    stage.click("playground.run")
    stage.page.get_by_text("Run again").wait_for(timeout=15_000)


def webhook_form(stage):
    stage.go("settings")
    stage.click("webhooks.add")
    stage.at("webhooks.url").fill("ftp://127.0.0.1/")
    stage.click("webhooks.save")
    stage.see("webhooks.problem")
    stage.at("webhooks.problem").scroll_into_view_if_needed()


def plain(route, testid):
    def scene(stage):
        stage.go(route)
        stage.see(testid)
    return scene


SCENES = {
    "start": plain("start", "start.address"),
    "adds": plain("adds", "adds.row"),
    "adds-open": adds_open,
    "adds-compared": adds_compared,
    "adds-selected": adds_selected,
    "adds-menu": adds_menu,
    "adds-columns": adds_columns,
    "adds-nothing-matches": adds_hidden,
    "adds-filter-mistake": adds_mistake,
    "adds-paused": paused,
    "keys": plain("keys", "keys.row"),
    "keys-open": plain("keys?open=sync/sync-task", "keys.preview"),
    "keys-release": keys_release,
    "keys-window": keys_window,
    "keys-bulk": keys_bulk,
    "keys-job-ids": plain("keys?chip=jobIds", "keys.row"),
    "attention": attention,
    "jobs": plain("jobs", "jobs.row"),
    "jobs-failed": plain("jobs?state=failed", "jobs.row"),
    "jobs-open": jobs_tab("overview"),
    "jobs-data": jobs_tab("data"),
    "jobs-result": jobs_tab("result"),
    "jobs-timeline": jobs_tab("timeline"),
    "jobs-logs": jobs_tab("logs"),
    "jobs-raw": jobs_tab("raw"),
    "jobs-editor": jobs_editor,
    "jobs-bulk": jobs_bulk,
    "jobs-family": plain("jobs?open=book", "jobs.family.children"),
    "jobs-queue": plain(f"jobs?queue={LONG_QUEUE}", "jobs.queueStrip"),
    "jobs-none": plain("jobs?state=waiting-children&q=key:nobody-has-this", "jobs.empty"),
    "queues": plain("queues", "queues.row"),
    "schedules": plain("schedules", "schedules.row"),
    "schedules-delete": schedules_delete,
    "queues-obliterate": queues_obliterate,
    "queues-limits": queues_dialog("limits", "tenants", "most", "two"),
    "queues-settings": queues_dialog("settings", LONG_QUEUE, "stallIntervalMs", "soon"),
    "clients": plain("clients", "clients.row"),
    "clients-open": clients_open,
    "playground-empty": plain("playground", "playground"),
    "playground": played,
    "settings": plain("settings", "settings.version"),
    "settings-webhooks": webhook_form,
    "composer": composer,
    "composer-form": composer_tab("form"),
    "composer-json": composer_tab("json"),
    "composer-code": composer_tab("code"),
    "composer-many": replay_many,
    "palette": palette,
    "shortcuts": shortcuts,
    "toast": toast,
}

# What a broker shows to which nobody has added anything yet.
EMPTY = {
    "empty-start": plain("start", "start.address"),
    "empty-adds": plain("adds", "adds.empty"),
    "empty-keys": plain("keys", "keys.empty"),
    "empty-jobs": plain("jobs", "jobs.empty"),
    "empty-queues": plain("queues", "queues.empty"),
    "empty-schedules": plain("schedules", "schedules.empty"),
    "empty-clients": plain("clients", "clients.empty"),
}
