#!/usr/bin/env python3
"""Run the cells of the served book in headless Chromium, as a reader does, and as another site would.

    book_run.py --url 'http://127.0.0.1:3000/?token=…' --lab http://localhost:8888/ [--screenshots FOLDER]

The book has the chapters of `tests/slow/book_run.rs`. Exit status: 0 without problems, 1 with problems (one on each
line), 2 without Chromium.
"""

import argparse
import sys
import threading
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from urllib.parse import urlsplit

from book_visit import LOOKS, TOO_WIDE
from axe_playwright_python.sync_playwright import Axe
from lab import report
from playwright.sync_api import Browser, expect
from playwright.sync_api import Error as BrowserError

PATIENCE = 60_000
# The first cell starts the session, and may build the image.
FIRST_CELL = 1_500_000

OTHER_SITE = """<!DOCTYPE html><title>Other site</title><iframe src="{book}/run.html"></iframe><script>
const body = JSON.stringify({{ page: 'run', code: 'let elsewhere = 1;' }});
Promise.allSettled([
    fetch('{book}/_taper/run', {{ method: 'POST', body, credentials: 'include', mode: 'no-cors' }}),
    fetch('{book}/_taper/run', {{ method: 'POST', body, credentials: 'include',
        headers: {{ 'Content-Type': 'application/json' }} }}),
    fetch('{book}/run.html', {{ credentials: 'include' }}).then(answer => answer.text()),
]).then(all => document.title = 'done ' + all.map(one => one.status).join(' '));
</script>"""


class Book:
    """The served book in a browser, and the problems found."""

    def __init__(self, browser: Browser, address: str, lab: str, screenshots: Path | None) -> None:
        self.root = address.split("/?")[0]
        self.address = address
        self.lab = lab
        self.screenshots = screenshots
        self.problems: list[str] = []
        self.is_refused = False
        self.context = browser.new_context(viewport=LOOKS["wide, light"][0])
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        expect.set_options(timeout=PATIENCE)
        self.page.on("console", lambda m: self.note(f"{m.text} {m.location}") if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda error: self.note(f"error: {error}"))
        self.page.on("request", lambda r: None if r.url.startswith((self.root, "data:")) else self.note(f"asks {r.url}"))

    def note(self, problem: str) -> None:
        self.problems.append(problem)

    def check(self, is_right: bool, problem: str) -> None:
        if not is_right:
            self.note(problem)

    def cell(self, name: str):
        return self.page.locator(f"[id='cell-id={name}']")

    def code(self, name: str):
        return self.cell(name).get_by_role("textbox")

    def run(self, name: str) -> None:
        self.cell(name).get_by_role("button", name="Run", exact=True).click()

    def shows(self, name: str, text: str) -> None:
        expect(self.cell(name).locator(".live")).to_contain_text(text)

    def has_state(self, name: str, state: str) -> None:
        expect(self.cell(name)).to_have_attribute("data-run", state)

    def replace(self, name: str, text: str) -> None:
        self.code(name).click()
        self.page.keyboard.press("ControlOrMeta+a")
        self.page.keyboard.type(text)

    def enter(self) -> None:
        self.page.goto(self.address)
        self.page.wait_for_url(f"{self.root}/")
        cookie = self.context.cookies()[0]
        self.check(cookie["httpOnly"] and cookie["sameSite"] == "Strict", f"cookie: {cookie}")
        self.check(cookie["value"] not in self.page.content(), "the page has the secret of the cookie")
        self.page.goto(f"{self.root}/run.html")

    def run_and_edit(self) -> None:
        self.run("first")
        expect(self.cell("first")).to_have_attribute("data-run", "done", timeout=FIRST_CELL)
        self.shows("first", "21")
        self.replace("first", "let mut x = 40;\nx + 2")
        self.page.keyboard.press("Shift+Enter")
        self.shows("first", "42")
        focus = self.page.evaluate("document.activeElement.closest('.cell').id")
        self.check(focus == "cell-id=text", f"Shift-Enter leads to {focus}")

    def run_all(self) -> None:
        """Checks every kind of output, also after a cell that is not on the page, and of a cell that is meant to fail."""
        self.cell("last").hover()
        self.cell("error").get_by_role("button", name="Run all above").click()
        self.shows("text", "100 %")
        self.check("10 %\n" not in self.cell("text").inner_text().replace("100 %", ""), "the progress is not overwritten")
        expect(self.cell("text").locator(".ansi-red-fg")).to_have_text("red")
        self.shows("text", "2")
        expect(self.cell("figure").locator("img[src^='data:image/svg+xml']")).to_be_visible()
        expect(self.cell("figure").locator("figcaption")).to_contain_text("A dot")
        self.shows("table", "a")
        self.shows("error", "E0308")
        self.has_state("error", "failed")
        self.check("E0308" in self.cell("error").locator(".output.error").inner_text(), "the error is not marked")
        self.check(self.page.title().startswith("Run"), "an output ran a script")

    def long_text(self) -> None:
        """Checks that a long text scrolls, and shows its end."""
        self.replace("last", 'for n in 0..1000 { println!("line {n}"); }')
        self.run("last")
        self.has_state("last", "done")
        text = self.cell("last").locator("pre.stdout")
        expect(text).to_contain_text("line 999")
        height, end, place = text.evaluate("it => [it.clientHeight, it.scrollHeight - it.clientHeight, it.scrollTop]")
        self.check(height < 700 and 0 < end < place + 3, f"a text of 1,000 lines: {height} px high, at {place} of {end} px")
        self.check(text.get_attribute("tabindex") == "0", "the keyboard cannot scroll a long text")
        self.cell("last").hover()
        self.cell("last").get_by_role("button", name="Reset").click()

    def stays_after_reload(self) -> None:
        self.page.goto(f"{self.root}/other.html")
        self.run("only")
        self.shows("only", "2")
        self.page.goto(f"{self.root}/run.html")
        expect(self.code("first")).to_have_text("let mut x = 40;\nx + 2")
        self.run("last")
        self.shows("last", "42")
        expect(self.code("first").locator(".hljs-keyword").first).to_have_text("let")
        self.cell("first").hover()
        self.cell("first").get_by_role("button", name="Reset").click()
        expect(self.code("first")).to_have_text("let mut x = 20;\nx + 1")

    def interrupt(self) -> None:
        self.run("loop")
        self.shows("loop", "begins")
        self.cell("loop").get_by_role("button", name="Stop").click()
        self.shows("loop", "Interrupted")
        self.has_state("loop", "failed")
        self.run("first")
        self.shows("first", "21")

    def restart(self) -> None:
        """Checks that a restart ends the running cell and removes the variables."""
        self.run("loop")
        self.shows("loop", "begins")
        self.page.get_by_role("button", name="Restart").click()
        self.has_state("loop", "failed")
        self.run("last")
        self.shows("last", "E0425")

    def keyboard(self) -> None:
        """Checks that keys with a meaning in mdBook edit the code that has the focus, and that Escape leaves the code."""
        self.code("last").focus()
        self.page.keyboard.press("End")
        self.page.keyboard.type("  // s?/")
        self.page.keyboard.press("ArrowRight")
        self.page.keyboard.press("ArrowLeft")
        self.check(self.page.url.endswith("run.html"), f"a key in the code led to {self.page.url}")
        expect(self.code("last")).to_have_text("x + 2  // s?/")
        self.replace("last", "fn f() {")
        self.page.keyboard.press("Enter")
        self.page.keyboard.type("1")
        expect(self.code("last")).to_have_text("fn f() {\n    1")
        self.page.keyboard.press("Tab")
        self.page.keyboard.type("2")
        expect(self.code("last")).to_have_text("fn f() {\n    1    2")
        self.page.keyboard.press("Backspace")
        self.page.keyboard.press("Shift+Tab")
        expect(self.code("last")).to_have_text("fn f() {\n    1")
        self.page.keyboard.press("Escape")
        self.check(self.page.evaluate("document.activeElement.textContent") == "Run", "Escape does not lead to Run")

    def opens_in_lab(self) -> None:
        """Checks that the link beside the buttons opens the notebook in the JupyterLab that runs, and that a hosted copy hides it."""
        page = self.context.new_page()
        page.route(f"{self.lab}**", lambda route: route.fulfill(body="JupyterLab"))
        stored = page.request.get(f"{self.root}/run.html").text()
        self.check('<a class="local" hidden="" href="http://localhost:8888/' in stored, "the page of a hosted book has a link to this machine")
        page.goto(f"{self.root}/run.html")
        page.get_by_role("group", name="Kernel").get_by_role("link", name="Open in JupyterLab").click()
        page.wait_for_url(f"{self.lab}lab/tree/notebooks/run.ipynb?token=abc", timeout=PATIENCE)
        page.close()

    def looks(self) -> None:
        for look, (size, theme) in LOOKS.items():
            self.page.set_viewport_size(size)
            self.page.evaluate(f"localStorage.setItem('mdbook-theme', '{theme}')")
            self.page.reload()
            self.cell("error").hover()
            self.cell("error").get_by_role("button", name="Run all above").click()
            self.has_state("error", "failed")
            for wide in self.page.evaluate(TOO_WIDE):
                self.note(f"{look}: too wide: {wide}")
            for violation in Axe().run(self.page).response["violations"]:
                if violation["impact"] in ("serious", "critical"):
                    nodes = [f"{node['html'][:150]} {node['failureSummary']}" for node in violation["nodes"][:3]]
                    self.note(f"{look}: axe: {violation['id']}: {nodes}")
            if self.screenshots:
                name = look.replace(", ", "-")
                self.page.screenshot(path=self.screenshots / f"running-{name}.png")

    def refusals(self) -> None:
        """Checks that requests without the cookie, for another host or from another origin are refused."""
        host = urlsplit(self.root).netloc
        cookie = "; ".join(f"{c['name']}={c['value']}" for c in self.context.cookies())
        right = {"Host": host, "Origin": self.root, "Cookie": cookie}
        for name, method, path, changed, expected in [
            ("right", "POST", "/_taper/state", {}, 200),
            ("without cookie", "POST", "/_taper/state", {"Cookie": None}, 403),
            ("wrong cookie", "POST", "/_taper/state", {"Cookie": cookie + "x"}, 403),
            ("without origin", "POST", "/_taper/state", {"Origin": None}, 403),
            ("other origin", "POST", "/_taper/run", {"Origin": "http://localhost:1"}, 403),
            ("other host", "POST", "/_taper/run", {"Host": "example.org"}, 403),
            ("page for another host", "GET", "/run.html", {"Host": "example.org", "Origin": None}, 403),
            ("page without cookie", "GET", "/run.html", {"Cookie": None, "Origin": None}, 403),
            ("used address", "GET", self.address[len(self.root) :], {"Origin": None, "Cookie": None}, 403),
            ("outside of the book", "GET", "/../../../book.toml", {"Origin": None}, 404),
            ("encoded", "GET", "/%2e%2e/%2e%2e/book.toml", {"Origin": None}, 404),
        ]:
            answer = ask(host, method, path, {k: v for k, v in (right | changed).items() if v})
            self.check(answer.status == expected, f"{name}: {answer.status} instead of {expected}")
            self.check(answer.getheader("X-Frame-Options") == "DENY", f"{name}: may be framed")

    def other_site(self) -> None:
        """Checks that a page of another server on this machine, the same site for cookies but another origin, runs no cell."""
        server = HTTPServer(("127.0.0.1", 0), other_site(self.root))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = self.context.new_page()
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.wait_for_function("document.title.startsWith('done')", timeout=PATIENCE)
        self.check(page.title() == "done rejected rejected rejected", f"another site: {page.title()}")
        framed = page.frames[1].evaluate("document.body?.innerText ?? ''") if len(page.frames) > 1 else ""
        self.check("Run me" not in framed, "another site can frame the book")
        self.replace("last", "elsewhere")
        self.run("last")
        self.shows("last", "E0425")
        page.close()
        server.shutdown()


def other_site(book: str) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(OTHER_SITE.format(book=book).encode())

        def log_message(self, *_: object) -> None:
            pass

    return Handler


def ask(host: str, method: str, path: str, headers: dict[str, str]):
    connection = HTTPConnection(host, timeout=PATIENCE / 1000)
    body = b'{"page": "run", "code": "1"}' if method == "POST" else None
    connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    if body:
        connection.putheader("Content-Length", str(len(body)))
    connection.endheaders(body)
    return connection.getresponse()


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the cells of the served book.")
    parser.add_argument("--url", required=True)
    parser.add_argument("--lab", required=True, help="the address of a JupyterLab with the book's folder")
    parser.add_argument("--screenshots", type=Path)
    args = parser.parse_args()
    steps = [
        Book.enter,
        Book.run_and_edit,
        Book.run_all,
        Book.long_text,
        Book.stays_after_reload,
        Book.interrupt,
        Book.restart,
        Book.keyboard,
        Book.opens_in_lab,
        Book.looks,
        Book.refusals,
        Book.other_site,
    ]

    def read(browser: Browser) -> list[str]:
        book = Book(browser, args.url, args.lab, args.screenshots)
        for step in steps:
            try:
                step(book)
            except (AssertionError, BrowserError) as why:
                # The rest of the message is the whole page.
                book.note(f"{step.__name__}: {str(why)[:600]}")
        return book.problems

    return report(read, f"{len(steps)} steps", args.screenshots)


if __name__ == "__main__":
    sys.exit(main())
