#!/usr/bin/env python3
"""Open a notebook in a running JupyterLab with headless Chromium and run all its cells.

    lab_run_all.py --url 'http://127.0.0.1:PORT/lab?token=…' --notebook 33-gpus.ipynb
                   [--signed] [--screenshot out.png] [--timeout S]

It does what a student does: opens the notebook, waits for the kernel, chooses
Run > Run All Cells, and waits until every code cell shows a number.

Exit status: 0 if every cell ran, 1 if not, 2 if the check could not start
(no Chromium, no JupyterLab, no such notebook).
"""

import argparse
import sys
import time
from pathlib import Path

from playwright.sync_api import Error as BrowserError
from playwright.sync_api import Page

from lab import NUMBERED, PANEL, READ_CELLS, CannotBegin, Failed, Lab, in_browser, new_parser

SCROLLER = f"{PANEL} .jp-WindowedPanel-outer"


def main() -> int:
    parser = new_parser("Run all cells of a notebook in a running JupyterLab.", timeout=600)
    parser.add_argument("--screenshot", type=Path, help="OUT.png, or OUT-1.png, OUT-2.png … for a long notebook")
    parser.add_argument("--signed", action="store_true", help="the stored figures must be shown before a cell has run")
    args = parser.parse_args()
    return in_browser(lambda page: check(page, args))


def check(page: Page, args: argparse.Namespace) -> int:
    began = time.monotonic()
    lab = Lab(page, args, deadline=began + args.timeout)
    try:
        lab.open()
        if args.signed:
            lab.wait("the stored figures", lambda: shows_stored_figures(lab), at_most=60)
        ready = time.monotonic()
        lab.run_all()
        cells = lab.wait_for_cells()
    except (CannotBegin, Failed, BrowserError) as why:
        print(f"FAILED {args.notebook}: {why}", file=sys.stderr)
        save_screenshots(page, args.screenshot)
        return 1
    shots = save_screenshots(page, args.screenshot)
    ran = sum(bool(NUMBERED.fullmatch(cell["prompt"])) for cell in cells)
    print(
        f"ok {args.notebook}: {ran} code cells ran, {sum(cell['figures'] for cell in cells)} figures, "
        f"kernel ready after {ready - began:.1f} s, cells done {time.monotonic() - ready:.1f} s later, "
        f"{len(shots)} screenshots"
    )
    return 0


def shows_stored_figures(lab: Lab) -> bool:
    outputs = [output for cell in lab.cells for output in cell["outputs"]]
    stored = sum(any(kind.startswith("image/") for kind in output.get("data", {})) for output in outputs)
    if stored == 0:
        raise Failed("the notebook has no stored figure")
    return sum(cell["figures"] for cell in lab.page.evaluate(READ_CELLS)) == stored


def save_screenshots(page: Page, out: Path | None) -> list[Path]:
    """Save the whole notebook from top to bottom: OUT.png, or OUT-1.png, OUT-2.png … ."""
    if out is None:
        return []
    out.parent.mkdir(parents=True, exist_ok=True)
    for old in [out, *out.parent.glob(f"{out.stem}-[0-9]*{out.suffix}")]:
        old.unlink(missing_ok=True)
    scroller = page.locator(SCROLLER)
    if scroller.count() != 1:
        page.screenshot(path=out)
        return [out]

    height, step = scroller.evaluate("e => [e.scrollHeight, e.clientHeight]")
    tops = range(0, max(height, 1), max(step, 1))
    shots = [out] if len(tops) == 1 else [out.with_name(f"{out.stem}-{n}{out.suffix}") for n in range(1, len(tops) + 1)]
    for top, path in zip(tops, shots):
        scroller.evaluate("(e, top) => { e.scrollTop = top; }", top)
        page.wait_for_timeout(200)
        page.screenshot(path=path)
    return shots

if __name__ == "__main__":
    sys.exit(main())
