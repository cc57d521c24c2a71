#!/usr/bin/env python3
"""Draws the ratios of a measurement: `python3 chart.py RESULTS.json CHART.svg`.

The results are those of `benches/ops/run.py --json` or `benches/training/run.py --json`.
"""

import json
import sys
from html import escape
from math import log2
from pathlib import Path


def ratios(results: dict) -> list[tuple[str, float]]:
    if "rows" in results:
        return [(row["name"], row["ratio"]) for row in results["rows"]]
    best = lambda found: min(row["ms"] for name, row in found.items() if name.startswith(("torch", "compiled")))
    return [(name, found["taper"]["ms"] / best(found)) for name, found in results.items()]


def main() -> None:
    found = ratios(json.loads(Path(sys.argv[1]).read_text()))
    height, left, unit = 18, 330, 90
    middle = left + 3 * unit
    lines = []
    for i, (name, ratio) in enumerate(found):
        y, length = 30 + i * height, unit * max(-3.0, min(2.5, log2(ratio)))
        colour = "#2a7" if ratio <= 1 else "#c63"
        lines.append(f'<text x="{left - 6}" y="{y + 12}" text-anchor="end">{escape(name)}</text>')
        lines.append(f'<rect x="{middle + min(length, 0):.1f}" y="{y + 2}" width="{abs(length):.1f}" height="{height - 5}" fill="{colour}"/>')
        lines.append(f'<text x="{middle + max(length, 0) + 4:.1f}" y="{y + 12}">{ratio:.2f}</text>')
    for power in range(-3, 3):
        x = middle + power * unit
        lines.append(f'<path d="M{x} 24V{30 + len(found) * height}" stroke="#999" stroke-dasharray="2 3"/>')
        lines.append(f'<text x="{x}" y="18" text-anchor="middle">{2.0**power:g}</text>')
    size = f'width="{middle + 3 * unit}" height="{40 + len(found) * height}"'
    style = "<style>text{font:11px sans-serif}</style>"
    Path(sys.argv[2]).write_text(f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{style}{"".join(lines)}</svg>\n')


if __name__ == "__main__":
    main()
