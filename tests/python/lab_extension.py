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
from pathlib import Path

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Error as BrowserError
from playwright.sync_api import Locator, Page

from lab_run_all import NUMBERED, READ_CELLS, CannotBegin, Failed, Lab, in_browser, new_parser

PANEL = ".jp-NotebookPanel:not(.lm-mod-hidden)"

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


def main() -> int:
    parser = new_parser("Check the extension in a running JupyterLab.", timeout=300)
    parser.add_argument("--cases", type=Path, required=True, help="the cases of stale cells")
    parser.add_argument("--screenshots", type=Path, help="folder for screenshots")
    args = parser.parse_args()
    deadline = time.monotonic() + args.timeout
    cases = json.loads(args.cases.read_text())
    
    def check_in(page: Page) -> int:
        lab = Lab(page, args.url, args.notebook, deadline)
        return check(Notebook(lab, page, args.screenshots), cases)

    return in_browser(check_in)


def check(notebook: "Notebook", cases: list[dict]) -> int:
    try:
        notebook.lab.open()
        notebook.settle()
        for case in cases:
            notebook.check_case(case)
            print(f"ok {case['name']}")
        notebook.run(cases[-1]["clear"])
        last = max(index for case in cases for index in case["cells"].values()) + 1
        for step in [notebook.run_what_is_needed, notebook.run_stale_cells, notebook.read_a_profile, notebook.is_accessible]:
            step(last)
            print(f"ok {step.__name__}")
    except (CannotBegin, Failed, BrowserError) as why:
        notebook.screenshot("failed")
        print(f"FAILED: {why}", file=sys.stderr)
        return 1
    return 0


class Notebook:
    def __init__(self, lab: Lab, page: Page, screenshots: Path | None) -> None:
        self.lab = lab
        self.page = page
        self.screenshots = screenshots

    def settle(self) -> None:
        """Waits until the extension has asked the kernel."""
        button = self.page.locator(f'{PANEL} .jp-Toolbar [data-command="taper:run-stale"]')
        self.lab.wait("the extension", lambda: button.count() == 1)

    def check_case(self, case: dict) -> None:
        """Runs the cells of a case, and compares the marks."""
        cells, sources = case["cells"], case["sources"]
        self.run(case["clear"])
        counts: list[str] = []
        for letter in case["runs"]:
            index = cells[letter.lower()]
            if letter.isupper():
                self.type_into(index, sources[letter])
            counts.append(self.run(index))
        expected = re.sub(r"\[(\d+)\]", lambda found: counts[int(found[1]) - 1], case["expected"])
        shown = lambda: " / ".join(
            f"{letter}: {mark['note'].partition(': ')[2]}"
            for letter, index in cells.items()
            if (mark := self.marks()[index])["stale"]
        )
        try:
            self.lab.wait(f"the marks of `{case['name']}`", lambda: shown() == expected.replace("`", ""), at_most=10)
        except Failed as why:
            raise Failed(f"{why}\nshown:    {shown()}\nexpected: {expected}") from None

    def run_what_is_needed(self, first: int) -> None:
        """Only the cells that define what the third one mentions run, and the third one."""
        self.cell(first + 2).locator(".cm-content").click()
        self.page.keyboard.press("Control+Alt+Enter")
        self.lab.wait("the needed cells", lambda: NUMBERED.fullmatch(self.prompt(first + 2)))
        if not NUMBERED.fullmatch(self.prompt(first)) or NUMBERED.fullmatch(self.prompt(first + 1)):
            raise Failed(f"these cells ran: {[self.prompt(first + n) for n in range(3)]}")

    def run_stale_cells(self, first: int) -> None:
        self.run(first)
        self.lab.wait("a stale cell", lambda: self.marks()[first + 2]["stale"])
        status = self.page.locator(f"{PANEL} .taper-Status").inner_text()
        if status != "1 cell is stale":
            raise Failed(f"the status is {status!r}")
        self.screenshot("stale")
        before = self.prompt(first + 2)
        self.cell(first + 2).locator(".taper-StaleNote button").click()
        self.lab.wait("no stale cell", lambda: not any(mark["stale"] for mark in self.marks()))
        self.lab.wait("the cell to run", lambda: self.prompt(first + 2) not in (before, "[*]:"))

    def read_a_profile(self, first: int) -> None:
        """The numbers stand beside the lines, and leave one that is edited."""
        index = first + 3
        self.run(index)
        self.lab.wait("the profile", lambda: any(self.marks()[index]["profile"]))
        shown = self.marks()[index]["profile"]
        if not re.fullmatch(r"\d+(\.\d+)? ms · 20 × · \d+(\.\d+)? [kM]?B", shown[3]) or shown[0] or shown[4]:
            raise Failed(f"the lines show {shown}")
        text = self.cell(index).locator(".jp-OutputArea-output").inner_text()
        if "ms in all" not in text:
            raise Failed(f"the output is\n{text}")
        self.cell(index).scroll_into_view_if_needed()
        self.screenshot("profile")
        self.cell(index).locator(".cm-line").nth(3).click()
        self.page.keyboard.press("End")
        self.page.keyboard.type(" ")
        changed = self.marks()[index]["profile"]
        if changed[3] or not changed[2]:
            raise Failed(f"after an edit, the lines show {changed}")

    def is_accessible(self, first: int) -> None:
        self.run(first)
        self.lab.wait("a stale cell", lambda: self.marks()[first + 2]["stale"])
        found = Axe().run(self.page, context=[[".taper-StaleNote"], [".taper-Status"]]).response["violations"]
        if found:
            raise Failed(f"axe finds {[(it['id'], it['impact'], it['nodes'][0]['html']) for it in found]}")

    def run(self, index: int) -> str:
        """Runs a cell, and returns its number in brackets."""
        before = self.prompt(index)
        self.cell(index).locator(".cm-content").click()
        self.page.keyboard.press("Control+Enter")
        is_new = lambda: NUMBERED.fullmatch(self.prompt(index)) and self.prompt(index) != before
        self.lab.wait(f"cell {index + 1}", is_new)
        return self.prompt(index).rstrip(":")

    def type_into(self, index: int, code: str) -> None:
        self.cell(index).locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.insert_text(code)

    def cell(self, index: int) -> Locator:
        return self.page.locator(f"{PANEL} .jp-CodeCell").nth(index)

    def prompt(self, index: int) -> str:
        return self.page.evaluate(READ_CELLS)[index]["prompt"]

    def marks(self) -> list[dict]:
        return self.page.evaluate(READ_MARKS)

    def screenshot(self, name: str) -> None:
        if self.screenshots:
            self.screenshots.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=self.screenshots / f"{name}.png")


if __name__ == "__main__":
    sys.exit(main())
