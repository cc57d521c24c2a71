#!/usr/bin/env python3
"""Do in JupyterLab, with headless Chromium, what a student does with a running cell.

    lab_student.py --url 'http://127.0.0.1:PORT/lab?token=…' --notebook student.ipynb
                   [--screenshots FOLDER] [--timeout S]

The notebook has four cells: one that makes the tensor `x`, one that draws on a
board for some seconds, one that uses `x`, and one that shows a figure below a
slider. The student watches the plot change, presses the interrupt button, asks for
completions (Tab) and documentation (Shift-Tab), restarts and runs all cells, and
moves the slider.

Exit status as in lab_run_all.py.
"""

import re
import sys
import time
from pathlib import Path

from playwright.sync_api import Error as BrowserError
from playwright.sync_api import Locator, Page

from lab_run_all import NUMBERED, READ_CELLS, CannotBegin, Failed, Lab, in_browser, new_parser

PANEL = ".jp-NotebookPanel:not(.lm-mod-hidden)"
MAKES, DRAWS, USES, SLIDES = range(4)
COMPLETER = ".jp-Completer:visible"
TOOLTIP = ".jp-Tooltip:visible"


def main() -> int:
    parser = new_parser("Do what a student does in a running JupyterLab.", timeout=300)
    parser.add_argument("--screenshots", type=Path, help="folder for a screenshot of each step")
    args = parser.parse_args()
    deadline = time.monotonic() + args.timeout
    return in_browser(lambda page: check(Student(Lab(page, args.url, args.notebook, deadline), page, args.screenshots)))


def check(student: "Student") -> int:
    steps = [
        student.open,
        student.watch_the_plot_and_interrupt,
        student.complete,
        student.read_documentation,
        student.restart_and_run_all,
        student.move_the_slider,
    ]
    for step in steps:
        try:
            step()
        except (CannotBegin, Failed, BrowserError) as why:
            student.screenshot("failed")
            print(f"FAILED at {step.__name__}: {why}", file=sys.stderr)
            return 1
        print(f"ok {step.__name__}")
    return 0


class Student:
    def __init__(self, lab: Lab, page: Page, screenshots: Path | None) -> None:
        self.lab = lab
        self.page = page
        self.screenshots = screenshots

    def open(self) -> None:
        self.lab.open()

    def watch_the_plot_and_interrupt(self) -> None:
        self.run(MAKES)
        self.lab.wait("the first cell", lambda: self.prompt(MAKES) and NUMBERED.fullmatch(self.prompt(MAKES)))
        self.run(DRAWS)
        seen: set[str] = set()
        self.lab.wait("four states of the plot", lambda: self.note_plot(seen) >= 4)
        if self.prompt(DRAWS) != "[*]:":
            raise Failed(f"the plot changed, but the cell does not run: {self.prompt(DRAWS)}")
        self.screenshot("running")
        self.page.locator(f'{PANEL} .jp-Toolbar [data-command="notebook:interrupt-kernel"]').click()
        self.lab.wait("the cell to stop", lambda: NUMBERED.fullmatch(self.prompt(DRAWS)))
        outputs = self.cell(DRAWS).locator(".jp-OutputArea").inner_text()
        if "Interrupted" not in outputs:
            raise Failed(f"the interrupted cell shows\n{outputs}")
        if not self.plot():
            raise Failed("the plot is gone")
        self.screenshot("interrupted")

    def complete(self) -> None:
        self.type_into(USES, "x.matm")
        self.page.keyboard.press("Tab")
        completer = self.page.locator(COMPLETER)
        completer.wait_for(timeout=30_000)
        proposal = completer.locator(".jp-Completer-item").filter(has_text="matmul").first
        proposal.wait_for(timeout=10_000)
        text = " ".join(completer.inner_text().split())
        if not re.search(r"matmul\( fn -> result<self>", text, re.IGNORECASE):
            raise Failed(f"the completions show no type: {text}")
        self.screenshot("completion")
        self.page.keyboard.press("Escape")

    def read_documentation(self) -> None:
        self.type_into(USES, "x.matmul")
        self.page.keyboard.press("Shift+Tab")
        tooltip = self.page.locator(TOOLTIP)
        tooltip.wait_for(timeout=30_000)
        text = tooltip.inner_text()
        for part in ["fn matmul", "matrix"]:
            if part not in text:
                raise Failed(f"`{part}` is missing in the documentation:\n{text}")
        self.screenshot("documentation")
        self.page.keyboard.press("Escape")

    def restart_and_run_all(self) -> None:
        self.type_into(USES, "x.dims().len()")
        self.lab.choose("Run", "runmenu:restart-and-run-all")
        self.page.locator(".jp-Dialog .jp-mod-accept").click(timeout=10_000)
        wanted = ["[1]:", "[2]:", "[3]:", "[4]:"]
        self.lab.wait("all cells to run again", lambda: [self.prompt(n) for n in range(4)] == wanted)
        shown = self.cell(USES).locator(".jp-OutputArea-output").inner_text().strip()
        if shown != "2":
            raise Failed(f"the last cell shows {shown}")
        self.screenshot("again")

    def move_the_slider(self) -> None:
        handle = self.cell(SLIDES).locator(".noUi-handle")
        handle.wait_for(timeout=30_000)
        before = self.plot(SLIDES)
        if not before:
            raise Failed("there is no figure below the slider")
        handle.focus()
        for _ in range(30):
            self.page.keyboard.press("ArrowRight")
        self.lab.wait("the curve to follow the slider", lambda: self.plot(SLIDES) not in (before, None))
        readout = self.cell(SLIDES).locator(".widget-readout").inner_text()
        if readout == "5":
            raise Failed("the slider shows its first value")
        self.screenshot("slider")

    def cell(self, number: int) -> Locator:
        return self.page.locator(f"{PANEL} .jp-CodeCell").nth(number)

    def prompt(self, number: int) -> str:
        return self.page.evaluate(READ_CELLS)[number]["prompt"]

    def run(self, number: int) -> None:
        self.cell(number).locator(".cm-content").click()
        self.page.keyboard.press("Shift+Enter")

    def type_into(self, number: int, code: str) -> None:
        self.cell(number).locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        self.page.keyboard.type(code)

    def note_plot(self, seen: set[str]) -> int:
        """Adds the state of the plot to those seen so far, and returns their number."""
        if plot := self.plot():
            seen.add(plot)
        return len(seen)

    def plot(self, number: int = DRAWS) -> str | None:
        image = self.cell(number).locator(".jp-OutputArea-output img")
        return image.first.get_attribute("src") if image.count() else None

    def screenshot(self, name: str) -> None:
        if self.screenshots:
            self.screenshots.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=self.screenshots / f"{name}.png")


if __name__ == "__main__":
    sys.exit(main())
