"""A notebook that is open in JupyterLab or Notebook 7, in headless Chromium: what the scripts beside this file share.

Neither the notebook nor the user's settings and workspace are changed: autosave is off in this browser. Errors are read
from the kernel's messages as the browser receives them (in the page, an error and text on stderr look the same).
"""

import argparse
import json
import math
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

from playwright.sync_api import APIResponse, Browser, Locator, Page, Playwright, Route, WebSocket, sync_playwright
from playwright.sync_api import Error as BrowserError

CHROMIUM_FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
VIEWPORT = {"width": 1280, "height": 1400}

# Settings that differ from JupyterLab's defaults, in this browser only.
SETTINGS = {
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none", "scrollPastEnd": False},
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
    "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
}

IDLE = '.jp-NotebookPanel:not(.lm-mod-hidden) .jp-Notebook-ExecutionIndicator[data-status="idle"]'
PANEL = ".jp-NotebookPanel:not(.lm-mod-hidden)"
DIALOG = ".jp-Dialog"
# The address of the page of a notebook in each application.
PAGES = {"lab": "lab/tree", "notebook": "notebooks"}
NUMBERED = re.compile(r"\[\d+\]:?")

# For each code cell, from top to bottom: its prompt, its figures, its broken images.
READ_CELLS = """() => {
    const panel = document.querySelector('.jp-NotebookPanel:not(.lm-mod-hidden)');
    return [...panel.querySelectorAll('.jp-Notebook .jp-CodeCell')].map(cell => {
        const figures = [...cell.querySelectorAll('.jp-OutputArea-output :is(svg, img, canvas)')]
            .filter(figure => !figure.parentElement.closest('svg'));
        const isBroken = p => p.tagName === 'IMG' && p.complete && p.naturalWidth === 0;
        return {
            prompt: cell.querySelector('.jp-InputPrompt')?.textContent.trim() ?? '',
            figures: figures.length,
            broken: figures.filter(isBroken).length,
        };
    });
}"""


class CannotBegin(Exception):
    """The check cannot start; the message is the reason."""


class Failed(Exception):
    """The notebook did not run correctly; the message says where and why."""


def new_parser(description: str, timeout: float) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--url", required=True, help="address of JupyterLab with its token, as it prints it")
    parser.add_argument("--notebook", required=True, help="path of the notebook as JupyterLab sees it")
    parser.add_argument("--app", choices=PAGES, default="lab", help="JupyterLab (default) or Notebook 7")
    parser.add_argument("--screenshots", type=Path, help="folder for screenshots")
    parser.add_argument("--timeout", type=float, default=timeout, help="seconds for everything (default: %(default)s)")
    return parser


def in_browser(check: Callable[[Page], int]) -> int:
    """Runs the check in a new page and returns the exit status, 2 if it cannot start."""
    return with_browser(lambda browser: check(browser.new_page(viewport=VIEWPORT)))


def report(read: Callable[[Browser], list[str]], what_was_read: str, screenshots: Path | None) -> int:
    """Reads pages, prints the problems, one on each line, or that there are none, and returns the exit status."""

    def check(browser: Browser) -> int:
        problems = read(browser)
        print("\n".join(problems) or f"ok {what_was_read}")
        return 1 if problems else 0

    if screenshots:
        screenshots.mkdir(parents=True, exist_ok=True)
    return with_browser(check)


def with_browser(check: Callable[[Browser], int]) -> int:
    try:
        with sync_playwright() as playwright:
            browser = launch(playwright)
            try:
                return check(browser)
            finally:
                browser.close()
    except CannotBegin as why:
        print(f"error: {why}", file=sys.stderr)
        return 2


def find_chromium() -> str:
    wanted = os.environ.get("CHROMIUM")
    names = [wanted] if wanted else ["chromium", "chromium-browser", "google-chrome"]
    for name in names:
        if path := shutil.which(name):
            return path
    raise CannotBegin(f"no Chromium found (looked for {', '.join(names)}); install one, or set CHROMIUM to its path")


def launch(playwright: Playwright) -> Browser:
    chromium = find_chromium()
    try:
        return playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_FLAGS)
    except BrowserError as error:
        raise CannotBegin(f"{chromium} does not start\n{error}") from error


def becomes_true(page: Page, holds: Callable[[], object], seconds: float = 30) -> bool:
    """Returns whether a condition becomes true in time. Meanwhile the page goes on."""
    until = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > until:
            return False
        page.wait_for_timeout(100)
    return True


class Lab:
    """A notebook that is open in JupyterLab or Notebook 7."""

    def __init__(self, page: Page, args: argparse.Namespace, deadline: float) -> None:
        address = urlsplit(args.url)
        self.page = page
        self.app = args.app
        self.screenshots = args.screenshots
        self.root = f"{address.scheme}://{address.netloc}{re.split('/(?:lab|tree)', address.path)[0].rstrip('/')}"
        self.token = parse_qs(address.query).get("token", [""])[0]
        self.path = args.notebook.strip("/")
        self.deadline = deadline
        self.kernel = KernelMessages()
        self.cells = self.read_code_cells()

    def read_code_cells(self) -> list[dict]:
        """Returns the code cells of the file, as the server returns it."""
        notebook = self.get(f"/api/contents/{quote(self.path)}?content=1")["content"]
        cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        if not any(map(has_code, cells)):
            raise CannotBegin(f"{self.path} has no code cell to run")
        return cells

    def get(self, path: str):
        """Returns what the server answers in JSON."""
        return self.answer(path).json()

    def answer(self, path: str) -> APIResponse:
        headers = {"Authorization": f"token {self.token}"} if self.token else {}
        try:
            response = self.page.request.get(self.root + path, headers=headers)
        except BrowserError as error:
            raise CannotBegin(f"no JupyterLab answers at {self.root} ({first_line(str(error))})") from error
        if not response.ok:
            raise CannotBegin(f"{self.root}{path} answered {response.status} {response.status_text}")
        return response

    def open(self) -> None:
        """Opens the page, with the settings of this browser."""
        page = self.page
        page.on("websocket", self.kernel.listen)
        page.route(lambda url: "/lab/api/settings" in url, self.answer_settings)
        page.route(lambda url: "/lab/api/workspaces" in url, answer_workspaces)
        self.load()
        self.wait("the kernel to be idle", self.kernel_is_idle)
        self.close_sidebar()

    def close_sidebar(self) -> None:
        """Closes the list of files, which each page that is loaded shows. Notebook 7 has none."""
        files = self.page.locator("#jp-left-stack")
        if files.is_visible():
            self.page.keyboard.press("Control+b")
            self.wait("the list of files to close", lambda: not files.is_visible())

    def load(self) -> None:
        """Loads the page, also once more while a cell runs."""
        address = f"{self.root}/{PAGES[self.app]}/{quote(self.path)}?token={quote(self.token)}"
        self.page.goto(address, timeout=self.left() * 1000)

    def kernel_is_idle(self) -> bool:
        # The indicator also reads `idle` before there is a kernel: ask the server as well.
        if self.page.locator(IDLE).count() == 0:
            return False
        return self.kernel_rests()

    def kernel_rests(self) -> bool:
        """Returns whether the kernel is idle, as the server says."""
        sessions = self.get("/api/sessions")
        kernels = [session["kernel"] for session in sessions if session["path"] == self.path]
        return any(kernel and kernel["execution_state"] == "idle" for kernel in kernels)

    def run_all(self) -> None:
        """Clear the stored outputs and their numbers, then Run > Run All Cells."""
        if self.page.locator(".lm-TabBar-tab.jp-mod-dirty").count():
            raise Failed("opening the notebook has changed it")
        self.choose("Edit", "editmenu:clear-all")
        numbers = lambda: [cell["prompt"] for cell in self.page.evaluate(READ_CELLS) if NUMBERED.fullmatch(cell["prompt"])]
        self.wait("the stored outputs to be cleared", lambda: not numbers(), at_most=60)
        self.choose("Run", "runmenu:run-all")

    def choose(self, menu: str, command: str) -> None:
        label = re.compile(f"^{menu}$")
        self.page.locator(".lm-MenuBar-itemLabel").filter(has_text=label).click(timeout=60_000)
        self.page.locator(f'.lm-Menu-item[data-command="{command}"]').click(timeout=60_000)

    def save(self) -> None:
        """Saves the notebook, and waits until that is done."""
        self.choose("File", "docmanager:save")
        self.wait("the file", lambda: not self.page.locator(".lm-TabBar-tab.jp-mod-dirty").count())

    def cell(self, number: int) -> Locator:
        return self.page.locator(f"{PANEL} .jp-CodeCell").nth(number)

    def prompt(self, number: int) -> str:
        return self.page.evaluate(READ_CELLS)[number]["prompt"]

    def start(self, number: int, key: str = "Control+Enter") -> None:
        """Begins to run a code cell."""
        self.cell(number).locator(".cm-content").click()
        self.page.keyboard.press(key)

    def run(self, number: int) -> str:
        """Runs a code cell, and returns its number in brackets."""
        before = self.prompt(number)
        self.start(number)
        is_new = lambda: NUMBERED.fullmatch(self.prompt(number)) and self.prompt(number) != before
        self.wait(f"cell {number + 1}", is_new)
        return self.prompt(number).rstrip(":")

    def replace(self, number: int, code: str, typed: bool = False) -> None:
        """Replaces the code of a cell: at once, or `typed` key by key."""
        self.cell(number).locator(".cm-content").click()
        self.page.keyboard.press("Control+a")
        (self.page.keyboard.type if typed else self.page.keyboard.insert_text)(code)

    def screenshot(self, name: str) -> None:
        if self.screenshots:
            self.screenshots.mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=self.screenshots / f"{name}.png")

    def wait_for_cells(self) -> list[dict]:
        """Wait until every cell with code has a number, and no cell failed."""
        self.wait("all cells to have a number", self.all_cells_ran)
        self.page.wait_for_timeout(1000)  # images that are still being decoded
        self.raise_for_errors()
        cells = self.page.evaluate(READ_CELLS)
        for number, cell in enumerate(cells, 1):
            if cell["broken"]:
                raise Failed(f"code cell {number}: {cell['broken']} image(s) could not be shown")
        return cells

    def all_cells_ran(self) -> bool:
        self.raise_for_errors()
        shown = self.page.evaluate(READ_CELLS)
        if len(shown) != len(self.cells):
            raise Failed(f"the page shows {len(shown)} code cells, the file has {len(self.cells)}")
        waiting = [
            (number, page["prompt"])
            for number, (page, cell) in enumerate(zip(shown, self.cells), 1)
            if has_code(cell) and not NUMBERED.fullmatch(page["prompt"])
        ]
        self.note = f"code cell {waiting[0][0]} still shows {waiting[0][1]}" if waiting else ""
        return not waiting and self.kernel_is_idle()

    def raise_for_errors(self) -> None:
        for number, cell in enumerate(self.cells, 1):
            error = self.kernel.errors.get(cell.get("id"))
            if error and "raises-exception" not in cell["metadata"].get("tags", []):
                raise Failed(f"code cell {number} failed\n{error}")
        unknown = self.kernel.errors.get(None)
        if unknown:
            raise Failed(f"a cell failed\n{unknown}")

    def wait(self, what: str, done, at_most: float = math.inf) -> None:
        self.note = ""
        until = time.monotonic() + at_most
        while not done():
            if self.page.locator(DIALOG).count():
                raise Failed(f"JupyterLab asks: {' '.join(self.page.locator(DIALOG).first.inner_text().split())}")
            if self.left() <= 1 or time.monotonic() > until:
                raise Failed(f"timed out waiting for {what}; {self.note}".rstrip("; "))
            self.page.wait_for_timeout(100)

    def left(self) -> float:
        return max(self.deadline - time.monotonic(), 1)

    def answer_settings(self, route: Route) -> None:
        """Return the user's settings, overridden by SETTINGS."""
        if route.request.method != "GET":
            return route.fulfill(status=204)
        response = route.fetch()
        try:
            body = response.json()
        except ValueError:
            return route.fulfill(response=response)
        for plugin in body.get("settings", [body]) if isinstance(body, dict) else []:
            if isinstance(plugin, dict) and plugin.get("id") in SETTINGS and "raw" in plugin:
                settings = {**plugin.get("settings", {}), **SETTINGS[plugin["id"]]}
                plugin.update(settings=settings, raw=json.dumps(settings))
        route.fulfill(response=response, json=body)


def answer_workspaces(route: Route) -> None:
    """Start with an empty workspace and save none."""
    if route.request.method == "GET" and re.search(r"/workspaces/[^?]", route.request.url):
        route.fulfill(json={"data": {}, "metadata": {"id": "default"}})
    elif route.request.method == "GET":
        route.continue_()
    else:
        route.fulfill(status=204)


class KernelMessages:
    """Reads the messages between page and kernel, and collects the errors by cell id, and what was sent."""

    def __init__(self) -> None:
        # The types of the requests, and the subshells in their headers.
        self.kinds: set[str] = set()
        self.subshells: set[str] = set()
        self.cell_of: dict[str, str] = {}
        self.errors: dict[str | None, str] = {}

    def listen(self, socket: WebSocket) -> None:
        if "/channels" in socket.url:
            socket.on("framesent", self.sent)
            socket.on("framereceived", self.received)

    def sent(self, frame: str | bytes) -> None:
        header, _, metadata, _ = decode(frame)
        self.kinds.add(header.get("msg_type", ""))
        if subshell := header.get("subshell_id"):
            self.subshells.add(subshell)
        if header.get("msg_type") == "execute_request":
            self.cell_of[header["msg_id"]] = metadata.get("cellId")

    def received(self, frame: str | bytes) -> None:
        header, parent, _, content = decode(frame)
        kind, request = header.get("msg_type"), parent.get("msg_id")
        if request not in self.cell_of:
            return
        is_failed_reply = kind == "execute_reply" and content.get("status") == "error"
        if kind == "error" or is_failed_reply:
            text = "\n".join(content.get("traceback") or []) or f"{content.get('ename')}: {content.get('evalue')}"
            self.errors.setdefault(self.cell_of[request], without_colours(text))


def decode(frame: str | bytes) -> list[dict]:
    """Return header, parent header, metadata and content of a frame on the kernel's socket.

    A binary frame (`v1.kernel.websocket.jupyter.org`) begins with the number of
    offsets and the offsets themselves, as 64-bit little-endian integers; between
    them lie the channel, the four parts in JSON, and the buffers.
    """
    try:
        if isinstance(frame, str):
            message = json.loads(frame)
            return [message.get(part) or {} for part in ("header", "parent_header", "metadata", "content")]
        count = int.from_bytes(frame[:8], "little")
        offsets = [int.from_bytes(frame[8 * i : 8 * i + 8], "little") for i in range(1, count + 1)]
        return [json.loads(frame[offsets[i] : offsets[i + 1]] or b"{}") for i in range(1, 5)]
    except (ValueError, IndexError):
        return [{}, {}, {}, {}]


def has_code(cell: dict) -> bool:
    return bool("".join(cell["source"]).strip())


def first_line(text: str) -> str:
    return text.strip().splitlines()[0]


def without_colours(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)

