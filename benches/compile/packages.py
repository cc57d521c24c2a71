"""Where the time of a build goes: a table of packages, from the reports of `cargo build --timings`.

    python3 benches/compile/packages.py REPORT.html [--rows N]

Seconds are those of a unit from its start to its end: with two units at a time, about those of one core, and less where one
unit has both. *Before LLVM* is parsing, types, borrow check and collecting instances; *LLVM* is optimisation and code.
Cargo reports no phases for what is linked: programs, tests, and the crate `taper`, which is a shared library too.
"""

import argparse, collections, json, pathlib, re


def units(report: pathlib.Path) -> list[dict]:
    found = re.search(r"const UNIT_DATA = (\[.*?\]);\n", report.read_text(), re.DOTALL)
    return json.loads(found[1])


def name(unit: dict) -> str:
    kind = re.sub(r'"(.*?)".*', r"\1", unit["target"].strip()).split()
    if "(test)" in unit["target"]:
        return f"{unit['name']}: its own tests" if '"lib"' in unit["target"] else f"{unit['name']}: other tests"
    return unit["name"] if not unit["target"] or "build-script" in kind else f"{unit['name']}: {kind[-1]}s"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("report", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=20)
    args = parser.parse_args()
    found = units(args.report)
    packages = collections.defaultdict(lambda: [0, 0.0, 0.0, 0.0])
    for unit in found:
        phases = {phase: part["end"] - part["start"] for phase, part in unit["sections"] or []}
        row = packages[name(unit)]
        for column, value in enumerate([1, unit["duration"], phases.get("frontend", 0.0), phases.get("codegen", 0.0)]):
            row[column] += value
    rows = sorted(packages.items(), key=lambda row: -row[1][1])
    rest = [sum(column) for column in zip(*(values for _, values in rows[args.rows :]))]
    rows = rows[: args.rows] + ([(f"{len(rows) - args.rows} more", rest)] if rest else [])
    end = max(unit["start"] + unit["duration"] for unit in found)
    print(f"{len(found)} units, {sum(values[1] for _, values in rows):.0f} s in {end:.0f} s\n")
    print("| package | units | seconds | before LLVM | LLVM |\n|---|--:|--:|--:|--:|")
    for package, (count, *seconds) in rows:
        print(f"| {package} | {count:.0f} | " + " | ".join(f"{it:.1f}" if it else "" for it in seconds) + " |")


if __name__ == "__main__":
    main()
