#!/usr/bin/env python3
"""Every scene of the page at both sizes and in both themes: no text is cut, nothing lies outside the window, and axe finds
nothing serious (its WCAG 2.2 A and AA rules, the size of targets among them).

`test_looks.py NAME` runs only the scenes whose name contains it.
"""
import os
import sys
import time

from playwright.sync_api import Error, sync_playwright

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from kit.broker import ROOT, TARGET, Broker  # noqa: E402
from kit.scenes import CHROMIUM, EMPTY, FLAGS, SCENES, SIZES, THEMES, Stage, traffic  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
AXE = """tags => axe.run(document, { runOnly: tags, resultTypes: ['violations'] }).then((found) =>
    found.violations.filter((one) => ['serious', 'critical'].includes(one.impact)).map((one) =>
        `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => node.target.join(' ')).join(' | ')}`))"""


def text_of(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def check(stage, name, scene, axe, looks):
    """What is wrong with one scene, in both themes: the page follows the system's while it is open."""
    stage.page.emulate_media(color_scheme=THEMES[0])
    try:
        scene(stage)
        stage.settle()
    except Error as error:
        return [f"did not come about: {str(error).splitlines()[0]}"]
    # Sizes change where things stand, not what they are, and themes the colours only.
    with_axe = stage.size == SIZES[0]
    if with_axe:
        stage.page.evaluate(axe)
    found = []
    for theme in THEMES:
        stage.page.emulate_media(color_scheme=theme)
        wrong = stage.page.evaluate(looks) + (stage.page.evaluate(AXE, TAGS) if with_axe else [])
        if wrong:
            os.makedirs(os.path.join(TARGET, "looks"), exist_ok=True)
            stage.page.screenshot(path=os.path.join(TARGET, "looks", f"{name}-{stage.size[0]}-{theme}.png"))
        found += [f"{theme}: {one}" for one in wrong]
    return found


def main():
    wanted = sys.argv[1] if len(sys.argv) > 1 else ""
    axe, looks = text_of(ROOT, "ui", "node_modules", "axe-core", "axe.min.js"), text_of(HERE, "looks.js")
    failed, count, began = 0, 0, time.monotonic()
    with Broker() as full, Broker() as empty, sync_playwright() as playwright:
        clients = traffic(full)
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        for broker, scenes in ((full, SCENES), (empty, EMPTY)):
            for size in SIZES:
                stage = Stage(browser, broker, size, THEMES[0])
                stage.page.set_default_timeout(5000)
                for name, scene in scenes.items():
                    if wanted not in name:
                        continue
                    count += 1
                    if wrong := check(stage, name, scene, axe, looks):
                        failed += 1
                        print(f"FAIL {name} at {size[0]} x {size[1]}:" + "".join(f"\n       {one}" for one in wrong), flush=True)
                stage.close()
        browser.close()
        assert len(clients) == 3
    print(f"{count} scenes in {time.monotonic() - began:.0f} s: {count - failed} passed, {failed} failed")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
