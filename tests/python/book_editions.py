#!/usr/bin/env python3
"""Read three pages of each translation of the built book in headless Chromium: the home page, a chapter, what a search finds.

    book_editions.py FOLDER [--all] [--screenshots FOLDER]

FOLDER contains the pages. With --all, the others are read too, without the rules of axe. Exit status: 0 without problems, 1 with problems (one on each line), 2 without Chromium.
"""

import argparse
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from book_check import NO_PAGES as OF_MDBOOK
from book_visit import LOOKS, Reader
from lab import becomes_true, report
from playwright.sync_api import Browser

CHAPTER = "autodiff.html"
# The last has all pages, for paper.
NO_PAGES = {*OF_MDBOOK, "print.html"}


class Edition(NamedTuple):
    """What is in the pages of a language."""

    minutes: str
    download: str
    figure: str
    # What is searched for with the page that has it, and the heading of the results.
    words: dict[str, str]
    heading: str


EDITIONS = {
    "fr": Edition("30 minutes", "Télécharger le notebook", "Figure 3.1.", {"taux d'apprentissage": "training.html", "tenseur": "tensors.html", "convolution": "convolutions.html"}, "résultats pour"),
    "zh": Edition("30 分钟", "下载笔记本", "图 3.1", {"所有权": "rust-glossary.html", "张量": "tensors.html", "卷积": "convolutions.html"}, "搜索结果"),
}


class Handler(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


class Server(ThreadingHTTPServer):
    def handle_error(self, *_: object) -> None:
        """A browser may close a connection at any time."""


def visit(reader: Reader, language: str, edition: Edition, pages: list[str]) -> None:
    home, chapter = f"{language}/index.html", f"{language}/{CHAPTER}"
    for look in LOOKS:
        reader.visit([home, chapter], look)
        if pages:
            reader.visit(pages, look, quickly=True)
    page = reader.open(home)
    expect(reader, page, ".chapter-time", edition.minutes)
    page.goto(f"{reader.root}/{chapter}")
    reader.where = chapter
    expect(reader, page, ".actions", edition.download)
    expect(reader, page, ".figure-number", edition.figure)
    if page.evaluate("document.documentElement.lang") != language:
        reader.note("the page has another language")
    style = page.locator(".hljs-comment").first.evaluate("comment => getComputedStyle(comment).fontStyle")
    if (style == "normal") != (language == "zh"):
        reader.note(f"comments are {style}")
    page.context.close()
    for words, found in edition.words.items():
        search(reader, home, words, found, edition.heading)
    switch(reader, language)


def expect(reader: Reader, page, where: str, text: str) -> None:
    all_texts = page.locator(where).all_text_contents
    if not becomes_true(page, lambda: any(text in found for found in all_texts())):
        reader.note(f"{text} is not in {all_texts()[:3]}")


def search(reader: Reader, name: str, words: str, page_with_them: str, heading: str) -> None:
    for look in ("wide, light", "narrow, dark"):
        page = reader.open(name, look)
        reader.where = f"search for {words} ({look})"
        page.keyboard.press("/")
        if look == "wide, light":
            page.keyboard.type(words)
        else:  # without a key, when the index is there already: as an input method, or the menu's Paste
            page.wait_for_function("typeof window.search.sections === 'object' && !document.querySelector('#mdbook-searchbar-outer.searching')")
            page.keyboard.insert_text(words)
        found = page.locator("#mdbook-searchresults a")
        links = lambda: found.evaluate_all("all => all.map(a => a.href)")
        if not becomes_true(page, lambda: any(page_with_them in link for link in links())):
            reader.note(f"{page_with_them} is not found")
        expect(reader, page, "#mdbook-searchresults-header", heading)
        if reader.screenshots:
            page.screenshot(path=reader.screenshots / f"{name[:2]}-search-{look.replace(', ', '-')}.png")
        page.context.close()


def switch(reader: Reader, language: str) -> None:
    """The menu stays at the place on the page, and the choice counts for the next visit; a link opens its own page."""
    page = reader.open(CHAPTER)
    reader.where = f"menu to {language}"
    page.evaluate("scrollTo(0, 3000)")
    page.locator("select.languages").select_option(label=page.locator(f"select.languages [lang={language}]").inner_text())
    page.wait_for_url(f"**/{language}/{CHAPTER}")
    if not becomes_true(page, lambda: page.evaluate("scrollY") > 1000):
        reader.note("the place is lost")
    # A new visit has no referrer.
    page.goto(f"{reader.root}/index.html", referer="")
    page.wait_for_url(f"**/{language}/index.html")
    page.goto(f"{reader.root}/{CHAPTER}", referer="")
    page.wait_for_timeout(500)
    if page.evaluate("document.documentElement.lang") != "en":
        reader.note("a link to an English page opens another one")
    page.context.close()


def pages_of(folder: Path, language: str) -> list[str]:
    pages = sorted((folder / language).rglob("*.html"))
    return [str(page.relative_to(folder)) for page in pages if page.name not in NO_PAGES]


def main() -> int:
    parser = argparse.ArgumentParser(description="Read the translations of the book in headless Chromium.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--screenshots", type=Path)
    args = parser.parse_args()
    server = Server(("127.0.0.1", 0), partial(Handler, directory=args.folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def read(browser: Browser) -> list[str]:
        reader = Reader(browser, f"http://127.0.0.1:{server.server_port}", args.screenshots)
        for language, edition in EDITIONS.items():
            visit(reader, language, edition, pages_of(args.folder, language) if args.all else [])
        return reader.problems

    return report(read, f"{len(EDITIONS)} editions", args.screenshots)


if __name__ == "__main__":
    sys.exit(main())
