#!/usr/bin/env python3
"""Do in JupyterLab, with headless Chromium, what a student does while the library `taper` is compiled.

    lab_meanwhile.py --url 'http://127.0.0.1:PORT/lab?token=…' --notebook notebook.ipynb
                     [--screenshots FOLDER] [--timeout S]

The notebook has three cells: one of plain Rust with a stored output, one that needs the library, and one after which the
library can be compiled. The student reads the stored output, runs the first cell, waits for the library and stops
waiting, restarts the kernel, runs the cells again, and waits until the library is there.

Exit status as in lab_run_all.py.
"""

import sys
import time

from playwright.sync_api import Error as BrowserError
from playwright.sync_api import Page

from lab import PANEL, CannotBegin, Failed, Lab, in_browser, new_parser

PLAIN, NEEDS, LETS = range(3)
WAITS = "This cell needs the library `taper`, which is being compiled, once."


def main() -> int:
    args = new_parser("Do what a student does while the library is compiled.", timeout=240).parse_args()
    deadline = time.monotonic() + args.timeout
    return in_browser(lambda page: check(Lab(page, args, deadline), page))


def check(lab: Lab, page: Page) -> int:
    try:
        meanwhile(lab, page)
    except (CannotBegin, Failed, BrowserError) as why:
        lab.screenshot("failed")
        print(f"FAILED {why}", file=sys.stderr)
        return 1
    print("ok")
    return 0


def meanwhile(lab: Lab, page: Page) -> None:
    lab.open()
    wait_for_output(lab, PLAIN, "stored")
    lab.run(PLAIN)
    wait_for_output(lab, PLAIN, "[1, 2]")
    lab.start(NEEDS)
    wait_for_output(lab, NEEDS, WAITS)
    lab.screenshot("waits")
    page.locator(f'{PANEL} .jp-Toolbar [data-command="notebook:interrupt-kernel"]').click()
    wait_for_output(lab, NEEDS, "Interrupted")
    lab.choose("Kernel", "kernelmenu:restart")
    page.locator(".jp-Dialog .jp-mod-accept").click(timeout=60_000)
    lab.wait("the kernel to start again", lab.kernel_is_idle)
    # It has the number 1 again.
    lab.start(PLAIN)
    lab.run(LETS)
    lab.start(NEEDS)
    wait_for_output(lab, NEEDS, WAITS)
    wait_for_output(lab, NEEDS, "The library `taper` is ready.")
    lab.wait("the value", lambda: output(lab, NEEDS).endswith("3"))
    lab.screenshot("ready")


def output(lab: Lab, number: int) -> str:
    return lab.cell(number).locator(".jp-OutputArea").inner_text().strip()


def wait_for_output(lab: Lab, number: int, part: str) -> None:
    lab.wait(f"`{part}` below the cell", lambda: part in output(lab, number))


if __name__ == "__main__":
    sys.exit(main())
