"""Trains each model in Taper with 1, 2, 4, … threads, in turn, and estimates the time on machines with more cores.

    python3 benches/training/run.py --scaling [--only MODEL] [--turns N] [--json FILE]

By Amdahl's law, two measured times determine the serial share `s`, the part of a step that more cores do not shorten:
`time(n) = time(1) · (s + (1 - s) / n)`. It is taken from the times with 1 thread and with all cores.
"""

import argparse
import json
import os
import statistics
from pathlib import Path

from measure import CASES, Peer

ESTIMATED = (16, 64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scaling", action="store_true", help="this measurement")
    parser.add_argument("--turns", type=int, default=5, help="the number of turns for each number of threads")
    parser.add_argument("--only", default="", help="models whose name contains this, or one of these: a,b")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    cores = len(os.sched_getaffinity(0))
    counts = [count for count in (1, 2, 4, 8, 16, 32, 64, 128) if count < cores] + [cores]
    columns = [*(f"{count}, ms" for count in counts), "serial share", *(f"× faster on {n}" for n in ESTIMATED)]
    print("| model | batch | " + " | ".join(columns) + " |")
    print("|---|--:|" + "--:|" * len(columns))
    results, shares = {}, []
    for model, batch in CASES:
        if model == "epoch" or not any(part in model for part in arguments.only.split(",")):
            continue
        times = step_times(model, batch, counts, arguments.turns)
        share = serial_share(times[1], times[cores], cores)
        shares.append(share)
        results[f"{model}-{batch}"] = {"ms": times, "serial share": share}
        faster = [f"{1 / (share + (1 - share) / n):.1f}" for n in ESTIMATED]
        cells = [*(f"{times[count]:.2f}" for count in counts), f"{share:.1%}", *faster]
        print(f"| {model} | {batch} | " + " | ".join(cells) + " |", flush=True)
    print(f"\nMedian of the serial shares: {statistics.median(shares):.1%}")
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


def step_times(model: str, batch: int, counts: list[int], turns: int) -> dict[int, float]:
    """Returns the median milliseconds of a step for each number of threads."""
    peers = {count: Peer("taper", model, batch, count, "cpu", "train") for count in counts}
    for peer in peers.values():
        warm = statistics.median(wall for wall, _ in peer.steps(3))
        peer.count = max(4, min(200, int(250 / max(warm, 0.1))))
        peer.steps(peer.count)
    for _ in range(turns):
        for peer in peers.values():
            peer.times += [wall for wall, _ in peer.steps(peer.count)]
    for peer in peers.values():
        peer.end()
    return {count: statistics.median(peer.times) for count, peer in peers.items()}


def serial_share(one: float, all_cores: float, cores: int) -> float:
    """Returns `s` of Amdahl's law, at least 0: caches of their own may make cores faster than it allows."""
    return max(0.0, (all_cores / one - 1 / cores) / (1 - 1 / cores)) if cores > 1 else 1.0


if __name__ == "__main__":
    main()
