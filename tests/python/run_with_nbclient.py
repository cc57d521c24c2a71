#!/usr/bin/env python3
"""Execute a notebook through a real Jupyter kernel, as nbclient does it.

    run_with_nbclient.py NOTEBOOK [--output FILE] [--kernel taper] [--timeout S]

Prints one line per code cell. Exit status: 0 when every cell ran, 1 when a cell
failed (or there was none to run), 2 when the run could not begin.
"""

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import nbformat
from jupyter_client.kernelspec import NoSuchKernel
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError


def main() -> int:
    args = parse_args()
    if not args.notebook.is_file():
        return cannot_begin(f"there is no notebook {args.notebook}")
    notebook = nbformat.read(args.notebook, as_version=4)
    if not any(map(is_code, notebook.cells)):
        print(f"error: {args.notebook} has no code cell to run", file=sys.stderr)
        return 1

    report = Report(notebook)
    client = NotebookClient(
        notebook,
        kernel_name=args.kernel,
        timeout=args.timeout,
        resources={"metadata": {"path": str(args.notebook.resolve().parent)}},
        on_cell_execute=report.cell_begins,
        on_cell_executed=report.cell_ends,
    )
    failure = None
    began = time.monotonic()
    try:
        client.execute()
    except NoSuchKernel:
        return cannot_begin(
            f"Jupyter knows no kernel named {args.kernel!r}; `jupyter kernelspec list` shows those it knows"
        )
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        failure = error
    if args.output:
        nbformat.write(notebook, args.output)

    print(f"{args.notebook}: {report.done} of {report.total} code cells in {time.monotonic() - began:.1f} s")
    if failure:
        print(f"{type(failure).__name__}: {failure}", file=sys.stderr)
        return 1
    return 0


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Execute a notebook through a Jupyter kernel.")
    parser.add_argument("notebook", type=Path)
    parser.add_argument("--output", type=Path, help="write the executed notebook here (also after a failure)")
    parser.add_argument("--kernel", default="taper", help="name of the kernel (default: %(default)s)")
    parser.add_argument("--timeout", type=int, default=600, help="seconds for one cell (default: %(default)s)")
    return parser.parse_args()


def cannot_begin(why: str) -> int:
    print(f"error: {why}", file=sys.stderr)
    return 2


class Report:
    """Prints a line for each code cell when it has ended."""

    def __init__(self, notebook: nbformat.NotebookNode) -> None:
        code = [index for index, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
        self.number = {index: n for n, index in enumerate(code, 1)}
        self.total = sum(map(is_code, notebook.cells))
        self.done = 0
        self.began = 0.0

    def cell_begins(self, cell, cell_index: int) -> None:
        self.began = time.monotonic()

    def cell_ends(self, cell, cell_index: int, execute_reply) -> None:
        took = time.monotonic() - self.began
        status = execute_reply["content"]["status"]
        if status == "error" and "raises-exception" in cell.metadata.get("tags", []):
            status = "raised"  # as announced by the cell's tag
        if status != "error":
            self.done += 1
        print(
            f"code cell {self.number[cell_index]:>3}  {status:6}  {took:7.2f} s  {outputs_in_words(cell)}  | {first_line(cell)}",
            flush=True,
        )


def is_code(cell: nbformat.NotebookNode) -> bool:
    return cell.cell_type == "code" and bool(cell.source.strip())


def outputs_in_words(cell: nbformat.NotebookNode) -> str:
    kinds = Counter(map(kind_of, cell.outputs))
    return ", ".join(f"{n} {kind}" for kind, n in kinds.items()) or "no output"


def kind_of(output: nbformat.NotebookNode) -> str:
    """Returns `stdout`, `stderr`, `error`, or the richest MIME type of the output."""
    if output.output_type == "stream":
        return output.name
    if output.output_type == "error":
        return "error"
    rich = [mime for mime in output.data if mime != "text/plain"]
    return rich[0] if rich else "text/plain"


def first_line(cell: nbformat.NotebookNode) -> str:
    line = cell.source.strip().splitlines()[0]
    return line if len(line) <= 60 else line[:59] + "…"


if __name__ == "__main__":
    sys.exit(main())
