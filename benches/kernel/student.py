#!/usr/bin/env python3
"""Measures what students do, with each engine: the beginnings of chapters, run all again, small cells, many cells.

    python3 benches/kernel/student.py [--engine taper --engine evcxr] [--chapters all] [--cells 1000]

Needs nothing but `cargo build`: cells go to `taper events`, so Jupyter's messages are not measured. The compiled cells in
Taper's cache are put aside meanwhile.
"""

import argparse
import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from run import ROOT, cache

TAPER = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug/taper"
CHAPTERS = ["05-softmax-regression", "06-mlp", "20-attention"]
FIRST = 14


class Session:
    """A session without Jupyter."""

    def __init__(self, engine: str) -> None:
        environment = os.environ | {"TAPER_ENGINE": engine}
        self.began = time.monotonic()
        pipe = subprocess.PIPE
        quiet = {"stdin": pipe, "stdout": pipe, "stderr": subprocess.DEVNULL, "text": True}
        self.process = subprocess.Popen([TAPER, "events"], cwd=ROOT / "notebooks", env=environment, **quiet)

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_) -> None:
        self.process.stdin.close()
        self.process.wait()

    def run(self, code: str) -> tuple[float, str]:
        """Returns the seconds that a cell took, and what it printed, with the message of its error."""
        began = time.monotonic()
        self.process.stdin.write(json.dumps({"code": code}) + "\n")
        self.process.stdin.flush()
        printed = ""
        for line in self.process.stdout:
            event = json.loads(line)
            printed += event.get("text", "") + event.get("message", "")
            if event.get("event") == "done":
                return time.monotonic() - began, printed
        raise SystemExit(f"error: the session has ended in\n{code}")

    def processor_seconds(self) -> tuple[float, float]:
        """Returns the processor time of the compilers that have ended, and of the session's own process."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        user, system, child_user, child_system = map(int, fields[11:15])
        ticks = os.sysconf("SC_CLK_TCK")
        return (child_user + child_system) / ticks, (user + system) / ticks

    def memory(self) -> float:
        """Returns the PSS of the session's processes in megabytes."""
        pids = [self.process.pid]
        for pid in pids:
            for task in Path(f"/proc/{pid}/task").glob("*/children"):
                pids += map(int, task.read_text().split())
        rollups = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in pids]
        return sum(int(re.search(r"^Pss: +(\d+)", rollup, re.M)[1]) for rollup in rollups) / 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", action="append", choices=["taper", "evcxr"])
    parser.add_argument("--chapters", choices=["first", "all"], default="first")
    parser.add_argument("--only", choices=["chapters", "cells"], help="measure only the chapters, or only small cells")
    parser.add_argument("--cells", type=int, default=1000, metavar="N", help="the number of cells before an aged cell")
    arguments = parser.parse_args()
    chapters = sorted((ROOT / "notebooks").glob("*.ipynb"))
    for engine in arguments.engine or ["taper"]:
        print(f"\n{engine}: milliseconds, median and 90 %")
        with empty_cache():
            for name in CHAPTERS if not arguments.only else []:
                for what in ("first", "again"):
                    times = chapter(engine, ROOT / f"notebooks/{name}.ipynb", FIRST)
                    show(f"{name}, {FIRST} cells, {what}", [one.seconds for one in times])
            if arguments.only != "chapters":
                small_cells(engine, arguments.cells)
            if arguments.chapters == "all":
                all_chapters(engine, chapters)


@contextlib.contextmanager
def empty_cache() -> Iterator[None]:
    """Puts the compiled cells aside."""
    cells, aside = cache() / "cells", cache() / "cells-aside"
    if aside.exists():  # A killed run has left it.
        shutil.rmtree(cells, ignore_errors=True)
    elif cells.exists():
        cells.rename(aside)
    try:
        yield
    finally:
        shutil.rmtree(cells, ignore_errors=True)
        if aside.exists():
            aside.rename(cells)


class Cell(NamedTuple):
    """What a cell took, in seconds."""

    seconds: float
    """Without the time in which its own code ran."""
    rustc: float
    """Processor time of its compilers, also what they did before the cell was known."""
    kernel: float
    """Processor time of the session's own process."""
    name: str


def chapter(engine: str, file: Path, count: int | None = None) -> list[Cell]:
    """Runs the first cells of a chapter without pauses."""
    cells = json.loads(file.read_text())["cells"]
    skipped = {"skip-execution", "slow"}
    sources = [cell["source"] for cell in cells if cell["cell_type"] == "code"
               and not skipped & set(cell["metadata"].get("tags", []))]
    times = []
    with Session(engine) as session:
        session.run("let started = 1;")
        for code in map("".join, sources[:count]):
            before = session.processor_seconds()
            is_command = code.lstrip().startswith((":", "%", "!"))
            seconds, printed = session.run(code if is_command else f"%time\n{code}")
            found = re.search(r"^Wall time: ([\d.]+) (ns|µs|ms|s)$", printed, re.M)
            ran = float(found[1]) * {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1}[found[2]] if found else 0
            rustc, kernel = (after - earlier for after, earlier in zip(session.processor_seconds(), before))
            times.append(Cell(seconds - ran, rustc, kernel, f"{file.stem}: {code.strip().splitlines()[0]}"))
    return times


def small_cells(engine: str, count: int) -> None:
    with Session(engine) as session:
        session.run("let a = 1;")
        print(f"  {'start to the first variable':44} {1000 * (time.monotonic() - session.began):8.0f}")
        fresh = [session.run(f"let y = a + {n};")[0] for n in range(20)]
        show("a plain cell", fresh)
        paused = []
        for number in range(10):
            time.sleep(1)
            paused.append(session.run(f"let z = a + {number};")[0])
        show("a plain cell, after a pause of 1 s", paused)
        show("the same cell again", [session.run("let y = a + 1;")[0] for _ in range(20)])
        print(f"  {'memory with variables (MB)':44} {session.memory():8.0f}")
        small = plain_cells(session, "b")
        for number in range(count):
            session.run(f"let v{number} = {number};")
        aged = plain_cells(session, "c")
        for what, times in (("before", small), ("after", aged)):
            show(f"a plain cell {what} {count:,} that keep a variable", [one[0] for one in times])
            show("  processor time of rustc and the session", [one[1] for one in times])


def plain_cells(session: Session, name: str) -> list[tuple[float, float]]:
    """Returns the seconds and the processor time of small cells."""
    times = []
    for number in range(20):
        before = sum(session.processor_seconds())
        seconds, _ = session.run(f"let {name} = a * {number};")
        times.append((seconds, sum(session.processor_seconds()) - before))
    return times


def all_chapters(engine: str, files: list[Path]) -> None:
    times = [one for file in files for one in chapter(engine, file)]
    show(f"all {len(times)} cells of the chapters", [one.seconds for one in times])
    show("processor time of rustc", [one.rustc for one in times])
    show("processor time of the session", [one.kernel for one in times])
    print("    the slowest: seconds, rustc, session")
    for one in sorted(times, key=lambda it: it.rustc + it.kernel, reverse=True)[:10]:
        print(f"    {1000 * one.seconds:8.0f} {1000 * one.rustc:8.0f} {1000 * one.kernel:8.0f}  {one.name}")


def show(what: str, times: list[float]) -> None:
    high = statistics.quantiles(times, n=10, method="inclusive")[-1]
    print(f"  {what:44} {1000 * statistics.median(times):8.0f} {1000 * high:8.0f}", flush=True)


if __name__ == "__main__":
    main()
