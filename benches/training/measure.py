"""Trains each model, or computes its output, in Taper, in PyTorch (eager and compiled), with Candle's own layers and in
Burn, in turn, and prints a table."""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from common import BURN, PROGRAM, library_path, only_simd

HERE = Path(__file__).resolve().parent
CASES = [
    ("mlp", 256), ("mlp-norm", 256), ("lenet", 128), ("lenet-relu", 128), ("leaf", 4), ("leaf", 32),
    ("cifar", 16), ("cifar", 256), ("resnet", 32), ("epoch", 256),
    ("mlp-wide", 64), ("mlp-wide", 1), ("vgg", 64), ("resnet18-16", 32), ("resnet18-64", 8), ("depthwise", 32),
    ("dense", 32), ("unet", 16), ("lstm", 32), ("gpt-128", 12), ("gpt-256", 8),
    ("vit", 32), ("convnext", 32), ("mixer", 32), ("mobilenet-v3", 32), ("gru", 32), ("tagger", 32), ("vae", 128), ("dcgan", 32),
    ("translation", 16), ("gated", 16), ("odd", 33), ("skip-gram", 512), ("graph", 2708), ("style", 4), ("mlp-batch-norm", 1024),
    ("super-resolution", 16), ("text-cnn", 32), ("policy", 64), ("encoder", 8), ("bottleneck", 4),
    # No kernel was tuned for these before they were first measured.
    ("rnn", 32), ("inception", 32), ("squeezenet", 32), ("conv-autoencoder", 64), ("point-net", 16), ("audio", 32), ("deep", 128),
    ("segmentation", 16), ("pooling-attention", 64), ("experts", 64),
    ("gat", 1000), ("mamba", 8), ("perceiver", 8), ("kan", 256), ("simclr", 32), ("swin", 32), ("efficient-net", 16),
    ("pinn", 256), ("nerf", 4096), ("lstm-dropout", 20), ("bert", 16), ("bigram", 1024), ("tcn", 16), ("unet-96", 1),
    ("diffusion", 8), ("odd-sizes", 16),
]  # fmt: skip
# Those whose output is the loss.
ONLY_TRAINED = {"epoch", "vae", "dcgan", "skip-gram", "simclr", "pinn", "nerf", "bert", "unet-96", "diffusion"}
OF_CANDLE = {"mlp", "mlp-norm", "lenet", "lenet-relu", "cifar", "resnet"}
# Small steps cost a GPU the start of each kernel; large ones show its speed.
CASES_ON_GPU = [(model, batch) for model in ("lenet", "leaf", "cifar") for batch in (32, 256)] + [
    case for case in CASES if case[0] not in {"lenet", "leaf", "cifar", "epoch"}
]
# What `taper gpu-check --all` measures in a few minutes, the ones that were slowest beside PyTorch first.
TWENTY = [
    ("leaf", 256), ("depthwise", 32), ("resnet18-16", 32), ("leaf", 32), ("gpt-128", 12), ("unet", 16), ("vgg", 64), ("cifar", 256),
    ("lenet", 256), ("lenet", 32), ("cifar", 32), ("mlp-wide", 64), ("lenet-relu", 128), ("mlp-wide", 1),
    ("gpt-256", 8), ("vit", 32), ("lstm", 32), ("resnet18-64", 8), ("bert", 16), ("swin", 32),
]  # fmt: skip


class Peer:
    """A process that trains one model, and waits between its turns."""

    def __init__(self, name: str, model: str, batch: int, threads: int, device: str, mode: str, simd: str | None) -> None:
        peer, _, workers = name.partition("-")
        command = [PROGRAM, name]
        if peer in ("torch", "compiled"):
            command = [sys.executable, HERE / "torch_models.py", "eager" if peer == "torch" else peer]
        elif peer == "burn":
            command, workers = [BURN, name], ""
        environment = {**os.environ, "LD_LIBRARY_PATH": library_path(), **only_simd(simd)}
        # The last variable is for the matrix products of Burn's NdArray.
        variables = ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "MATMUL_NUM_THREADS")
        environment |= dict.fromkeys(variables, str(threads))
        self.name, self.times = name, []
        self.process = subprocess.Popen(
            [*command, model, str(batch), device, mode, *([workers] if workers else [])], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True, env=environment,
        )  # fmt: skip

    def steps(self, count: int) -> list[tuple[float, float]]:
        """Returns the wall time and the processor time of this many steps."""
        self.process.stdin.write(f"{count}\n")
        self.process.stdin.flush()
        times = [float(t) for t in self.process.stdout.readline().split()]
        if not times:
            sys.exit(f"{self.name} ended: run {' '.join(map(str, self.process.args))}")
        return list(zip(times[::2], times[1::2], strict=True))

    def end(self) -> float:
        """Ends the process; returns its peak memory in megabytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        self.process.stdin.close()
        self.process.wait()
        return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("VmHWM"))


def measure(model: str, batch: int, names: list[str], arguments: argparse.Namespace) -> dict:
    turns, processors = arguments.turns, arguments.processor_time
    if model == "epoch":
        names = ["taper", "torch-0", "torch-1", "torch-2"]
        turns = min(turns, 3)
    mode = "infer" if arguments.inference else "train"
    names = [name for name in names if name != "candle" or (model in OF_CANDLE and mode == "train")]
    peers = [Peer(name, model, batch, arguments.threads, arguments.device, mode, arguments.simd) for name in names]
    for peer in peers:
        if model == "epoch":
            peer.count = 1
            peer.steps(1)
            continue
        warm = peer.steps(3)
        # The number of steps in a turn depends on the speed of the peer, but the total is at least the requested number.
        usual = statistics.median(clock for clock, _ in warm)
        peer.count = max(-(-arguments.steps // turns), min(200, int(250 / max(usual, 0.1))))
        peer.steps(peer.count)
    for _ in range(turns):
        for peer in peers:
            peer.times += [times[processors] for times in peer.steps(peer.count)]
    return {
        peer.name: {"ms": statistics.median(peer.times), "best": min(peer.times), "times": peer.times, "memory": peer.end()}
        for peer in peers
    }


def cases(arguments: argparse.Namespace) -> list[tuple[str, int]]:
    """Returns the models and their batches."""
    found = CASES if arguments.device == "cpu" else CASES_ON_GPU
    if arguments.twenty:
        found = TWENTY
    if arguments.inference:
        models = dict.fromkeys(model for model, _ in found if model not in ONLY_TRAINED)
        batches = [arguments.batch] if arguments.batch else [1, 64]
        found = [(model, batch) for model in models for batch in ([2708] if model == "graph" else batches)]
    elif arguments.batch:
        found = [case for case in found if case[1] == arguments.batch]
    only = arguments.only.split(",")
    return [case for case in found if any(part in case[0] for part in only)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20, help="the minimal number of steps of each peer")
    parser.add_argument("--turns", type=int, default=5, help="the number of turns")
    parser.add_argument("--only", default="", help="models whose name contains this, or one of these: a,b")
    parser.add_argument("--twenty", action="store_true", help="the twenty cases of `taper gpu-check --all`")
    parser.add_argument("--batch", type=int, help="only cases with this batch, or all models with it for --inference")
    parser.add_argument("--inference", action="store_true", help="the output in evaluation mode instead of a training step")
    parser.add_argument("--compiled", action="store_true", help="torch.compile as well, whose first run takes minutes")
    parser.add_argument("--no-candle", action="store_true", help="leave out Candle's own layers")
    parser.add_argument(
        "--burn", nargs="?", const="flex", choices=["flex", "ndarray"], help="Burn as well, with this backend (Flex); on the CPU"
    )  # fmt: skip
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="the threads of each peer (default: all cores)")
    parser.add_argument("--processor-time", action="store_true", help="measure processor time instead of wall time, for a busy machine")
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"], help="where the models are trained")
    parser.add_argument("--simd", choices=["avx2"], help="only these instructions, in Taper and in PyTorch")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    names = ["taper", "torch"] + ["compiled"] * arguments.compiled + ([] if arguments.no_candle else ["candle"])
    if arguments.burn and arguments.device == "cpu":
        names.append(f"burn-{arguments.burn}")
    results = {}
    print("| model | batch | peer | step (ms) | samples/s | × PyTorch | peak memory (MB) |")
    print("|---|--:|---|--:|--:|--:|--:|")
    ratios = []
    for model, batch in cases(arguments):
        found = measure(model, batch, names, arguments)
        results[f"{model}-{batch}"] = found
        best = min(row["ms"] for name, row in found.items() if name.startswith(("torch", "compiled")))
        ratios.append(found["taper"]["ms"] / best)
        for name, row in found.items():
            ratio = row["ms"] / best
            examples = 60_000 if model == "epoch" else batch
            print(
                f"| {model} | {batch} | {name} | {row['ms']:.2f} | {examples / row['ms'] * 1e3:,.0f} | {ratio:.2f} "
                f"| {row['memory']:.0f} |",
                flush=True,
            )
    print(f"\nGeometric mean of Taper ÷ the best of PyTorch: {statistics.geometric_mean(ratios):.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
