#!/usr/bin/env python3
"""Check the book in headless Chromium as a reader sees it: every page, wide and light, or narrow and dark.

    book_visit.py --url http://127.0.0.1:3000 [--both-looks] [--screenshots FOLDER] PAGE.html…

Exit status: 0 without problems, 1 with problems (one on each line), 2 without Chromium.
"""

import argparse
import sys
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from lab import becomes_true, report
from playwright.sync_api import Browser, Page

# Both widths and both themes, but not all four combinations: a problem of a theme does not depend on the width.
LOOKS = {
    "wide, light": ({"width": 1280, "height": 900}, "light"),
    "narrow, dark": ({"width": 390, "height": 844}, "navy"),
}

# Elements that are wider than the window and not in a scrollable one.
TOO_WIDE = """() => {
    const width = document.documentElement.clientWidth;
    const scrolls = e => ['auto', 'scroll', 'hidden', 'clip'].includes(getComputedStyle(e).overflowX);
    const within = e => { while ((e = e.parentElement) && e.tagName !== 'MAIN') if (scrolls(e)) return true; return false; };
    const wide = [...document.querySelectorAll('main *')].filter(e =>
        e.getBoundingClientRect().right > width + 1 && !within(e) && e.getClientRects().length);
    const page = document.documentElement.scrollWidth > width + 1 ? ['the page scrolls'] : [];
    return page.concat(wide.map(e => `<${e.tagName.toLowerCase()}> ${e.textContent.trim().slice(0, 40)}`));
}"""

# Code of cells that is cut off at the right.
CUT = """() => [...document.querySelectorAll('main .cell.code .input > code')].filter(e => e.scrollWidth > e.clientWidth + 1)
    .map(e => e.textContent.trim().slice(0, 40))"""

# Formulae beside which a scrollbar could appear.
SCROLLED_FORMULAE = """() => [...document.querySelectorAll('main .katex-display')]
    .filter(e => e.scrollHeight > e.clientHeight && getComputedStyle(e).overflowY !== 'hidden')
    .map(e => e.textContent.trim().slice(0, 40))"""

# A4 without its margins, in pixels.
PAPER = {"width": 680, "height": 1009}

# The red part of one of the page's colours.
LIGHTNESS = "name => Number(getComputedStyle(document.documentElement)[name].match(/\\d+/)[0])"

# What a page loads before its reader scrolls, in bytes: as mdBook writes its files, before a server compresses them.
LOADED = """() => ['navigation', 'resource'].flatMap(kind => performance.getEntriesByType(kind))
    .reduce((sum, entry) => sum + entry.encodedBodySize, 0)"""
MOST_BYTES = 350_000

# A page with less is empty. The shortest page of the tests' own site has 36.
LEAST_CHARACTERS = 20

# What is searched for, and a part of the address at which it is.
FOUND = {
    "learning rate finder": "#Searching-for-the-learning-rate",
    "early stopping": "#Callbacks",
}

# Digits drawn by hand: strokes of points, from 0 to 9 to the right and from 0 to 19 down.
STROKES = {
    0: ["5,1 3,2 2,6 2,10 2,14 3,18 5,19 7,18 8,14 8,10 8,6 7,2 5,1"],
    1: ["3,5 5,1 5,19"],
    2: ["2,5 3,2 5,1 7,2 8,5 7,9 4,14 2,19 8,19"],
    3: ["2,2 5,1 7,3 7,7 5,9 8,12 8,16 5,19 2,18"],
    4: ["6,1 2,12 8,12", "6,7 6,19"],
    5: ["8,1 3,1 2,9 5,8 8,11 8,16 5,19 2,18"],
    6: ["7,1 4,5 2,11 2,16 4,19 7,18 8,14 6,11 4,12 3,14"],
    7: ["2,2 8,2 5,10 4,19", "3,10 7,10"],
    8: ["5,10 3,7 3,3 5,1 7,3 7,7 5,10 2,13 2,17 5,19 8,17 8,13 5,10"],
    9: ["8,6 6,9 3,8 3,5 4,1 7,1 8,6 7,12 6,19"],
}

# Not those of the home page that are not loaded yet; they are beside the names of their chapters.
IMAGES = """() => [...document.querySelectorAll('main img:not([loading])')].map(i => ({
    src: i.getAttribute('src'), alt: i.alt, natural: i.naturalWidth, width: i.width, height: i.height,
    box: [i.getAttribute('width'), i.getAttribute('height')] }))"""


class Reader:
    """A browser that records the problems that it finds."""

    def __init__(self, browser: Browser, root: str, screenshots: Path | None) -> None:
        self.browser = browser
        self.root = root.rstrip("/")
        self.screenshots = screenshots
        self.problems: list[str] = []
        self.where = ""

    def note(self, problem: str) -> None:
        self.problems.append(f"{self.where}: {problem}")

    def open(self, name: str, look: str = "wide, light") -> Page:
        page = self.new_page(look)
        self.go_to(page, name, look)
        return page

    def new_page(self, look: str) -> Page:
        size, theme = LOOKS[look]
        context = self.browser.new_context(viewport=size)
        context.add_init_script(f"localStorage.setItem('mdbook-theme', '{theme}')")
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("console", self.check_message)
        page.on("pageerror", lambda error: self.note(f"error: {error}"))
        page.on("response", lambda r: self.note(f"{r.status} {r.url}") if r.status >= 400 else None)
        page.on("request", self.check_request)
        return page

    def go_to(self, page: Page, name: str, look: str) -> None:
        self.where = f"{name} ({look})"
        page.goto(f"{self.root}/{name}", wait_until="load")
        page.wait_for_function("document.fonts.status === 'loaded'")

    def check_message(self, message) -> None:
        # Leaving a page before mdBook's connection for live reloading is open causes this message.
        left_early = "/__livereload" in message.text and "closed before the connection" in message.text
        if message.type in ("error", "warning") and not left_early:
            self.note(f"console: {message.text}")

    def check_request(self, request) -> None:
        inside = request.url.startswith((self.root + "/", "data:", self.root.replace("http:", "ws:")))
        if not inside:
            self.note(f"asks {request.url}")

    def visit(self, names: list[str], look: str, quickly: bool = False) -> None:
        """Look at these pages; quickly without the rules of axe, which take longer than all else."""
        page = self.new_page(look)  # one for all: a new one takes longer than most chapters
        for name in names:
            self.go_to(page, name, look)
            self.look_at(page, quickly)
            if look.startswith("wide"):
                for code in page.evaluate(CUT):
                    self.note(f"code is cut off: {code}")
            if self.screenshots:
                file = f"{name.removesuffix('.html')} {look}.png".replace("/", "-").replace(", ", "-").replace(" ", "-")
                page.screenshot(path=self.screenshots / file)
        page.context.close()

    def look_at(self, page: Page, quickly: bool = False) -> None:
        if (characters := page.evaluate("document.querySelector('main').innerText.trim().length")) < LEAST_CHARACTERS:
            self.note(f"it has {characters} characters")
        for wide in page.evaluate(TOO_WIDE):
            self.note(f"too wide: {wide}")
        for formula in page.evaluate(SCROLLED_FORMULAE):
            self.note(f"a formula has a scrollbar: {formula}")
        for image in page.evaluate(IMAGES):
            if not (image["alt"] and all(image["box"]) and image["natural"] and image["width"] and image["height"]):
                self.note(f"image: {image}")
        if quickly:
            return
        for violation in Axe().run(page).response["violations"]:
            if violation["impact"] in ("serious", "critical"):
                nodes = [f"{node['html'][:150]} {node['failureSummary']}" for node in violation["nodes"][:3]]
                self.note(f"axe: {violation['id']}: {violation['help']}: {nodes}")

    def printed(self, name: str) -> None:
        """On paper there is the text alone, in dark letters, and nothing is cut off."""
        page = self.open(name, "narrow, dark")
        self.where = f"{name} on paper"
        page.set_viewport_size(PAPER)
        page.emulate_media(media="print")
        for wide in page.evaluate(TOO_WIDE):
            self.note(f"too wide: {wide}")
        for outside in ("#mdbook-sidebar", "#mdbook-menu-bar", ".nav-chapters", ".actions"):
            if page.locator(outside).locator("visible=true").count():
                self.note(f"{outside} is printed")
        if page.locator("details:not([open])").locator("visible=true").count():
            self.note("an output that is folded is printed")
        if not (page.evaluate(LIGHTNESS, "backgroundColor") > 200 > 100 > page.evaluate(LIGHTNESS, "color")):
            self.note("the colours are those of the dark theme")
        page.context.close()

    def first_page(self, name: str) -> None:
        page = self.open(name)
        page.wait_for_load_state("networkidle")
        if (loaded := page.evaluate(LOADED)) > MOST_BYTES:
            self.note(f"it loads {loaded} bytes")
        page.context.close()

    def without_scripts(self, name: str) -> None:
        """The text, the code and the figures are there, and they do not need JavaScript."""
        shown = []
        for runs in (True, False):
            context = self.browser.new_context(java_script_enabled=runs)
            page = context.new_page()
            page.goto(f"{self.root}/{name}", wait_until="load")
            parts = {part: page.locator(f"main {part}:visible").count() for part in ("h1, h2, h3", "p", "li", "pre code", "img", "a")}
            shown.append(parts)
            context.close()
        self.where = f"{name} without JavaScript"
        with_scripts, without = shown
        if missing := {part: count for part, count in without.items() if count < with_scripts[part] or not with_scripts["p"]}:
            self.note(f"it shows only {missing} of {with_scripts}")

    def search(self, name: str) -> None:
        page = self.open(name)
        self.where = "search"
        page.keyboard.press("/")
        page.keyboard.type("try_gpu")
        result = page.locator("#mdbook-searchresults a[href*='gpus.html']")
        if not becomes_true(page, result.count):
            self.note("try_gpu is not found in gpus.html")
            return
        result.first.click()
        page.wait_for_url("**/gpus.html*")
        if not becomes_true(page, page.locator("main mark").count):
            self.note("what was found is not marked")
        page.context.close()

    def words(self, name: str) -> None:
        """The words of a name and the field's word for it lead to the section."""
        for words, section in FOUND.items():
            page = self.open(name)
            self.where = f"search for {words}"
            page.keyboard.press("/")
            page.keyboard.type(words)
            found = page.locator("#mdbook-searchresults a")
            first = lambda: found.evaluate_all("all => all.map(a => a.href)")[:3]
            if not becomes_true(page, lambda: any(section in link for link in first())):
                self.note(f"{section} is not among the first three results")
            page.context.close()

    def keyboard(self, pages: list[str]) -> None:
        """The arrow keys turn the pages; the sidebar can be opened and used by keyboard."""
        page = self.open(pages[0])
        self.where = "keyboard"
        for here, key in [(pages[1:], "ArrowRight"), (pages[-2::-1], "ArrowLeft")]:
            for name in here:
                self.go(page, key, name)
        button = page.locator("#mdbook-sidebar-toggle")
        opened = [self.toggle(page, button, key) for key in ("Enter", "Space", "Enter")]
        if len(set(opened)) != 2 or opened[0] == opened[1]:
            self.note(f"the sidebar's button does not answer to keys: {opened}")
        if opened[-1] != "true":
            self.toggle(page, button, "Enter")
        page.locator("#mdbook-sidebar a").first.focus()
        for _ in range(200):
            if (page.evaluate("document.activeElement.href") or "").endswith(pages[1]):
                self.go(page, "Enter", pages[1])
                break
            page.keyboard.press("Tab")
        else:
            self.note("no Tab in the sidebar leads to the second page")
        page.context.close()

    def tabs(self, name: str) -> None:
        """The outputs of two machines are tabs: one click switches all of them, and the choice is stored."""
        page = self.open(name)
        self.where = "tabs"
        shown = lambda: page.locator(".machine:visible").evaluate_all("all => all.map(m => m.ariaLabel)")
        groups = page.locator(".machines").count()
        machines = page.locator(".machines").first.locator("[role=tab]").all_text_contents()
        if groups < 2 or len(machines) != 2:
            self.note(f"{groups} cells with the tabs {machines}")
            return
        cpu, gpu = machines
        first = page.locator("[role=tab]").first
        steps = [
            ("as the page opens", lambda: None, cpu),
            ("after a click", lambda: page.locator("[role=tab]", has_text=gpu).last.click(), gpu),
            ("when the page is opened again", page.reload, gpu),
            ("after an arrow", lambda: (page.locator("[role=tab]").nth(1).focus(), page.keyboard.press("ArrowLeft")), cpu),
        ]
        for when, step, machine in steps:
            step()
            if shown() != [machine] * groups:
                self.note(f"{when}: {shown()} instead of {machine}")
        if not page.url.endswith(name):
            self.note(f"an arrow in the tabs turned the page to {page.url}")
        if first.get_attribute("aria-selected") != "true":
            self.note("the chosen tab is not marked")
        page.context.close()

    def sliders(self, name: str) -> None:
        """A slider of a chapter shows what was computed for its position."""
        page = self.open(name)
        self.where = f"sliders of {name}"
        interaction = page.locator(".interaction").first
        shown = interaction.locator(".frame:not([hidden])")
        if not interaction.count() or shown.count() != 1:
            self.note(f"{interaction.count()} places with sliders")
            return
        slider, before = interaction.get_by_role("slider").last, shown.inner_html()
        slider.focus()
        page.keyboard.press("Home" if slider.input_value() != "0" else "End")
        if shown.count() != 1 or shown.inner_html() == before:
            self.note("a slider that is moved shows the same")
        if slider.get_attribute("aria-valuetext") != interaction.locator("output").last.inner_text():
            self.note("the value of a slider is not shown")
        page.context.close()

    def digits(self, name: str) -> None:
        """The network reads what the mouse draws, and the examples, which the keyboard can show."""
        page = self.open(name)
        self.where = "digits"
        reader = page.locator(".digit-reader")
        answer = reader.locator("output")
        expect = lambda digit, text: text.startswith(f"This is a {digit} ")
        answer.get_by_text("Draw a digit.").wait_for()
        box = reader.locator("canvas")
        box.scroll_into_view_if_needed()
        frame = box.bounding_box()
        drawn = []
        for digit, strokes in STROKES.items():
            for stroke in strokes:
                points = [[float(part) for part in point.split(",")] for point in stroke.split()]
                x, y = ([frame["x"] + 40 + 18 * p[0] for p in points], [frame["y"] + 30 + 10 * p[1] for p in points])
                page.mouse.move(x[0], y[0])
                page.mouse.down()
                for point in zip(x, y):
                    page.mouse.move(*point, steps=3)
                page.mouse.up()
            drawn.append(expect(digit, answer.inner_text()))
            reader.get_by_role("button", name="Clear").click()
        shown = []
        for digit in range(10):
            reader.get_by_role("button", name="Show an example").press("Enter")
            shown.append(expect(digit, answer.inner_text()))
        if self.screenshots:
            reader.screenshot(path=self.screenshots / "digit-reader.png")
        if sum(drawn) < 9 or sum(shown) < 9:
            self.note(f"read {sum(drawn)} of 10 drawn digits, {sum(shown)} of 10 examples: {drawn}, {shown}")
        page.context.close()

    def go(self, page: Page, key: str, name: str) -> None:
        """Press a key that leads to another page, which then receives the release of the key."""
        page.keyboard.down(key)
        page.wait_for_url(f"**/{name}*")
        page.keyboard.up(key)

    def toggle(self, page: Page, button, key: str) -> str:
        button.focus()
        page.keyboard.press(key)
        page.wait_for_timeout(400)  # the animation
        return button.get_attribute("aria-expanded")


def main() -> int:
    parser = argparse.ArgumentParser(description="Read the book in headless Chromium.")
    parser.add_argument("--url", required=True)
    parser.add_argument("--screenshots", type=Path)
    parser.add_argument("--both-looks", action="store_true", help="of every page, instead of one after the other")
    parser.add_argument("--tabs", help="a page with outputs of two machines")
    parser.add_argument("--digits", help="a page with the digit reader")
    parser.add_argument("--sliders", help="a page with sliders")
    parser.add_argument("pages", nargs="+", help="in the order of the book")
    args = parser.parse_args()

    def read(browser: Browser) -> list[str]:
        reader = Reader(browser, args.url, args.screenshots)
        for index, look in enumerate(LOOKS):
            reader.visit(args.pages if args.both_looks else args.pages[index :: len(LOOKS)], look)
        for name in [*args.pages[:3], args.pages[-1]]:
            reader.printed(name)
        reader.first_page(args.pages[-1])
        for name in [args.pages[0], args.pages[-1]]:
            reader.without_scripts(name)
        reader.search(args.pages[0])
        reader.words(args.pages[0])
        reader.keyboard(args.pages[:4])
        if args.tabs:
            reader.tabs(args.tabs)
        if args.digits:
            reader.digits(args.digits)
        if args.sliders:
            reader.sliders(args.sliders)
        return reader.problems

    return report(read, f"{len(args.pages)} pages", args.screenshots)


if __name__ == "__main__":
    sys.exit(main())
