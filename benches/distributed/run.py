#!/usr/bin/env python3
"""Compares training by several processes with PyTorch's DistributedDataParallel, and all-reduce with MPI's own.

    TAPER_PYTORCH=python-with-torch python3 benches/distributed/run.py

One run measures both, in turn, on this machine. A speed is the median over the epochs but the first.
"""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "tests/distributed"))
from mpi import build, environment, variables  # noqa: E402

NETS = [("mlp", 256, 4096, 256), ("lenet", 0, 2048, 256), ("mlp", 2048, 2048, 256)]
EPOCHS = 6
PORT = 29511


def output(command, variables):
    run = subprocess.run(command, env=variables, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    return [line.split() for line in run.stdout.splitlines()]


def speed(lines):
    return statistics.median([float(line[1]) for line in lines if line[0] == "speed"][1:])


def taper(program, variables, ranks, threads, name, hidden, examples, batch):
    # Taper logs once an epoch only, because PyTorch's program fetches no loss.
    settings = [f"net={name}", f"hidden={hidden}", f"examples={examples}", f"batch={batch}", f"epochs={EPOCHS}", "log=1000"]
    command = ["mpirun", "--bind-to", "none", "-n", str(ranks), str(program), *settings]
    return speed(output(command, {**variables, "RAYON_NUM_THREADS": str(threads)}))


def pytorch(python, ranks, threads, name, hidden, examples, batch):
    numbers = map(str, [ranks, threads, hidden, examples, batch, EPOCHS, PORT])
    return speed(output([python, str(HERE / "ddp.py"), name, *numbers], os.environ))


def main():
    python = os.environ.get("TAPER_PYTORCH") or sys.exit("set TAPER_PYTORCH to a Python with PyTorch")
    env = variables(environment())
    program = build(env, profile="image")
    print("ms per step, 2 ranks with 1 thread: Taper, PyTorch, Taper's / PyTorch's; 1 rank with 2 threads")
    for name, hidden, examples, batch in NETS:
        ours = taper(program, env, 2, 1, name, hidden, examples, batch)
        theirs = pytorch(python, 2, 1, name, hidden, examples, batch)
        one = taper(program, env, 1, 2, name, hidden, examples, batch)
        ms = [1000 * batch / speed for speed in (ours, theirs, one)]
        parameters = 61_706 if name == "lenet" else 795 * hidden + 10
        command = ["mpirun", "--bind-to", "none", "-n", "2", str(program), "net=all_reduce", f"elements={parameters}"]
        share = 1000 * float(output(command, env)[0][2]) / ms[0]
        print(f"{name} {hidden}: {ms[0]:.2f} ms, {ms[1]:.2f} ms, {theirs / ours:.2f}; {ms[2]:.2f} ms, throughput {ours / one:.2f}; ", end="")
        print(f"the all-reduce alone is {share:.0%} of a step")
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder, "all_reduce")
        subprocess.run(["mpicc", "-O2", HERE / "all_reduce.c", "-o", plain], env=env, check=True)
        run = lambda *command: output(["mpirun", "--bind-to", "none", "-n", "2", *map(str, command)], env)
        ours, theirs = run(program, "net=all_reduce"), run(plain)
        for (_, elements, own), (_, _, *mpi) in zip(ours, theirs):
            own, apart, in_place = (1e6 * float(seconds) for seconds in (own, *mpi))
            ratio = f"bandwidth {apart / own:.2f} and {in_place / own:.2f} of it"
            print(f"all-reduce of {elements}: {own:.1f} us, MPI's {apart:.1f} us, in place {in_place:.1f} us, {ratio}")


if __name__ == "__main__":
    main()
