#!/usr/bin/env python3
"""Pictures of every scene (`kit/scenes.py`), in both themes and at both sizes, of a broker with made-up but real traffic.

All of them go to the target folder's `screenshots`; those that the README shows are copied to `docs`. `screenshots.py NAME` makes
only those whose name contains it.
"""
import os
import shutil
import sys

from playwright.sync_api import Error, sync_playwright

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from kit.broker import ROOT, TARGET, Broker  # noqa: E402
from kit.scenes import CHROMIUM, EMPTY, FLAGS, SCENES, SIZES, THEMES, Stage, traffic  # noqa: E402

FOLDER = os.path.join(TARGET, "screenshots")
SHOWN = {"adds-1280x800-dark": "adds", "keys-open-1280x800-dark": "keys", "playground-1280x800-light": "playground"}


def shoot(stage, name, scene):
    file = f"{name}-{stage.size[0]}x{stage.size[1]}-{stage.theme}"
    path = os.path.join(FOLDER, file + ".png")
    try:
        scene(stage)
        stage.settle()
    except Error as error:
        print(f"no picture of {file}: {str(error).splitlines()[0]}", flush=True)
        return False
    stage.page.screenshot(path=path)
    if file in SHOWN:
        shutil.copy(path, os.path.join(ROOT, "docs", SHOWN[file] + ".png"))
    return True


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    os.makedirs(FOLDER, exist_ok=True)
    os.makedirs(os.path.join(ROOT, "docs"), exist_ok=True)
    missing = 0
    with Broker() as full, Broker() as empty, sync_playwright() as playwright:
        clients = traffic(full)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for broker, scenes in ((full, SCENES), (empty, EMPTY)):
            for size in SIZES:
                for theme in THEMES:
                    stage = Stage(browser, broker, size, theme)
                    stage.page.set_default_timeout(5000)
                    missing += sum(not shoot(stage, name, scene) for name, scene in scenes.items() if wanted in name)
                    stage.close()
        browser.close()
        assert len(clients) == 3
    print(f"pictures are in {FOLDER}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
