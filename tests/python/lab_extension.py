#!/usr/bin/env python3
"""Check in JupyterLab, with headless Chromium, what the extension taper-lab shows.

    lab_extension.py --url 'http://127.0.0.1:PORT/lab?token=…' --notebook extension.ipynb
                     --cases CASES.json [--screenshots FOLDER] [--timeout S]

CASES.json is a list of cases, each with the cells and the runs of the engine's tests
of stale cells (`crates/engine/tests/stale`), and the indices of its cells among the
code cells of the notebook. The last cells are for the commands and the profile.

Exit status as in lab_run_all.py.
"""

import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error as BrowserError
from playwright.sync_api import Page

from lab import NUMBERED, PANEL, SETTINGS, CannotBegin, Failed, Lab, in_browser, new_parser

# What the last but two cells print.
LINES = 80
# The settings with the theme, for this browser.
THEMES = "@jupyterlab/apputils-extension:themes"

# For each code cell: its prompt, the reason why it is stale, and the marks of its lines.
READ_MARKS = """() => {
    const panel = document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden)');
    return [...panel.querySelectorAll('.jp-Notebook .jp-CodeCell')].map(cell => ({
        prompt: cell.querySelector('.jp-InputPrompt')?.textContent.trim() ?? '',
        note: cell.querySelector('.taper-StaleNote > span')?.textContent ?? '',
        stale: cell.classList.contains('taper-mod-stale'),
        profile: [...cell.querySelectorAll('.cm-line')].map(line => line.dataset.taperProfile ?? ''),
    }));
}"""

# The widths of a cell's outputs and of the figure among them, and the heights of the rows of another cell's table;
# null until they are drawn.
READ_SIZES = """([figure, table]) => {
    const panel = document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden)');
    const [one, other] = [figure, table].map(index => panel.querySelectorAll('.jp-Notebook .jp-CodeCell')[index]);
    const width = selector => Math.round(one.querySelector(selector)?.getBoundingClientRect().width ?? 0);
    const widths = [width('.jp-OutputArea-output'), width('.jp-OutputArea-output img')];
    const rows = [...other.querySelectorAll('.jp-OutputArea-output tr')].map(row => row.offsetHeight);
    return widths.every(it => it > 0) && rows.length ? [...widths, rows] : null;
}"""

# The contrast of each text in some elements with what is behind it, and its beginning. Axe cannot tell here.
READ_CONTRASTS = """selector => {
    const parts = colour => colour.match(/[\\d.]+/g).map(Number);
    const linear = part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    const luminance = colour => {
        const [red, green, blue] = colour.map(part => linear(part / 255));
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    // Backgrounds may be transparent, as that of an error in the dark theme is.
    const behind = element => {
        const [red, green, blue, share = 1] = parts(getComputedStyle(element).backgroundColor);
        const below = share < 1 && element.parentElement ? behind(element.parentElement) : [255, 255, 255];
        return [red, green, blue].map((part, index) => share * part + (1 - share) * below[index]);
    };
    const texts = [...document.querySelectorAll(selector)].flatMap(element => [element, ...element.querySelectorAll('span')]);
    return texts.map(element => {
        const both = [parts(getComputedStyle(element).color), behind(element)].map(luminance);
        return [(Math.max(...both) + 0.05) / (Math.min(...both) + 0.05), element.textContent.slice(0, 40)];
    });
}"""
# What WCAG 2 asks for.
READABLE = 4.5

# The colour of an element, and the extension's red.
COLOURS = """element => {
    const probe = document.body.appendChild(document.createElement('span'));
    probe.style.color = 'var(--taper-red)';
    const colours = [element, probe].map(it => getComputedStyle(it).color);
    probe.remove();
    return colours;
}"""


def main() -> int:
    parser = new_parser("Check the extension in a running JupyterLab.", timeout=300)
    parser.add_argument("--cases", type=Path, required=True, help="the cases of stale cells")
    args = parser.parse_args()
    deadline = time.monotonic() + args.timeout
    cases = json.loads(args.cases.read_text())
    return in_browser(lambda page: check(Notebook(Lab(page, args, deadline), page), cases))


def check(notebook: "Notebook", cases: list[dict]) -> int:
    try:
        notebook.lab.open()
        notebook.settle()
        for case in cases:
            notebook.check_case(case)
            print(f"ok {case['name']}")
        notebook.lab.run(cases[-1]["clear"])
        last = max(index for case in cases for index in case["cells"].values()) + 1
        steps = [
            notebook.run_what_is_needed,
            notebook.run_stale_cells,
            notebook.read_a_profile,
            notebook.profile_a_model,
            notebook.is_accessible,
            notebook.load_while_a_cell_runs,
            notebook.load_when_a_cell_has_run,
            notebook.colour_an_error,
            notebook.show_help,
            notebook.look,
        ]
        for step in steps:
            step(last)
            print(f"ok {step.__name__}")
    except (CannotBegin, Failed, BrowserError) as why:
        notebook.lab.screenshot("failed")
        print(f"FAILED: {why}", file=sys.stderr)
        return 1
    return 0


class Notebook:
    def __init__(self, lab: Lab, page: Page) -> None:
        self.lab = lab
        self.page = page

    def settle(self) -> None:
        """Waits until the extension has asked the kernel."""
        button = self.page.locator(f'{PANEL} .jp-Toolbar [data-command="taper:run-stale"]')
        self.lab.wait("the extension", lambda: button.count() == 1)

    def check_case(self, case: dict) -> None:
        """Runs the cells of a case, and compares the marks."""
        cells, sources = case["cells"], case["sources"]
        self.lab.run(case["clear"])
        counts: list[str] = []
        for letter in case["runs"]:
            index = cells[letter.lower()]
            if letter.isupper():
                self.lab.replace(index, sources[letter])
            counts.append(self.lab.run(index))
        expected = re.sub(r"\[(\d+)\]", lambda found: counts[int(found[1]) - 1], case["expected"])
        shown = lambda: " / ".join(
            f"{letter}: {mark['note'].partition(': ')[2]}"
            for letter, index in cells.items()
            if (mark := self.marks()[index])["stale"]
        )
        try:
            self.lab.wait(f"the marks of `{case['name']}`", lambda: shown() == expected.replace("`", ""), at_most=60)
        except Failed as why:
            raise Failed(f"{why}\nshown:    {shown()}\nexpected: {expected}") from None

    def run_what_is_needed(self, first: int) -> None:
        """Only the cells that define what the third one mentions run, and the third one."""
        self.lab.cell(first + 2).locator(".cm-content").click()
        self.page.keyboard.press("Control+Alt+Enter")
        self.lab.wait("the needed cells", lambda: NUMBERED.fullmatch(self.lab.prompt(first + 2)))
        if not NUMBERED.fullmatch(self.lab.prompt(first)) or NUMBERED.fullmatch(self.lab.prompt(first + 1)):
            raise Failed(f"these cells ran: {[self.lab.prompt(first + n) for n in range(3)]}")
        # Not the triangle of the notebook's toolbar, which runs one cell.
        icon = self.lab.cell(first + 2).locator('[data-command="taper:run-needed"] svg').first
        self.expect("the icon", lambda: icon.get_attribute("data-icon"), lambda name: name == "taper:run-needed")

    def run_stale_cells(self, first: int) -> None:
        self.lab.run(first)
        self.lab.wait("a stale cell", lambda: self.marks()[first + 2]["stale"])
        status = self.page.locator(f"{PANEL} .taper-Status")
        self.expect("the status", lambda: status.inner_text(), lambda text: text == "1 cell is stale")
        self.lab.screenshot("stale")
        before = self.lab.prompt(first + 2)
        self.lab.cell(first + 2).locator(".taper-StaleNote button").click()
        self.lab.wait("no stale cell", lambda: not any(mark["stale"] for mark in self.marks()))
        self.lab.wait("the cell to run", lambda: self.lab.prompt(first + 2) not in (before, "[*]:"))

    def read_a_profile(self, first: int) -> None:
        """The numbers stand beside the lines, and leave one that is edited."""
        index = first + 3
        self.lab.run(index)
        lines = lambda: self.marks()[index]["profile"]
        of_loop = re.compile(r"\d+(\.\d+)? ms · 20 × · \d+(\.\d+)? [kM]?B")
        self.expect("the profile", lines, lambda shown: of_loop.fullmatch(shown[3]) and not (shown[0] or shown[4]))
        self.expect("the output", lambda: self.outputs(index), lambda text: "ms in all" in text)
        self.lab.cell(index).scroll_into_view_if_needed()
        self.lab.screenshot("profile")
        self.lab.cell(index).locator(".cm-line").nth(3).click()
        self.page.keyboard.press("End")
        self.page.keyboard.type(" ")
        self.expect("the profile after an edit", lines, lambda changed: changed[2] and not changed[3])

    def profile_a_model(self, first: int) -> None:
        self.lab.run(first + 4)
        parts = ["multiply-adds", "Linear", "ReLU", "total"]
        has_all = lambda text: all(part in text for part in parts)
        self.expect(f"{parts} below the profiled model", lambda: self.outputs(first + 4), has_all)
        self.lab.cell(first + 4).scroll_into_view_if_needed()
        self.lab.screenshot("layers")

    def load_while_a_cell_runs(self, first: int) -> None:
        """The page shows all lines: those before it was loaded again, and those that come."""
        index = first + 5
        self.lab.start(index)
        output = self.lab.cell(index).locator(".jp-OutputArea-output")
        self.lab.wait("some lines", lambda: "line 5" in "".join(output.all_inner_texts()))
        self.lab.load()
        self.lab.wait("the end of the cell", lambda: self.has_loaded() and NUMBERED.fullmatch(self.lab.prompt(index)))
        self.has_lines(index)
        self.lab.screenshot("restored")

    def load_when_a_cell_has_run(self, first: int) -> None:
        """No page is open when the cell ends."""
        index = first + 5
        self.lab.start(index)
        self.lab.wait("the cell to run", lambda: self.lab.prompt(index) == "[*]:")
        self.page.goto("about:blank")
        self.lab.wait("the end of the cell", self.lab.kernel_rests)
        self.lab.load()
        self.lab.wait("the number of the cell", lambda: self.has_loaded() and NUMBERED.fullmatch(self.lab.prompt(index)))
        self.has_lines(index)
        # They were confirmed: they are not shown once more after they were cleared.
        self.lab.choose("Edit", "editmenu:clear-all")
        self.lab.save()
        self.lab.load()
        self.lab.wait("the page", lambda: self.lab.kernel_is_idle())
        self.settle()
        self.page.wait_for_timeout(1000)
        if self.lab.cell(index).locator(".jp-OutputArea-output").count():
            raise Failed("outputs that were cleared are there again")

    def colour_an_error(self, first: int) -> None:
        """An error has the extension's colours, which can be read in both themes."""
        self.lab.replace(first + 1, "nothing")
        self.lab.start(first + 1)
        red = self.lab.cell(first + 1).locator(".jp-OutputArea :is(.ansi-red-fg, .ansi-red-intense-fg)").first
        red.wait_for(timeout=60_000)
        breaks = red.evaluate("element => getComputedStyle(element.closest('pre')).wordBreak")
        if breaks != "normal":
            raise Failed(f"lines break inside of words: {breaks}")
        self.expect("the red of an error", lambda: red.evaluate(COLOURS), lambda colours: colours[0] == colours[1])

    def show_help(self, _: int) -> None:
        self.lab.choose("Help", "taper:help")
        dialog = self.page.locator(".jp-Dialog .taper-Help")
        dialog.get_by_text("%%profile").first.wait_for(timeout=60_000)
        self.lab.screenshot("help")
        self.page.locator(".jp-Dialog .jp-mod-accept").click()
        dialog.wait_for(state="detached")

    def look(self, first: int) -> None:
        """A wide and a narrow window in both themes: no figure is cut off, no row of a table is broken, and the text of
        an error can be read."""
        self.lab.start(first + 6)
        self.lab.wait("the error", lambda: self.lab.cell(first + 6).locator(".jp-OutputArea-output img").count())
        self.lab.run(first + 7)
        self.lab.save()
        size = self.page.viewport_size
        shown = [first + 6, first + 7]
        for theme in ["Light", "Dark"]:
            SETTINGS[THEMES] = {"theme": f"JupyterLab {theme}"}
            self.lab.load()
            self.lab.wait("the page", lambda: self.has_loaded() and self.marks()[first + 2]["stale"])
            self.lab.close_sidebar()
            for width in [1400, 390]:
                self.page.set_viewport_size({"width": width, "height": 1400})
                self.page.wait_for_timeout(500)
                area, image, rows = self.expect("the outputs", lambda: self.page.evaluate(READ_SIZES, shown), bool)
                for name, index in [("cells", first + 4), ("shapes", first + 7)]:
                    self.lab.cell(index).scroll_into_view_if_needed()
                    self.page.wait_for_timeout(200)
                    self.lab.screenshot(f"{name}-{theme.lower()}-{width}")
                if image > area or max(rows) > 2 * min(rows):
                    raise Failed(f"at {width} px, a figure of {image} px is in {area} px, and rows are {rows} px high")
            self.read_an_error(first + 1, theme)
        self.page.set_viewport_size(size)

    def read_an_error(self, index: int, theme: str) -> None:
        """The text of an error has the contrast that WCAG 2 asks for."""
        self.page.set_viewport_size({"width": 1400, "height": 1400})
        self.lab.cell(index).locator(".jp-OutputArea-output pre").first.scroll_into_view_if_needed()
        self.lab.screenshot(f"error-{theme.lower()}")
        texts = f"{PANEL} .jp-OutputArea-output pre"
        contrasts = self.expect("the text of the error", lambda: self.page.evaluate(READ_CONTRASTS, texts), bool)
        if min(contrasts)[0] < READABLE:
            raise Failed(f"in the theme {theme}, the contrast of a text is {min(contrasts)}")

    def expect(self, what: str, read: Callable[[], object], holds: Callable[[object], object]):
        """Returns what is read from the page as soon as the condition holds for it."""
        found = read()
        until = time.monotonic() + 60
        while not holds(found):
            if time.monotonic() > until:
                raise Failed(f"{what}: the page shows {found}")
            self.page.wait_for_timeout(100)
            found = read()
        return found

    def outputs(self, index: int) -> str:
        return self.lab.cell(index).locator(".jp-OutputArea").inner_text()

    def has_loaded(self) -> bool:
        return self.page.locator(f"{PANEL} .jp-CodeCell").count() == len(self.lab.cells)

    def has_lines(self, index: int) -> None:
        output = self.lab.cell(index).locator(".jp-OutputArea-output")
        lines = lambda: [line for line in "".join(output.all_inner_texts()).split("\n") if line.startswith("line")]
        self.expect("the lines of the cell", lines, lambda shown: shown == [f"line {n}" for n in range(LINES)])

    def is_accessible(self, first: int) -> None:
        self.lab.run(first)
        self.lab.wait("a stale cell", lambda: self.marks()[first + 2]["stale"])
        found = Axe().run(self.page, context=[[".taper-StaleNote"], [".taper-Status"]]).response["violations"]
        if found:
            raise Failed(f"axe finds {[(it['id'], it['impact'], it['nodes'][0]['html']) for it in found]}")

    def marks(self) -> list[dict]:
        return self.page.evaluate(READ_MARKS)


if __name__ == "__main__":
    sys.exit(main())
