#!/usr/bin/env python3
"""Do in JupyterLab, with headless Chromium, what a student does with a running cell.

    lab_student.py --url 'http://127.0.0.1:PORT/lab?token=…' --notebook student.ipynb
                   [--screenshots FOLDER] [--timeout S]

The notebook has five cells: one that makes the tensor `x`, one that draws on a
board for some seconds, one that uses `x`, one that shows a figure below a slider,
and one to try things in. The student watches the plot change, presses the interrupt
button, asks for completions (Tab) and documentation (Shift-Tab), restarts and runs
all cells, moves the slider, answers a question, measures a time, reads an error,
and opens the panel of variables.

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
MAKES, DRAWS, USES, SLIDES, TRIES = range(5)
TWO_AXES = """let board = ProgressBoard::new().xlabel("step");
for step in 0..20 {
    board.draw(step, 2.5 / (step + 1) as f64, "train_loss", 1);
    board.draw(step, step as f64 / 20.0, "train_accuracy", 1);
}"""
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
        student.answer_a_question,
        student.measure_a_time,
        student.read_an_error,
        student.draw_two_axes,
        student.open_the_variables,
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
        if "matmul" not in (text := self.proposals()):
            raise Failed(f"the first completions are\n{text}")
        # They have no types until the kernel has read the sources.
        is_typed = lambda: re.search(r"matmul\( function", self.proposals(), re.IGNORECASE)
        self.lab.wait("completions with types", is_typed)

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
        self.lab.wait("the kernel to be idle", lambda: self.prompt(TRIES) != "[*]:")
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

    def answer_a_question(self) -> None:
        self.type_into(TRIES, "let mut name = String::new(); std::io::stdin().read_line(&mut name)?; name.trim().len()")
        self.page.keyboard.press("Control+Enter")
        box = self.cell(TRIES).locator(".jp-Stdin-input")
        box.wait_for(timeout=60_000)
        self.screenshot("input")
        box.fill("Ada Lovelace")
        box.press("Enter")
        self.wait_for_output("12")

    def measure_a_time(self) -> None:
        self.try_out("%timeit zeros(10)")
        self.wait_for_output("per loop")
        self.screenshot("timeit")

    def read_an_error(self) -> None:
        self.try_out("let a = ones((2, 3));\nlet b = a.t();\n&a + &b")
        self.wait_for_output("3 | &a + &b")
        self.screenshot("error")

    def draw_two_axes(self) -> None:
        self.try_out(TWO_AXES)
        self.lab.wait("the board", lambda: self.plot(TRIES))
        self.cell(TRIES).locator(".jp-OutputArea").scroll_into_view_if_needed()
        self.screenshot("axes")

    def open_the_variables(self) -> None:
        self.page.locator(f"{PANEL} .jp-DebuggerBugButton").click()
        self.page.locator('.jp-SideBar [data-id="jp-debugger-sidebar"]').click()
        self.try_out("let rate = 0.125;")
        row = self.page.locator(".jp-DebuggerVariables").get_by_text("rate").first
        row.wait_for(timeout=60_000)
        self.screenshot("variables")
        shown = self.page.locator(".jp-DebuggerVariables").inner_text()
        for part in ["rate", "f64 0.125", "Tensor (2, 3) f32 [0, 0, 0, 0, 0, 0]"]:
            if part not in shown:
                raise Failed(f"`{part}` is missing in the panel of variables:\n{shown}")

    def proposals(self) -> str:
        """Presses Tab, and returns what is proposed."""
        self.page.keyboard.press("Tab")
        completer = self.page.locator(COMPLETER)
        try:
            # JupyterLab drops what comes after a second.
            completer.locator(".jp-Completer-item").first.wait_for(timeout=5_000)
        except BrowserError:
            return ""
        text = " ".join(completer.inner_text().split())
        self.screenshot("completion")
        self.page.keyboard.press("Escape")
        completer.wait_for(state="hidden", timeout=10_000)
        return text

    def try_out(self, code: str) -> None:
        """Runs code in the last cell, and waits until it has run."""
        before = self.prompt(TRIES)
        self.type_into(TRIES, code)
        self.page.keyboard.press("Control+Enter")
        is_new = lambda: NUMBERED.fullmatch(self.prompt(TRIES)) and self.prompt(TRIES) != before
        self.lab.wait(f"`{code}`", is_new)

    def wait_for_output(self, part: str) -> None:
        outputs = self.cell(TRIES).locator(".jp-OutputArea")
        self.lab.wait(f"`{part}` below the cell", lambda: part in outputs.inner_text())

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
