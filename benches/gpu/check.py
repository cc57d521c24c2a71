#!/usr/bin/env python3
"""Runs the checks that need an NVIDIA card, in a clone, and writes one report of them.

    python3 benches/gpu/check.py [--report FILE] [--no-pytorch]

The steps: the tests of `taper` with `cuda`, `check.rs`, the chapters that use a GPU, whose outputs are compared with the
CPU's and stored for the book, and training compared with PyTorch, which downloads 4 GB the first time.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EXPORTED = ROOT / os.environ.get("CARGO_TARGET_DIR", "target") / "gpu-check"
# The chapters that compute on a GPU where there is one.
CHAPTERS = ["34-gpus", "35-leaf-network", "36-ai-on-a-gpu", "37-several-devices"]
TAPER = ["cargo", "taper"]
CUDA = [*TAPER, "cuda", "cargo"]
CRATE = ["--locked", "--package", "taper", "--features", "cuda"]
# The lines of a chapter's figures are very long.
WIDTH = 160


class Report:
    """The results, written to the file after each step: the machine, a line for each step, the outputs."""

    def __init__(self, file: Path, cards: list[list[str]]) -> None:
        self.file = file
        self.machine = cards[0][2]
        rust, taper = (said(*command) for command in (["rustc", "--version"], ["git", "describe", "--always", "--dirty"]))
        names = ", ".join(name for _, _, name in cards)
        self.begin = f"# Taper on a GPU\n\n- cards: {names}\n- driver: {cards[0][0]}\n- Taper: {taper}\n- Rust: {rust}\n\n"
        self.steps: list[str] = []
        self.outputs: list[str] = []

    def run(self, title: str, command: list[str], notebook: Path | None = None, is_markdown: bool = False) -> None:
        print(f"{title} …", file=sys.stderr)
        start = time.monotonic()
        passed, log = run(command, ROOT / "notebooks" if notebook else ROOT)
        output = shown(log)
        if passed and notebook:
            passed, compared = keep(notebook, log, self.machine)
            output = f"{shown(compared)}\n\n{output}"
        if is_markdown:  # its headings become subheadings of the section
            output = output.replace("\n## ", "\n### ").removeprefix("## ")
        else:
            output = f"```\n{output}\n```"
        verdict = f"{'passed' if passed else 'FAILED'} in {time.monotonic() - start:.0f} s"
        self.steps.append(f"- {verdict}: {title}\n")
        self.outputs.append(f"\n## {title}: {verdict}\n\n{output}\n")
        self.file.write_text(self.begin + "".join(self.steps + self.outputs))

    def failed(self) -> int:
        return sum(step.startswith("- FAILED") for step in self.steps)


def run(command: list[str], folder: Path = ROOT) -> tuple[bool, str]:
    """Returns whether a command has succeeded, and its standard output; progress, on standard error, is for the terminal."""
    ended = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, errors="replace")
    return ended.returncode == 0, ended.stdout


def said(*command: str) -> str:
    return run(list(command))[1].strip()


def shown(output: str) -> str:
    return "\n".join(line if len(line) <= WIDTH else line[:WIDTH] + "…" for line in output.rstrip().split("\n"))


def keep(notebook: Path, log: str, machine: str) -> tuple[bool, str]:
    """Saves a chapter's outputs on the card next to its notebook, for the tab in the book. Then compares them with the CPU's
    outputs in the notebook, within the tolerances of its cells."""
    file = EXPORTED / "chapter.log"
    file.write_text(log)
    passed, output = run([*TAPER, "run", str(notebook), "--outputs", str(file), "--machine", machine])
    if not passed:
        return passed, output
    file.write_text(re.sub(r"\bcuda:\d+", "cpu", log))
    return run([*TAPER, "test", str(notebook), "--outputs", str(file)])


def cards() -> list[list[str]]:
    """Returns the driver's version, the compute capability and the name of each card."""
    try:
        works, listed = run(["nvidia-smi", "--query-gpu=driver_version,compute_cap,name", "--format=csv,noheader"])
    except FileNotFoundError:
        sys.exit("error: there is no NVIDIA driver (no nvidia-smi). On a machine with an NVIDIA card, install it, 580 or newer.")
    found = [line.strip().split(", ", 2) for line in listed.splitlines()]
    if not works or not all(len(card) == 3 for card in found) or not found:
        sys.exit(f"error: the NVIDIA driver finds no GPU, or does not work: {listed.strip()}")
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description="Check Taper on an NVIDIA GPU: tests, chapters, speed compared with PyTorch.")
    parser.add_argument("--report", type=Path, default=Path("gpu-report.md"), help="the file for the report, in Markdown")
    parser.add_argument("--no-pytorch", action="store_true", help="leave out the comparison with PyTorch")
    arguments = parser.parse_args()
    report = Report(arguments.report.absolute(), cards())
    report.run("The tests of `taper` with `cuda`", [*CUDA, "test", "--profile", "image", *CRATE, "--lib"])
    check = [*CUDA, "run", "--quiet", "--profile", "image", *CRATE, "--example", "gpu_check"]
    report.run("Checks against the CPU, and measurements", check, is_markdown=True)
    notebooks = [ROOT / "notebooks" / f"{name}.ipynb" for name in CHAPTERS]
    subprocess.run([*TAPER, "export", "--to", EXPORTED, *notebooks], cwd=ROOT, check=True)
    for notebook in notebooks:
        program = notebook.stem.split("-", 1)[1]
        of = ["--manifest-path", str(EXPORTED / "Cargo.toml"), "--bin", program]
        command = [*CUDA, "run", "--quiet", "--release", "--features", "cuda", *of]
        report.run(f"The chapter `{program}`, exported", command, notebook)
    if not arguments.no_pytorch:
        command = [sys.executable, "benches/training/run.py", "--device", "cuda", "--no-candle"]
        report.run("Training steps compared with eager PyTorch on the same card", command, is_markdown=True)
    failed = report.failed()
    result = f"{failed} of {len(report.steps)} steps failed" if failed else "all steps passed"
    print(f"{report.file}: {result}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
