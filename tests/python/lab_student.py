#!/usr/bin/env python3
"""Do in JupyterLab, with headless Chromium, what a student does with a running cell.

    lab_student.py --url 'http://127.0.0.1:PORT/lab?token=…' --notebook student.ipynb
                   [--screenshots FOLDER] [--timeout S]

The notebook has six cells: one that makes the tensor `x`, one that draws on a
board for some seconds, one that uses `x`, one that shows a figure below a slider,
one to try things in, and one with a field for drawing. The student watches the plot change, presses the interrupt
button, asks for completions (Tab) and documentation (Shift-Tab), restarts and runs
all cells, moves the slider, draws with the mouse, answers a question, measures a time, reads an error,
opens the panel of variables, and exports the notebook.

Exit status as in lab_run_all.py.
"""

import re
import sys
import time

from playwright.sync_api import Error as BrowserError
from playwright.sync_api import Page

from lab import NUMBERED, PANEL, CannotBegin, Failed, Lab, in_browser, new_parser

MAKES, DRAWS, USES, SLIDES, TRIES, FIELD = range(6)
TWO_AXES = """let board = ProgressBoard::new().xlabel("step");
for step in 0..20 {
    board.draw(step, 2.5 / (step + 1) as f64, "train_loss", 1);
    board.draw(step, step as f64 / 20.0, "train_accuracy", 1);
}"""
NOT_IN_THE_MENU = {"custom", "notebook", "python"}
COMPLETER = ".jp-Completer:visible"
TOOLTIP = ".jp-Tooltip:visible"


def main() -> int:
    parser = new_parser("Do what a student does in a running JupyterLab.", timeout=300)
    args = parser.parse_args()
    deadline = time.monotonic() + args.timeout
    return in_browser(lambda page: check(Student(Lab(page, args, deadline), page)))


def check(student: "Student") -> int:
    steps = [
        student.open,
        student.watch_the_plot_and_interrupt,
        student.complete,
        student.read_documentation,
        student.restart_and_run_all,
        student.move_the_slider,
        student.draw_with_the_mouse,
        student.answer_a_question,
        student.measure_a_time,
        student.read_an_error,
        student.draw_two_axes,
        student.open_the_variables,
        student.export,
    ]
    for step in steps:
        try:
            step()
        except (CannotBegin, Failed, BrowserError) as why:
            student.lab.screenshot("failed")
            print(f"FAILED at {step.__name__}: {why}", file=sys.stderr)
            return 1
        print(f"ok {step.__name__}")
    return 0


class Student:
    def __init__(self, lab: Lab, page: Page) -> None:
        self.lab = lab
        self.page = page

    def open(self) -> None:
        self.lab.open()

    def watch_the_plot_and_interrupt(self) -> None:
        self.lab.start(MAKES, "Shift+Enter")
        self.lab.wait("the first cell", lambda: self.lab.prompt(MAKES) and NUMBERED.fullmatch(self.lab.prompt(MAKES)))
        self.lab.start(DRAWS, "Shift+Enter")
        seen: set[str] = set()
        self.lab.wait("four states of the plot", lambda: self.note_plot(seen) >= 4)
        if self.lab.prompt(DRAWS) != "[*]:":
            raise Failed(f"the plot changed, but the cell does not run: {self.lab.prompt(DRAWS)}")
        self.lab.screenshot("running")
        self.page.locator(f'{PANEL} .jp-Toolbar [data-command="notebook:interrupt-kernel"]').click()
        self.lab.wait("the cell to stop", lambda: NUMBERED.fullmatch(self.lab.prompt(DRAWS)))
        self.wait_for_output("Interrupted", DRAWS)
        self.lab.wait("the plot of the interrupted cell", self.plot)
        self.lab.screenshot("interrupted")

    def complete(self) -> None:
        self.lab.replace(USES, "x.matm", typed=True)
        self.lab.wait("completions", lambda: "matmul" in self.proposals())
        # They have no types until the kernel has read the sources.
        is_typed = lambda: re.search(r"matmul\( function", self.proposals(), re.IGNORECASE)
        self.lab.wait("completions with types", is_typed)

    def read_documentation(self) -> None:
        self.lab.replace(USES, "x.matmul", typed=True)
        self.page.keyboard.press("Shift+Tab")
        tooltip = self.page.locator(TOOLTIP)
        tooltip.wait_for(timeout=60_000)
        text = tooltip.inner_text()
        for part in ["fn matmul", "matrix"]:
            if part not in text:
                raise Failed(f"`{part}` is missing in the documentation:\n{text}")
        self.lab.screenshot("documentation")
        self.page.keyboard.press("Escape")

    def restart_and_run_all(self) -> None:
        self.lab.replace(USES, "x.dims().len()", typed=True)
        self.lab.choose("Run", "runmenu:restart-and-run-all")
        self.page.locator(".jp-Dialog .jp-mod-accept").click(timeout=60_000)
        wanted = ["[1]:", "[2]:", "[3]:", "[4]:"]
        self.lab.wait("all cells to run again", lambda: [self.lab.prompt(n) for n in range(4)] == wanted)
        self.lab.wait("the kernel to be idle", lambda: self.lab.prompt(TRIES) != "[*]:")
        shown = self.lab.cell(USES).locator(".jp-OutputArea-output")
        self.lab.wait("the value of the last cell", lambda: [it.strip() for it in shown.all_inner_texts()] == ["2"])
        self.lab.screenshot("again")

    def move_the_slider(self) -> None:
        handle = self.lab.cell(SLIDES).locator(".noUi-handle")
        handle.wait_for(timeout=60_000)
        self.lab.wait("a figure below the slider", lambda: self.plot(SLIDES))
        before = self.plot(SLIDES)
        handle.focus()
        for _ in range(30):
            self.page.keyboard.press("ArrowRight")
        self.lab.wait("the curve to follow the slider", lambda: self.plot(SLIDES) not in (before, None))
        readout = self.lab.cell(SLIDES).locator(".widget-readout")
        self.lab.wait("the value of the slider to change", lambda: readout.inner_text() != "5")
        self.lab.screenshot("slider")
        # The kernel announces no subshells, so JupyterLab asks for none, and the slider's messages go to the kernel's shell.
        kernel = self.lab.kernel
        if "comm_msg" not in kernel.kinds or kernel.subshells or any("subshell" in kind for kind in kernel.kinds):
            raise Failed(f"JupyterLab has sent {sorted(kernel.kinds)}, to the subshells {kernel.subshells}")

    def draw_with_the_mouse(self) -> None:
        """Draws a line across a field of 4 by 4 pixels, below which the cell shows their sum."""
        field = self.lab.cell(FIELD).locator("canvas")
        field.wait_for(timeout=60_000)
        field.scroll_into_view_if_needed()
        shown = lambda: self.lab.cell(FIELD).locator(".jp-OutputArea-output").last.inner_text().strip()
        self.lab.wait("the sum of an empty field", lambda: shown() == "0.0")
        box = field.bounding_box()
        middle = box["y"] + box["height"] / 2
        self.page.mouse.move(box["x"] + 5, middle)
        self.page.mouse.down()
        self.page.mouse.move(box["x"] + box["width"] - 5, middle, steps=5)
        self.page.mouse.up()
        # The pen is as wide as one and a half pixels.
        self.lab.wait("the sum of a line", lambda: 4.5 < float(shown()) < 6.5)
        self.lab.screenshot("drawing")
        self.lab.cell(FIELD).get_by_role("button", name="Clear").click()
        self.lab.wait("an empty field", lambda: shown() == "0.0")

    def answer_a_question(self) -> None:
        self.lab.replace(TRIES, "let mut name = String::new(); std::io::stdin().read_line(&mut name)?; name.trim().len()", typed=True)
        self.page.keyboard.press("Control+Enter")
        box = self.lab.cell(TRIES).locator(".jp-Stdin-input")
        box.wait_for(timeout=60_000)
        self.lab.screenshot("input")
        box.fill("Ada Lovelace")
        box.press("Enter")
        self.wait_for_output("12")

    def measure_a_time(self) -> None:
        self.try_out("%timeit zeros(10)")
        self.wait_for_output("per loop")
        self.lab.screenshot("timeit")

    def read_an_error(self) -> None:
        self.try_out("let a = ones((2, 3));\nlet b = a.t();\n&a + &b")
        self.wait_for_output("3 | &a + &b")
        self.lab.screenshot("error")

    def draw_two_axes(self) -> None:
        # At once: JupyterLab closes brackets that are typed.
        self.lab.replace(TRIES, TWO_AXES)
        self.lab.run(TRIES)
        self.lab.wait("the board", lambda: self.plot(TRIES))
        self.lab.cell(TRIES).locator(".jp-OutputArea").scroll_into_view_if_needed()
        self.lab.screenshot("axes")

    def open_the_variables(self) -> None:
        self.page.locator(f"{PANEL} .jp-DebuggerBugButton").click()
        self.page.locator('.jp-SideBar [data-id="jp-debugger-sidebar"]').click()
        self.try_out("let rate = 0.125;")
        row = self.page.locator(".jp-DebuggerVariables").get_by_text("rate").first
        row.wait_for(timeout=60_000)
        panel = self.page.locator(".jp-DebuggerVariables")
        for part in ["rate", "f64 0.125", "Tensor (2, 3) · 24 B · cpu · f32 [0, 0, 0, 0, 0, 0]"]:
            self.lab.wait(f"`{part}` in the panel of variables", lambda: part in panel.inner_text())
        self.open_a_variable()
        gutters = self.page.locator(f"{PANEL} .cm-breakpoint-gutter").locator("visible=true")
        if places := gutters.evaluate_all("all => all.map(gutter => gutter.closest('.jp-Notebook')?.className)"):
            raise Failed(f"a breakpoint can be set, although the kernel has none: {places}")
        breakpoints = self.page.locator(".jp-DebuggerBreakpoints-body")
        note = lambda: breakpoints.evaluate("element => getComputedStyle(element, '::before').content")
        self.lab.wait("the note in the panel of breakpoints", lambda: "no breakpoints" in note())

    def open_a_variable(self) -> None:
        """The rows of the tensor are below it."""
        panel = self.page.locator(".jp-DebuggerVariables")
        panel.locator(".jp-DebuggerVariables-name", has_text=re.compile("^x$")).click()
        rows = panel.get_by_text("[0, 0, 0]", exact=True)
        self.lab.wait("the rows of the tensor", lambda: rows.count() == 2)
        self.lab.screenshot("variables")

    def export(self) -> None:
        """Each format in the menu can be written."""
        formats = self.lab.get("/api/nbconvert").keys() - NOT_IN_THE_MENU
        if not {"html", "markdown", "script"} <= formats:
            raise Failed(f"the menu offers {formats}")
        for name in sorted(formats):
            self.lab.answer(f"/nbconvert/{name}/{self.lab.path}?download=true")

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
        self.lab.screenshot("completion")
        self.page.keyboard.press("Escape")
        completer.wait_for(state="hidden", timeout=10_000)
        return text

    def try_out(self, code: str) -> None:
        """Runs code in the last cell, and waits until it has run."""
        self.lab.replace(TRIES, code, typed=True)
        self.lab.run(TRIES)

    def wait_for_output(self, part: str, number: int = TRIES) -> None:
        outputs = self.lab.cell(number).locator(".jp-OutputArea")
        self.lab.wait(f"`{part}` below the cell", lambda: part in outputs.inner_text())

    def note_plot(self, seen: set[str]) -> int:
        """Adds the state of the plot to those seen so far, and returns their number."""
        if plot := self.plot():
            seen.add(plot)
        return len(seen)

    def plot(self, number: int = DRAWS) -> str | None:
        image = self.lab.cell(number).locator(".jp-OutputArea-output img")
        return image.first.get_attribute("src") if image.count() else None


if __name__ == "__main__":
    sys.exit(main())
