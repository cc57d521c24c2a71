"""Writes the cases of all exercises, src/exercises/cases.json, from the solutions in this folder.

    python3 tests/exercises/make.py

Solutions here are in plain Python, independent of those in notebooks/solutions. Each exercise has inputs, a
right and a wrong solution, and two hints; planted.py has further wrong solutions, of many kinds. With --check, it fails if the
file would change.
"""

import json
import sys
from pathlib import Path

EXERCISES = {}
INPUTS = {}


def exercise(name, inputs, right, wrong, hints, tolerance=None):
    """Adds an exercise whose answer is a function. `inputs` has a tuple of arguments for each case."""
    INPUTS[name] = inputs
    cases = [{"in": list(given), "out": outcome(right, given)} for given in inputs]
    add(name, cases, [outcome(wrong, given) for given in inputs], hints, tolerance)


def planted(name, wrong):
    """Adds another wrong solution to an exercise whose answer is a function."""
    EXERCISES[name]["wrong"].append([outcome(wrong, given) for given in INPUTS[name]])


def value(name, right, wrong, hints):
    """Adds an exercise whose answer is an integer, a text or a list of these: the file stores hashes."""
    hashes = [hashed(name, i, part) for i, part in enumerate(right)] if isinstance(right, list) else None
    add(name, [{"in": [], "out": {"hash": hashes or hashed(name, 0, right)}}], [wrong], hints, None)


def floats(name, right, wrong, hints, tolerance=None):
    """Adds an exercise whose answer is a constant list of floating-point numbers."""
    add(name, [{"in": [], "out": right}], [wrong], hints, tolerance)


def add(name, cases, wrong, hints, tolerance):
    assert name not in EXERCISES and len(hints) == 2, name
    EXERCISES[name] = {"cases": cases, "hints": list(hints), "wrong": [wrong]}
    if tolerance:
        EXERCISES[name]["tolerance"] = tolerance


def outcome(solution, given):
    try:
        return solution(*given)
    except ValueError as error:
        return {"error": str(error)}


def hashed(name, index, part):
    """Returns the hash of a part of an answer, as src/exercises/judge.rs computes it."""
    return f"{fnv(f'{name}/{index}/{written(part)}'):016x}"


def fnv(text):
    """Returns the FNV-1a hash of a text."""
    state = 0xCBF29CE484222325
    for byte in text.encode():
        state = ((state ^ byte) * 0x100000001B3) % 2**64
    return state


def written(part):
    if isinstance(part, list):
        return "[" + ", ".join(map(written, part)) + "]"
    if isinstance(part, str):
        return part.strip().lower()
    return str(part).lower()


def text():
    lines = []
    for name, parts in EXERCISES.items():
        rest = [f"    {json.dumps(key)}: {json.dumps(part, ensure_ascii=False)}" for key, part in parts.items()]
        lines.append(f"  {json.dumps(name)}: {{\n" + ",\n".join(rest) + "\n  }")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    sys.modules["make"] = sys.modules["__main__"]
    for part in ["learning", "building", "models", "language", "generating", "posttraining", "where", "interpreting", "evaluation", "reaching", "planted"]:
        __import__(part)

    file = Path(__file__).parents[2] / "src/exercises/cases.json"
    if "--check" not in sys.argv:
        file.write_text(text(), encoding="utf-8")
        print(f"{len(EXERCISES)} exercises, {len(text()) // 1000} KB")
    elif file.read_text(encoding="utf-8") != text():
        sys.exit(f"{file} is not what tests/exercises/make.py writes; run it")
