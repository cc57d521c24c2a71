#!/usr/bin/env python3
"""Trains the examples' networks in PyTorch and in Taper for 20 steps, and compares the losses.

    python3 examples/pytorch/run.py            # fails if a loss differs by more than 1e-4 of itself
    python3 examples/pytorch/run.py --store    # also stores PyTorch's losses for the examples' tests

Taper trains from its own weights and writes them with the batches. PyTorch loads them (`strict`, by torch.nn's
names) and computes in their precision. Where that is double precision (`_f64`), the difference of PyTorch's own
losses in single precision is printed, too. PyTorch is that of the kernel's
measurements; with the variable TAPER_PYTORCH, that of another Python.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STEPS = 20
TOLERANCE = 1e-4


def main() -> int:
    sys.path.insert(0, str(ROOT / "benches/kernel"))
    from run import environment

    argparse.ArgumentParser(description=__doc__).parse_known_args()
    python = os.environ.get("TAPER_PYTORCH") or environment()
    return subprocess.call([python, HERE / "run.py", "--here", *sys.argv[1:]])


def compare() -> int:
    import torch

    parser = argparse.ArgumentParser()
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--store", action="store_true")
    arguments = parser.parse_args()
    torch.use_deterministic_algorithms(True)
    names = ["char_gpt", "llama", "lstm", "translation", "unet", "unet_f64", "resnet18", "resnet18_f64"]
    with tempfile.TemporaryDirectory() as folder:
        train_in_taper(names, folder)
        results = {name: losses(name, Path(folder)) for name in names}
        single = {name: losses(name, Path(folder), torch.float32) for name in names if name.endswith("_f64")}
        taper = {name: floats(Path(folder, f"{name}.txt").read_text()) for name in names}
    if arguments.store:
        lines = [" ".join([name, *(f"{loss:.9g}" for loss in results[name])]) for name in names]
        Path(HERE, "losses.txt").write_text("\n".join(lines) + "\n")
    stored = dict(line.split(" ", 1) for line in Path(HERE, "losses.txt").read_text().splitlines())
    failed = False
    for name, ours in results.items():
        off = difference(taper[name], ours)
        old = difference(floats(stored.get(name, "")), ours)
        wrong = not (off <= TOLERANCE and old <= TOLERANCE)
        failed |= wrong
        print(f"{name}: Taper's losses differ by at most {off:.1e}, the stored ones by {old:.1e}{' WRONG' * wrong}")
        if name in single:
            print(f"{name}: PyTorch's own in single precision differ by {difference(single[name], ours):.1e}")
    return int(failed)


def train_in_taper(names, folder):
    examples = [part for name in names for part in ("--example", name.removesuffix("_f64"))]
    command = ["cargo", "test", "--quiet", "--locked", "-p", "taper", *examples, "it_learns_as_in_pytorch"]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "TAPER_STEPS": folder}, check=True, stdout=sys.stderr)


def losses(name, folder, dtype=None):
    """Returns the losses of the steps, as the example's trainer makes them, in the precision of the weights or
    another."""
    import torch
    from models import Forecaster, Gpt, ResNet18, Translator, UNet, Writer

    weights = load_file(folder / f"{name}.model.safetensors")
    model, optimizer, clip = {
        "char_gpt": (lambda: Gpt(*(weights[f"{part}.weight"].shape[0] for part in ("tokens", "positions"))), adamw, None),
        "llama": (lambda: Writer(weights["model.embed_tokens.weight"].shape[0]), adamw, None),
        "lstm": (Forecaster, adam(0.01), 1.0),
        "translation": (Translator, adam(0.002), None),
        "unet": (UNet, adam(0.0005), None),
        "unet_f64": (UNet, adam(0.005), None),
        "resnet18": (ResNet18, adam(0.000001), None),
        "resnet18_f64": (ResNet18, adam(0.001), None),
    }[name]
    model = model()
    model.load_state_dict(weights, strict=True)
    last = next(weight for key, weight in weights.items() if key.endswith(("fc.weight", "head.weight")))
    dtype = dtype or last.dtype
    model.to(dtype).train()
    optimizer = optimizer(model.parameters())
    result = []
    for step in range(1, STEPS + 1):
        batch = load_file(folder / f"{name}.{step}.safetensors")
        x, y = (t.to(dtype) if t.is_floating_point() else t.long() for t in (batch["x"], batch["y"]))
        loss = model.loss(x, y)
        optimizer.zero_grad()
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
        optimizer.step()
        result.append(loss.item())
    return result


def load_file(path):
    """Reads a safetensors file: the environment of the measurements has no package for it."""
    import torch

    types = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64, "U32": torch.uint32}
    data = bytearray(path.read_bytes())
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            flat = torch.frombuffer(data[start + begin : start + end], dtype=types[entry["dtype"]])
            tensors[name] = flat.reshape(entry["shape"])
    return tensors


def adam(lr):
    import torch

    return lambda parameters: torch.optim.Adam(parameters, lr=lr)


def adamw(parameters):
    import torch

    return torch.optim.AdamW(parameters, lr=0.003)


def floats(text):
    return [float(word) for word in text.split()]


def difference(some, others):
    """Returns the largest relative difference; infinite if the counts differ or a loss is not finite."""
    if len(some) != len(others):
        return float("inf")
    differences = [abs(a / b - 1) for a, b in zip(some, others)]
    # Tested one by one: `max` skips a NaN that is not the first.
    return max(differences) if all(map(math.isfinite, differences)) else float("inf")


if __name__ == "__main__":
    sys.exit(compare() if "--here" in sys.argv else main())
