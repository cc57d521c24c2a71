#!/usr/bin/env python3
"""Check that a running JupyterLab and the chapter that it shows are in a language, in headless Chromium.

    lab_language.py --url 'http://127.0.0.1:PORT/lab?token=…' --notebook 01-welcome.ipynb --menu Fichier --title Bienvenue
                    [--screenshots FOLDER]

Exit status: 0 if they are, 1 if not, 2 if the check could not start.
"""

import argparse
import sys

from lab import PANEL, becomes_true, in_browser, new_parser
from playwright.sync_api import Error as BrowserError
from playwright.sync_api import Page


def main() -> int:
    parser = new_parser("Check the language of JupyterLab.", timeout=60)
    parser.add_argument("--menu", required=True, help="the first menu")
    parser.add_argument("--title", required=True, help="the title of the chapter")
    args = parser.parse_args()
    return in_browser(lambda page: check(page, args))


def check(page: Page, args: argparse.Namespace) -> int:
    page.set_default_timeout(args.timeout * 1000)
    page.goto(args.url)
    try:
        menu = page.locator(".lm-MenuBar-itemLabel").first
        page.locator(f"{PANEL} h1", has_text=args.title).first.wait_for()
        menu.click()
        page.locator(".lm-Menu-itemLabel").first.wait_for()
    except BrowserError as why:
        print(f"FAILED {args.notebook}: {why}", file=sys.stderr)
        return 1
    becomes_true(page, lambda: menu.inner_text() == args.menu)
    found = menu.inner_text()
    if args.screenshots:
        args.screenshots.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=args.screenshots / "menu.png")
    print(f"{'ok' if found == args.menu else 'FAILED'} the first menu is {found}")
    return 0 if found == args.menu else 1


if __name__ == "__main__":
    sys.exit(main())
