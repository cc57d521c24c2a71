#!/usr/bin/env python3
"""Check a page of `taper publish` in headless Chromium, opened as a file: wide and narrow, light and dark.

    publish_visit.py PAGE.html [--screenshots FOLDER]

Exit status: 0 without problems, 1 with problems (one on each line), 2 without Chromium.
"""

import argparse
import json
import sys
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from book_visit import TOO_WIDE
from lab import report
from playwright.sync_api import Browser


def visit(browser: Browser, file: Path, width: int, scheme: str, screenshots: Path | None) -> list[str]:
    problems = []
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page.on("pageerror", lambda error: problems.append(f"an error: {error}"))
    page.on("console", lambda message: message.type == "error" and problems.append(f"an error: {message.text}"))
    page.on("request", lambda request: request.url.startswith(("file:", "data:", "blob:")) or problems.append(f"it loads {request.url}"))
    page.goto(file.resolve().as_uri())
    page.wait_for_selector(".model li")
    if page.evaluate("document.documentElement.dataset.theme") != scheme:
        problems.append(f"the theme is not {scheme}")
    problems += [f"too wide: {wide}" for wide in page.evaluate(TOO_WIDE)]

    # The contents: a link to each section.
    contents = page.get_by_role("navigation", name="Contents").get_by_role("link")
    if contents.all_inner_texts() != ["One", "Two?", "Three"]:
        problems.append(f"the contents are {contents.all_inner_texts()}")
    contents.nth(1).click()
    if page.evaluate("document.querySelector(':target')?.textContent") != "Two?":
        problems.append("a link of the contents leads nowhere")

    # A slider: its position decides which figure is shown.
    figure = page.locator(".frame:not([hidden]) img")
    first = figure.get_attribute("alt")
    slider = page.get_by_role("slider", name="frequency")
    slider.focus()
    page.keyboard.press("End")
    if figure.get_attribute("alt") == first or "9 and" not in figure.get_attribute("alt"):
        problems.append(f"the slider shows {figure.get_attribute('alt')}")
    if page.locator(".interaction output").first.inner_text() != "9":
        problems.append("the slider's value is not shown")

    # The model: the outputs of the notebook.
    printed = json.loads(page.locator("pre.stdout").last.inner_text().strip().splitlines()[-1])
    inputs = [-1 + 2 * i / 63 for i in range(64)]
    computed = page.evaluate("inputs => document.querySelector('.model').taper.compute(inputs)", inputs)
    if len(printed) != 3 or any(abs(a - b) > 1e-4 for a, b in zip(printed, computed, strict=True)):
        problems.append(f"the model returns {computed}, the notebook {printed}")
    before = page.locator(".model li").all_inner_texts()
    page.locator(".model canvas").scroll_into_view_if_needed()
    box = page.locator(".model canvas").bounding_box()
    page.mouse.move(box["x"] + 20, box["y"] + 20)
    page.mouse.down()
    page.mouse.move(box["x"] + 120, box["y"] + 120, steps=5)
    page.mouse.up()
    if page.locator(".model li").all_inner_texts() == before:
        problems.append("a drawing changes nothing")

    violations = Axe().run(page).response["violations"]
    serious = [v for v in violations if v["impact"] in ("serious", "critical")]
    problems += [f"axe: {v['id']}: {v['nodes'][0]['html'][:120]}" for v in serious]
    if screenshots:
        page.screenshot(path=screenshots / f"{scheme}-{width}.png", full_page=True)
    page.close()
    return [f"{scheme}, {width}: {problem}" for problem in problems]


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("page", type=Path)
    parser.add_argument("--screenshots", type=Path)
    arguments = parser.parse_args()
    looks = [(1280, "light"), (390, "dark")]
    read = lambda browser: [problem for look in looks for problem in visit(browser, arguments.page, *look, arguments.screenshots)]
    return report(read, f"{len(looks)} looks", arguments.screenshots)


if __name__ == "__main__":
    sys.exit(main())
