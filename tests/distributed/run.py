#!/usr/bin/env python3
"""Trains in several processes with a real MPI: the losses must be those of one process, and a rank that fails ends all.

    python3 tests/distributed/run.py             # checks everything
    python3 tests/distributed/run.py curves      # or a part of it: curves, sizes, faults
    python3 tests/distributed/run.py --nccl curves    # built with NCCL; on GPUs, if each rank has one

Installs Open MPI from PyPI into Taper's cache.
"""

import contextlib
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mpi import build, environment, variables, with_nccl

TOLERANCE = 1e-5
# The limit of one run. It includes waiting for the cores that other tests use.
LIMIT = 120


class Runs:
    """Runs the program on some ranks."""

    def __init__(self, nccl=False):
        self.variables = variables(environment())
        if nccl:
            self.variables = with_nccl(self.variables)
        self.program = build(self.variables, "nccl" if nccl else "mpi")
        self.failed = 0

    def start(self, ranks, *settings, timeout="600", wrap=()):
        command = [self.program, *settings]
        if ranks > 1:
            command = ["mpirun", "-n", str(ranks), *command]
        environment = {**self.variables, "TAPER_RANK_TIMEOUT": timeout}
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen([*wrap, *command], env=environment, **pipes)

    def run(self, ranks, *settings, **options):
        """Returns the exit status, the lines of the output, the messages, and the seconds."""
        began = time.monotonic()
        process = self.start(ranks, *settings, **options)
        try:
            out, messages = process.communicate(timeout=LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            out, messages = process.communicate()
            messages += "\n(stopped: it did not end)"
        return process.returncode, out.split("\n"), messages, time.monotonic() - began

    def check(self, name, problem):
        print(f"{'FAILED' if problem else 'ok':7} {name}{': ' + problem if problem else ''}", flush=True)
        self.failed += bool(problem)


def values(lines, name):
    return [line.split()[1] for line in lines if line.startswith(name + " ")]


def difference(runs, ranks, one, *settings):
    """Compares a run of several ranks with the lines `one` of one process; returns the problem, or an empty text."""
    status, lines, messages, _ = runs.run(ranks, *settings)
    if status != 0:
        return f"status {status}\n{messages}"
    losses, wanted = ([float(x) for x in values(of, "loss")] for of in (lines, one))
    if len(losses) != len(wanted) or not losses:
        return f"{len(losses)} losses instead of {len(wanted)}"
    differences = [abs(x - y) / abs(y) for x, y in zip(losses, wanted)]
    digests = values(lines, "weights")
    trainings = len(values(one, "weights"))
    if len(digests) != ranks * trainings or len(set(digests)) > trainings:
        return f"the weights of the ranks differ: {digests}"
    # Not the maximum: `max` skips a NaN that is not the first.
    too_large = [off for off in differences if not off < TOLERANCE]
    return f"a loss differs by {too_large[0]:.1e}" if too_large else ""


def curves(runs):
    for net in ["mlp", "lenet", "dropout", "norm"]:
        # The last batch has 3 examples: 2 ranks have different shares of it, and one of 4 ranks has none.
        settings = [f"net={net}", "examples=99", "batch=32", "epochs=3", "sync=1"]
        one = runs.run(1, *settings)[1]
        for ranks in [2, 4]:
            runs.check(f"{net} on {ranks} ranks", difference(runs, ranks, one, *settings))
    settings = ["net=mlp", "examples=99", "batch=32", "epochs=3"]
    one = runs.run(1, *settings)[1]
    problem = difference(runs, 2, one, *settings, "devices=2")
    runs.check("mlp on 2 ranks with 2 devices each", problem)


def sizes(runs):
    settings = ["net=mlp", "hidden=8", "examples=1", "upto=33", "batch=16", "epochs=3"]
    one = runs.run(1, *settings)[1]
    for ranks in [2, 4]:
        runs.check(f"1 to 33 examples on {ranks} ranks", difference(runs, ranks, one, *settings))


@contextlib.contextmanager
def small_disk(folder, size):
    """Mounts a disk in memory, of `size` bytes; yields its folder, or nothing where this is not allowed."""
    disk = Path(folder, "disk")
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)]
    mounted = subprocess.run(mount, capture_output=True).returncode == 0
    try:
        yield disk if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", str(disk)], check=True)


def faults(runs):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "run.safetensors")
        settings = ["net=dropout", "examples=64", "batch=16", "epochs=3"]
        saved = [*settings, f"checkpoint={file}"]
        whole = runs.run(2, *saved)[1]
        size = file.stat().st_size
        file.unlink()

        def ends(name, expected, *changes, seconds=30, **options):
            status, _, messages, took = runs.run(2, *saved, *changes, **options)
            missing = [text for text in expected if text not in messages]
            problem = ""
            if status == 0 or missing or took > seconds:
                problem = f"status {status} after {took:.0f} s; expected {missing} in\n{messages}"
            runs.check(f"{name} ({took:.1f} s)", problem)

        def resumes(name, file=file):
            lines = runs.run(2, *saved, f"resume={file}")[1]
            same = [values(of, "loss") for of in (lines, whole)] + [values(of, "weights") for of in (lines, whole)]
            runs.check(name, "" if same[0] == same[1] and same[2] == same[3] else "other losses or weights")

        # Step 10 is in the third epoch.
        where = ["in step 10 (epoch 3)", f"The last checkpoint is {file}"]
        ends("kill -9", ["signal 9"], "fault=9", "step=10")
        resumes("it resumes as if it had not been killed")
        ends("a panic", ["as planned", "rank 1 ended with status 101 " + where[0], where[1]], "fault=panic", "step=10")
        ends("an error", ["rank 1 of 2", "abacus", *where], "fault=error", "step=10")
        ends("a shape that does not fit", ["rank 1 of 2", "+: ", "[3]", *where], "fault=shape", "step=10")
        ends("a rank that hangs", ["for 5 s from rank 1 of 2", *where], "fault=hang", "step=10", timeout="5")
        ends("a rank that is stopped", ["for 5 s from rank 1 of 2", *where], "fault=STOP", "step=10", timeout="5")
        ends("a rank that is asked to end", ["all ranks stopped in step 11 (epoch 3)", where[1]], "fault=USR1", "step=10")
        resumes("it continues in the middle of the epoch")
        ends("another model", ["rank 1: expected", "[64, 784]", "found", "[65, 784]"], "differs=1")
        ends("a checkpoint that cannot be written", ["rank 0 of 2", "cannot write"], f"checkpoint={folder}/none/x")
        with small_disk(folder, size * 3 // 2) as disk:
            if disk is None:
                print("skipped: a full disk, which only root can mount")
                return
            small = Path(disk, "run.safetensors")
            expected = ["rank 0 of 2", "No space left", f"The last checkpoint is {small}"]
            ends("a full disk", expected, f"checkpoint={small}")
            resumes("it resumes from the checkpoint before", small)


def main() -> int:
    if sys.platform != "linux":
        print("skipped: tried on Linux only")
        return 0
    names = [name for name in sys.argv[1:] if name != "--nccl"]
    runs = Runs(nccl=len(names) < len(sys.argv) - 1)
    parts = {"curves": curves, "sizes": sizes, "faults": faults}
    for name in names or parts:
        parts[name](runs)
    print(f"{runs.failed} failed")
    return int(runs.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
