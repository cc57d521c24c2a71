#!/usr/bin/env python3
"""Runs the chapters and their solutions in the released evcxr_jupyter, and lists the cells that fail there.

    cargo build --workspace --locked --bin stock_evcxr_jupyter
    python3 tests/stock/run.py target/debug/stock_evcxr_jupyter [--write | --check] [NOTEBOOK…]

A cell that fails does not end the run of its notebook, so one run finds all of them. With `--write`, the list in README.md
is replaced; with `--check`, a list that differs from README's is an error. Needs the Python packages jupyter_client and
nbformat. Compiled packages are kept in $EVCXR_TMPDIR, or in a folder beside the program.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
BEGIN, END = "<!-- cells that fail in evcxr_jupyter -->\n", "<!-- end -->\n"
# Seconds. The first cell compiles all packages, once.
TO_START, TO_COMPILE, TO_RUN = 120, 3600, 1200
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
NAME = re.compile(r"`(\w+)!?`")
# The folder of a file that a cell writes.
WRITTEN = re.compile(r"%%writefile (\S+)/")
# What rustc says of a name that does not exist.
UNKNOWN = re.compile(r"cannot find|not found in|unresolved import|undeclared|no method named|use of unresolved|is not in scope")


def main() -> int:
    args = parse_args()
    notebooks = args.notebooks or sorted(ROOT.glob("notebooks/*.ipynb")) + sorted(ROOT.glob("notebooks/solutions/*.ipynb"))
    failed, ran = [], 0
    with tempfile.TemporaryDirectory() as folder:
        specs = kernelspec(Path(folder), args.program.resolve())
        for notebook in notebooks:
            began = time.monotonic()
            found, count = run(notebook.resolve(), specs)
            print(f"{relative(notebook)}: {count} cells, {len(found)} failed, {time.monotonic() - began:.0f} s", flush=True)
            for failure in found:
                print(f"    {failure}", flush=True)
            failed += found
            ran += count
    print(f"{ran - len(failed)} passed, {len(failed)} failed")
    text = listed(failed)
    before, _, rest = README.read_text().partition(BEGIN)
    stored, _, after = rest.partition(END)
    if args.write:
        README.write_text(before + BEGIN + text + END + after)
    elif args.check and stored != text:
        print("README.md lists other cells: run this with --write, and commit README.md", file=sys.stderr)
        return 1
    return 0


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Run the chapters in the released evcxr_jupyter.")
    parser.add_argument("program", type=Path, help="the program stock_evcxr_jupyter")
    parser.add_argument("notebooks", type=Path, nargs="*")
    either = parser.add_mutually_exclusive_group()
    either.add_argument("--write", action="store_true", help="replace the list in README.md")
    either.add_argument("--check", action="store_true", help="fail if the list in README.md is another")
    return parser.parse_args()


def kernelspec(folder: Path, program: Path) -> KernelSpecManager:
    """Writes the kernelspec of the program, as `evcxr_jupyter --install` does."""
    work = Path(os.environ.get("EVCXR_TMPDIR", program.parent.parent / "stock-evcxr"))
    work.mkdir(parents=True, exist_ok=True)
    library = subprocess.run(["rustc", "--print", "target-libdir"], capture_output=True, text=True, check=True).stdout.strip()
    spec = {
        "argv": [str(program), "--control_file", "{connection_file}"],
        "display_name": "Rust",
        "language": "rust",
        "interrupt_mode": "message",
        # The library path that is compiled into a cell is relative, so it is not valid in every folder.
        "env": {"EVCXR_TMPDIR": str(work), "LD_LIBRARY_PATH": library},
    }
    kernel = folder / "stock"
    kernel.mkdir()
    (kernel / "kernel.json").write_text(json.dumps(spec))
    return KernelSpecManager(kernel_dirs=[str(folder)])


class Failure:
    """A cell that failed: its notebook, its name, the first line of its source, and the kernel's message."""

    def __init__(self, notebook: Path, cell: nbformat.NotebookNode, message: str, earlier: list["Failure"]) -> None:
        self.notebook, self.source = notebook, cell.source
        self.cell = cell.get("id", "")
        self.message = COLOURS.sub("", message)
        names = NAME.findall(self.message) if UNKNOWN.search(self.message) else []
        self.cause = next((it for it in earlier if self.uses(it, names)), None)

    def __str__(self) -> str:
        line = first_line(self.source)
        why = f"needs {self.cause.cell}" if self.cause else self.reason()
        return f"{self.cell} | {line} | {why}"

    def uses(self, other: "Failure", names: list[str]) -> bool:
        """Returns whether this cell names what the other would have defined, or uses the folder in which it would have written."""
        written = WRITTEN.match(other.source)
        defined = any(re.search(rf"\b{name}\b", other.source) for name in names)
        return defined or (written is not None and written[1] in self.source)

    def reason(self) -> str:
        lines = [line.strip() for line in self.message.splitlines() if line.strip()]
        chosen = next((line for line in lines if line.startswith("error") or "Error:" in line), lines[0] if lines else "")
        return re.sub(r"^error(\[E\d+\])?: |^Error: ", "", chosen).rstrip(".")


def run(path: Path, specs: KernelSpecManager) -> tuple[list[Failure], int]:
    """Runs the cells of a notebook, and returns those that failed, and how many there were."""
    manager = KernelManager(kernel_name="stock", kernel_spec_manager=specs)
    notebook = nbformat.read(path, as_version=4)
    cells = [it for it in notebook.cells if it.cell_type == "code" and it.source.strip()]
    cells = [it for it in cells if "skip-execution" not in it.metadata.get("tags", [])]
    failed: list[Failure] = []
    manager.start_kernel(cwd=str(path.parent), stderr=subprocess.DEVNULL)
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=TO_START)
        for number, cell in enumerate(cells):
            limit = TO_COMPILE if number == 0 else TO_RUN
            message = execute(client, manager, cell.source, limit)
            if message is not None and "raises-exception" not in cell.metadata.get("tags", []):
                failed.append(Failure(path, cell, message, failed))
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
    return failed, len(cells)


def execute(client, manager, source: str, limit: float) -> str | None:
    """Runs a cell, and returns the message of its error."""
    errors = []

    def note(message) -> None:
        if message["msg_type"] == "error":
            content = message["content"]
            errors.append("\n".join(content["traceback"]) or f"{content['ename']}: {content['evalue']}")

    try:
        reply = client.execute_interactive(source, timeout=limit, allow_stdin=False, output_hook=note)
    except TimeoutError:
        manager.restart_kernel(now=True)
        client.wait_for_ready(timeout=TO_START)
        return f"Error: no end after {limit:.0f} s"
    content = reply["content"]
    if content["status"] == "ok":
        return None
    return "\n".join(errors) or f"{content.get('ename')}: {content.get('evalue')}"


def listed(failed: list[Failure]) -> str:
    """Returns the list for README.md: one line for each cell that fails by itself."""
    own = [it for it in failed if it.cause is None]
    if not own:
        return "All cells of the chapters and their solutions run there.\n"
    text = "These cells fail there, and those that need what they define or write; all others run:\n\n"
    text += "| notebook | cell | because |\n|:--|:--|:--|\n"
    for it in own:
        text += f"| `{relative(it.notebook)}` | `{escaped(first_line(it.source))}` | {escaped(it.reason())} |\n"
    return text


def first_line(source: str) -> str:
    line = source.strip().splitlines()[0].replace("`", "'")
    return line if len(line) <= 60 else line[:59] + "…"


def escaped(text: str) -> str:
    return text.replace("|", "\\|")


def relative(path: Path) -> str:
    return str(path.resolve().relative_to(ROOT / "notebooks"))


if __name__ == "__main__":
    sys.exit(main())
