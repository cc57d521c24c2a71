"""Runs all measurements, one peer after the other within each run, and prints them as tables."""

import argparse
import json
import platform
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from client import Kernel, Silent
from peers import Peer, all_peers, register
from run import cache

UPDATES = 10_000
AGE_TURNS = 6
T = TypeVar("T")

# A loop of one or two seconds, like a training with small steps.
LOOP = """
let began = std::time::Instant::now();
let mut sum = 0.0;
for step in 0..{updates} {{
    let x = rand((64, 64));
    let loss = x.matmul(&x).mean_all().item();
    sum += loss;
    {draw}
}}
println!("{{sum}} {{}}", began.elapsed().as_secs_f64());
"""


def main() -> int:
    arguments = parse_arguments()
    environment = Path(sys.prefix)
    folder = cache() / "bench-jupyter"
    register(environment / "bin/jupyter", folder, sys.executable)
    peers = [peer for peer in all_peers(arguments) if not arguments.only or arguments.only in peer.name]
    fill_kept_target(peers)
    results = {"machine": machine(), "runs": arguments.runs}
    for title, measure in [("start", starts), ("cells", cells), ("memory", memory), ("board", board)]:
        if title not in arguments.skip:
            results[title] = measure(peers, arguments.runs)
    if arguments.age:
        results["age"] = age(peers, arguments.age)
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2) + "\n")
    return 0


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the kernel beside its peers. Asserts nothing about times.")
    parser.add_argument("--runs", type=int, default=5, help="the number of runs for each median (default: %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all that was measured here")
    parser.add_argument(
        "--cold-stock",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="once, stock evcxr with an empty work directory, which takes minutes",
    )
    parser.add_argument("--skip", action="append", default=[], choices=["start", "cells", "memory", "board"])
    parser.add_argument("--age", type=int, default=0, metavar="N", help="a cell after N cells that keep a variable each")
    parser.add_argument("--only", metavar="NAME", help="only the peers whose name contains this")
    return parser.parse_args()


def machine() -> str:
    with open("/proc/cpuinfo") as info:
        models = [line.split(":")[1].strip() for line in info if line.startswith("model name")]
    return f"{len(models)} × {models[0] if models else platform.machine()}, {platform.system()} {platform.release()}"


def fill_kept_target(peers: list[Peer]) -> None:
    """Fills the kept target, so that the first measured start uses a filled one."""
    for peer in peers:
        if "kept" in peer.name:
            with Kernel(peer) as kernel:
                kernel.first_tensor()


def starts(peers: list[Peer], runs: int) -> dict:
    """Returns the seconds from start, and from restart, to the first printed tensor."""
    taken = {peer.name: {"start": [], "restart": []} for peer in peers}
    for run in range(runs):
        for peer in peers:
            if "cold" in peer.name and run > 0:
                continue
            start, restart = unless_silent(start_and_restart, peer)
            taken[peer.name]["start"].append(start)
            taken[peer.name]["restart"].append(restart)
    for what in ("start", "restart"):
        medians = {name: statistics.median(times[what]) for name, times in taken.items()}
        print_table(f"Kernel {what} to the first printed tensor", medians, "s", taken_of(taken, what))
    return taken


def start_and_restart(peer: Peer) -> tuple[float, float]:
    with Kernel(peer) as kernel:
        start = kernel.first_tensor()
        kernel.restart()
        return start, kernel.first_tensor()


def unless_silent(measure: Callable[[Peer], T], peer: Peer) -> T:
    """Measures again, and reports it, if the kernel loses a message."""
    try:
        return measure(peer)
    except Silent as why:
        print(f"Measured again: {why}", file=sys.stderr)
        return measure(peer)


def taken_of(taken: dict, what: str) -> dict[str, str]:
    return {name: f"{min(t[what]):.2f} to {max(t[what]):.2f}, {len(t[what])} runs" for name, t in taken.items()}


def cells(peers: list[Peer], runs: int) -> dict:
    """Returns the seconds for each cell of the chapter, in a kernel that has shown its first tensor."""
    peers = [peer for peer in peers if peer.cells]
    taken = {peer.name: [[] for _ in peer.cells] for peer in peers}
    for _ in range(runs):
        for peer in peers:
            for times, seconds in zip(taken[peer.name], unless_silent(each_cell, peer)):
                times.append(seconds)
    each = {name: [statistics.median(times) for times in cells] for name, cells in taken.items()}
    medians = {name: statistics.median(times) for name, times in each.items()}
    notes = {name: f"90 %: {percentile(times, 90):.3f}, {len(times)} cells" for name, times in each.items()}
    print_table("A cell of notebooks/33-gpus.ipynb (torch: lines like them)", medians, "s", notes)
    return taken


def each_cell(peer: Peer) -> list[float]:
    with Kernel(peer) as kernel:
        kernel.first_tensor()
        return [kernel.run(code) for code in peer.cells]


def percentile(values: list[float], percent: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


def age(peers: list[Peer], cells: int) -> dict:
    """Measures one cell in an aged kernel and in a fresh one, in turns."""
    peer = next((peer for peer in peers if peer.kernel == "taper"), None)
    if peer is None:
        return {}
    taken = {f"{name}, {what}": [] for what in ("prints", "keeps a variable") for name in ("fresh", "aged")}
    with Kernel(peer) as aged, Kernel(peer) as fresh:
        aged.first_tensor()
        fresh.first_tensor()
        for number in range(cells):
            aged.run(f"let v{number} = {number};")
        # Four cells in a row, since a kernel continues its analysis after it has replied.
        for turn in range(AGE_TURNS):
            for name, kernel in [("fresh", fresh), ("aged", aged)]:
                for more in range(4):
                    taken[f"{name}, prints"].append(kernel.run(f'println!("{{}}", {turn} + {more});'))
                for more in range(4):
                    taken[f"{name}, keeps a variable"].append(kernel.run(f"let again = {turn} + {more};"))
    title = f"A small cell, fresh and after {cells:,} cells that keep a variable each"
    print_table(title, {name: statistics.median(times) for name, times in taken.items()}, "s", {})
    return taken


def memory(peers: list[Peer], runs: int) -> dict:
    """Returns the memory in gigabytes (PSS, all processes) of an idle kernel that has shown its first tensor."""
    peers = [peer for peer in peers if "cold" not in peer.name]
    held = {peer.name: [] for peer in peers}
    for _ in range(runs):
        for peer in peers:
            held[peer.name].append(unless_silent(memory_of, peer) / 1e9)
    medians = {name: statistics.median(sizes) for name, sizes in held.items()}
    print_table("Memory of an idle kernel after its first tensor (PSS of all its processes)", medians, "GB", {})
    return held


def memory_of(peer: Peer) -> int:
    with Kernel(peer) as kernel:
        kernel.first_tensor()
        return kernel.memory()


def board(peers: list[Peer], runs: int) -> dict:
    """Measures a loop that draws on a board 10,000 times, and the same loop without the board."""
    peer = next((peer for peer in peers if peer.kernel == "taper"), None)
    results = {"loop": [], "loop and board": [], "updates": []}
    if peer is None:
        return results
    for _ in range(runs):
        with Kernel(peer) as kernel:
            kernel.first_tensor()
            try:
                kernel.run("let board = ProgressBoard::new();")
            except SystemExit as error:
                print(f"\nThere is no ProgressBoard in this build: it is not measured.\n{error}")
                return results
            results["loop"].append(loop(kernel, "")[0])
            seconds, shown = loop(kernel, 'board.draw(step as f64, loss, "loss", 1);')
            results["loop and board"].append(seconds)
            updates = [message for message in shown if message["msg_type"] == "update_display_data"]
            results["updates"].append(len(updates))
            check_last(kernel, [m["content"]["data"] for m in shown if "data" in m["content"]][-1])
    medians = {name: statistics.median(values) for name, values in results.items()}
    updates = medians.pop("updates")
    rate = updates / medians["loop and board"]
    title = f"A board drawn on {UPDATES:,} times: {updates:g} updates arrive, {rate:.1f} a second"
    print_table(title, medians, "s", {})
    return results


def loop(kernel: Kernel, draw: str) -> tuple[float, list[dict]]:
    """Returns the seconds that the loop took by its own measurement, and the messages of its cell."""
    shown = list(kernel.messages(LOOP.format(updates=UPDATES, draw=draw)))
    text = "".join(m["content"]["text"] for m in shown if m["msg_type"] == "stream")
    return float(text.split()[-1]), shown


def check_last(kernel: Kernel, last: dict) -> None:
    """Checks that the last display in the front end is the final state of the board: text and figure."""
    for mime, code in [("text/plain", "board.show_text()"), ("image/svg+xml", "board.svg()")]:
        streams = [m["content"] for m in kernel.messages(f'print!("{{}}", {code});') if m["msg_type"] == "stream"]
        expected = "".join(stream["text"] for stream in streams)
        if last.get(mime) != expected:
            raise SystemExit(f"error: the last update is not the board's last state\n{last.get(mime)}\n{expected}")


def print_table(title: str, values: dict[str, float], unit: str, notes: dict[str, str]) -> None:
    """Prints the values and their ratios to the first one."""
    first = next(iter(values.values()))
    width = max(map(len, values))
    print(f"\n{title}")
    for name, value in values.items():
        print(f"  {name:{width}}  {value:9.3f} {unit}  × {value / first:7.2f}  {notes.get(name, '')}".rstrip(), flush=True)


if __name__ == "__main__":
    sys.exit(main())
