#!/usr/bin/env python3
"""Runs chapters with other seeds, and stores the figures of their headlines in seeds.json.

    python3 book/seeds.py               # all chapters of HEADLINES, three seeds each
    python3 book/seeds.py 23-gpt        # or some
    python3 book/seeds.py --check       # runs nothing: are the stored outputs those of the first seed?

Most chapters repeat their comparisons with several seeds themselves. Those below train once, because it takes long
or because the chapter is about something else. A run is a copy of the notebook in which 100 or 200 is added to all
seeds. Needs `cargo build -p taper-cli`; the variable TAPER names another `taper`.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).with_name("seeds.json")
RUNS = 3
# The figures of a chapter: what each is called, its cell, and where it is in the cell's output.
HEADLINES = {
    "23-gpt": {
        "validation loss": ("curve", r"validation: ([\d.]+)"),
        "% of the functions parse before training": ("before", r"([\d.]+) % of"),
        "% of the functions parse after training": ("after", r"after ([\d.]+) %"),
    },
    "35-leaf-network": {"test accuracy in %": ("test-accuracy", r"accuracy ([\d.]+)")},
    "36-ai-on-a-gpu": {"accuracy in %": ("fit-result", r"accuracy ([\d.]+)")},
    "40-ship-it": {"accuracy in %": ("train", r"([\d.]+) % of")},
}


def main() -> int:
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    names = sys.argv[1:] or list(HEADLINES)
    if names == ["--check"]:
        return check(results)
    if unknown := set(names) - set(HEADLINES):
        sys.exit(f"no headlines are known of {', '.join(sorted(unknown))}; known are {', '.join(HEADLINES)}")
    for name in names:
        runs = [figures(name, 100 * run) for run in range(RUNS)]
        results[name] = {figure: [run[figure] for run in runs] for figure in HEADLINES[name]}
        for figure, values in results[name].items():
            mean, spread = statistics.mean(values), statistics.stdev(values)
            print(f"{name}: {figure} {mean:.4g}, standard deviation {spread:.2g}, of {values}", flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    return 0


def check(results: dict[str, dict[str, list[float]]]) -> int:
    """Returns 1 if a chapter was run again since its headline was measured, and ended at another."""
    changed = [
        f"{name}: {figure} is {found} in the notebook, {results[name][figure][0]} in seeds.json"
        for name in HEADLINES
        for figure, found in headline(name, stored(name)["cells"]).items()
        if found != results[name][figure][0]
    ]
    for line in changed:
        print(f"{line}. Run python3 book/seeds.py, and mend the text")
    return int(bool(changed))


def stored(name: str) -> dict:
    return json.loads((ROOT / f"notebooks/{name}.ipynb").read_text())


def headline(name: str, cells: list[dict]) -> dict[str, float]:
    """Returns the figures of a chapter's headline from its outputs."""
    outputs = {cell["id"]: json.dumps(cell.get("outputs"), ensure_ascii=False) for cell in cells}
    figures = {}
    for figure, (cell, pattern) in HEADLINES[name].items():
        found = re.search(pattern, outputs.get(cell, ""))
        if not found:
            sys.exit(f"{name}: the output of the cell {cell} has no {figure}: change HEADLINES in book/seeds.py")
        figures[figure] = float(found[1])
    return figures


def figures(name: str, shift: int) -> dict[str, float]:
    """Runs a chapter whose seeds are shifted; returns the figures of its headline."""
    notebook = stored(name)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            source = re.sub(r"manual_seed\((\d+)\)", lambda seed: f"manual_seed({int(seed[1]) + shift})", "".join(cell["source"]))
            cell["source"] = source.splitlines(keepends=True)
    with tempfile.TemporaryDirectory() as folder:
        # No crate is above this folder, so `:dep taper` is the one of this clone.
        copy = Path(folder, "chapter.ipynb")
        copy.write_text(json.dumps(notebook))
        taper = os.environ.get("TAPER", ROOT / "target/debug/taper")
        subprocess.run([taper, "run", "--inplace", copy], check=True, stdout=subprocess.DEVNULL)
        cells = json.loads(copy.read_text())["cells"]
    return headline(name, cells)


if __name__ == "__main__":
    sys.exit(main())
