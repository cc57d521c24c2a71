#!/usr/bin/env python3
"""Runs each program in Taper and in PyTorch for 20 steps, and compares the losses.

    python3 tests/ports/run.py            # fails if a loss differs by more than 1e-4 of itself
    python3 tests/ports/run.py --store    # also stores PyTorch's losses for the tests

Taper trains from its own weights and writes them with the inputs of each step. PyTorch loads them (`strict`, by
torch.nn's names). PyTorch comes from the environment of the kernel's measurements, or from the Python in TAPER_PYTORCH.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STEPS = 20
TOLERANCE = 1e-4
sys.path.insert(0, str(ROOT / "examples/pytorch"))


class Run:
    """The steps of a program: the tensors of each, and the losses."""

    def __init__(self, name, folder):
        self.name, self.folder, self.losses = name, folder, []

    def load(self, part):
        from run import load_file

        return load_file(self.folder / f"{self.name}.{part}.safetensors")

    def model(self, model, name="model"):
        weights = self.load(name)
        model.load_state_dict(weights, strict=True)
        return model.to(next(x.dtype for x in weights.values() if x.is_floating_point())).train()

    def __iter__(self):
        for step in range(1, STEPS + 1):
            tensors = self.load(step).items()
            yield SimpleNamespace(**{name: x if x.is_floating_point() else x.long() for name, x in tensors})

    def step(self, optimizer, loss, retain=False):
        optimizer.zero_grad()
        loss.backward(retain_graph=retain)
        optimizer.step()
        self.losses.append(loss.item())


def main():
    sys.path.insert(0, str(ROOT / "benches/kernel"))
    from run import environment

    python = os.environ.get("TAPER_PYTORCH") or environment()
    return subprocess.call([python, HERE / "run.py", "--here", *sys.argv[1:]])


def compare():
    import torch
    from run import floats

    torch.use_deterministic_algorithms(True)
    names = sorted(path.stem for path in HERE.glob("*.py") if path.stem != "run")
    results, failed = {}, False
    with tempfile.TemporaryDirectory() as folder:
        command = ["cargo", "test", "--quiet", "--locked", "-p", "taper", "--test", "ports", "--", "--skip", "lines"]
        subprocess.run(command, cwd=ROOT, env={**os.environ, "TAPER_PORTS": folder}, check=True, stdout=sys.stderr)
        for name in names:
            program = importlib.util.spec_from_file_location(name, HERE / f"{name}.py")
            module = importlib.util.module_from_spec(program)
            program.loader.exec_module(module)
            run = Run(name, Path(folder))
            torch.manual_seed(0)
            module.train(run)
            results[name] = run.losses
            ours = floats(Path(folder, f"{name}.txt").read_text())
            off = max((abs(a - b) / max(abs(b), 0.1) for a, b in zip(ours, run.losses)), default=float("inf"))
            wrong = not off <= TOLERANCE or len(ours) != len(run.losses)
            failed |= wrong
            print(f"{name}: Taper's losses differ by at most {off:.1e}{' WRONG' * wrong}")
    if "--store" in sys.argv:
        lines = [" ".join([name, *(f"{loss:.9g}" for loss in losses)]) for name, losses in results.items()]
        Path(HERE, "losses.txt").write_text("\n".join(lines) + "\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(compare() if "--here" in sys.argv else main())
