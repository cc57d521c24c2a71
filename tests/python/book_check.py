#!/usr/bin/env python3
"""Check the built book without a browser.

    book_check.py FOLDER

Every relative link must lead to a file of the book, and its fragment to an element of that file. Ids are
unique, images have a size and an alternative text, and the text of a page contains no scripts. Links into the crate's
documentation are checked; links within it are left to rustdoc.
"""

import os
import sys
from collections import Counter
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

# Pages of mdBook itself, whose links depend on a script.
NO_PAGES = {"toc.html", "404.html"}


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: Counter[str] = Counter()
        self.links: list[str] = []
        self.problems: list[str] = []
        self.in_main = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        names = dict(attributes)
        if tag == "main":
            self.in_main = True
        if names.get("id"):
            self.ids[names["id"]] += 1
        self.links += [names[name] for name in ("href", "src") if names.get(name)]
        if tag == "img":
            # A figure of the home page, which is loaded late, is beside the name of its chapter.
            needed = ("width", "height") if names.get("loading") else ("alt", "width", "height")
            missing = [name for name in needed if not names.get(name)]
            if missing:
                self.problems.append(f"{names.get('src')} has no {', '.join(missing)}")
        runs = tag == "script" or any(name.startswith("on") for name in names)
        if self.in_main and runs:
            self.problems.append(f"<{tag}> in the text can run")

    def handle_endtag(self, tag: str) -> None:
        if tag == "main":
            self.in_main = False


def main() -> int:
    root = Path(sys.argv[1]).resolve()
    files = sorted(file for file in root.rglob("*.html") if "api" not in file.relative_to(root).parts)
    pages = {file: Page(file.read_text()) for file in files}
    problems = []
    links = 0
    for file, page in list(pages.items()):
        name = file.relative_to(root)
        problems += [f"{name}: {problem}" for problem in page.problems]
        problems += [f"{name}: the id {id} occurs twice" for id, count in page.ids.items() if count > 1]
        if file.name in NO_PAGES:
            continue
        for link in page.links:
            links += 1
            if why := what_is_dead(link, file, root, pages):
                problems.append(f"{name}: {link} {why}")
    for problem in problems:
        print(problem)
    if not problems:
        print(f"ok {len(files)} pages, {links} links")
    return 1 if problems else 0


@cache
def is_file(path: Path) -> bool:
    return path.is_file()


def what_is_dead(link: str, file: Path, root: Path, pages: dict[Path, Page]) -> str | None:
    address = urlsplit(link)
    if address.scheme or address.netloc:
        return None
    target = Path(os.path.normpath(file.parent / unquote(address.path))) if address.path else file
    if not target.is_relative_to(root):
        return "leads out of the book"
    if not is_file(target):
        return "is not there"
    anchor = unquote(address.fragment)
    if anchor and target.suffix == ".html":
        if target not in pages:
            pages[target] = Page(target.read_text())
        page = pages[target]
        if anchor not in page.ids:
            return "has no such place"
    return None


if __name__ == "__main__":
    sys.exit(main())
