"""Measures each operation with each library in turn, and prints a table."""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "training"))

from cases import CASES  # noqa: E402
from common import PROGRAM, library_path  # noqa: E402

ROUNDS = 1 << 20  # as in `machine.rs`
SIZES = [1 << power for power in (18, 20, 22, 24, 26, 28)]


class Peer:
    def __init__(self, name: str, threads: int) -> None:
        command = [PROGRAM.parent / "ops", name]
        if name in ("torch", "compiled"):
            command = [sys.executable, HERE / "torch_ops.py", "eager" if name == "torch" else name]
        environment = {**os.environ, "LD_LIBRARY_PATH": library_path()}
        environment |= {"RAYON_NUM_THREADS": str(threads), "OMP_NUM_THREADS": str(threads)}
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )  # fmt: skip

    def times(self, case: dict, milliseconds: float) -> list[float]:
        self.process.stdin.write(f"{milliseconds} {json.dumps(case)}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"a peer ended at {case}")
        return [float(time) for time in line.split()]

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def limits(threads: int) -> tuple[float, dict[int, float]]:
    """Returns the multiply-adds per millisecond, and for each size the bytes read and written per millisecond."""
    machine = Peer("machine", threads)
    machine.times({"arithmetic": True}, 200)
    peak = threads * ROUNDS * 256 / min(machine.times({"arithmetic": True}, 100))
    bandwidths = {}
    for size in SIZES:
        machine.times({"copy": size}, 20)
        bandwidths[size] = size / statistics.median(machine.times({"copy": size}, 50))
    machine.end()
    return peak, bandwidths


def least(row: dict, peak: float, bandwidths: dict[int, float]) -> float:
    """Returns the milliseconds that the machine needs at least."""
    size = min(SIZES, key=lambda size: abs(size.bit_length() - int(row["bytes"]).bit_length()))
    return max(row["work"] / peak, row["bytes"] / bandwidths[size])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="operations whose name contains this, or one of these: a,b")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--milliseconds", type=float, default=25, help="the time of each library in each turn")
    parser.add_argument("--no-candle", action="store_true")
    parser.add_argument("--no-compiled", action="store_true", help="without torch.compile, whose first run takes minutes")
    parser.add_argument("--least", action="store_true", help="compare the least times, not the medians: on a machine with other load")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    names = ["taper", "torch"] + ["compiled"] * (not arguments.no_compiled) + ["candle"] * (not arguments.no_candle)
    rows = [row for row in CASES if any(part in row["name"] for part in arguments.only.split(","))]
    # Before the peers: while they start, they take time from what is measured.
    peak, bandwidths = limits(arguments.threads)
    peers = {name: Peer(name, arguments.threads) for name in names}
    of_sizes = ", ".join(f"{size >> 10:,} KiB: {bandwidth / 1e6:.0f}" for size, bandwidth in bandwidths.items())
    print(f"Peak: {2 * peak / 1e6:.0f} GFLOP/s in f32. Copies, read and written, in GB/s: {of_sizes}\n")
    print("| operation | " + " | ".join(f"{name} (ms)" for name in names) + " | ÷ best of PyTorch | share of the limit |")
    print("|---|" + "--:|" * (len(names) + 2))
    for row in rows:
        times = {name: [] for name in names}
        for name, peer in peers.items():
            peer.times(row["case"], 10)
        for _ in range(arguments.turns):
            for name, peer in peers.items():
                times[name] += peer.times(row["case"], arguments.milliseconds)
        row["times"] = times
        typical = min if arguments.least else statistics.median
        row["ms"] = {name: typical(of_peer) if of_peer else None for name, of_peer in times.items()}
        best = min(row["ms"][name] for name in ("torch", "compiled") if row["ms"].get(name))
        row["ratio"], row["limit"] = row["ms"]["taper"] / best, least(row, peak, bandwidths)
        cells = [f"{ms:.3f}" if ms else "" for ms in row["ms"].values()]
        share = row["limit"] / row["ms"]["taper"]
        print(f"| {row['name']} | {' | '.join(cells)} | {row['ratio']:.2f} | {share:.0%} |", flush=True)
    print(f"\nGeometric mean of Taper ÷ the best of PyTorch: {statistics.geometric_mean(row['ratio'] for row in rows):.2f}")
    for peer in peers.values():
        peer.end()
    if arguments.json:
        arguments.json.write_text(json.dumps({"peak": peak, "bandwidths": bandwidths, "rows": rows}, indent=1))


if __name__ == "__main__":
    main()
