"""Packs exported samples without the values of those that Taper cannot express; export.py explains it.

    python tests/pytorch/pack.py all.samples reasons.txt tests/pytorch/samples.gz
"""

import gzip
import json
import math
import struct
import sys

# The bytes of an element: rounded and single floats, integers, results.
WIDTHS = (2, 4, 8, 8)
KINDS = {"f": 0, "F": 1}
# As in samples.py.
ALL, SOME = 24, 14


def read(path):
    content, parts = gzip.open(path).read(), []
    while content:
        length, = struct.unpack("<Q", content[:8])
        parts.append(content[8:8 + length])
        content = content[8 + length:]
    return parts


def tensors(value):
    """Yields the tensors of arguments, in their order."""
    if isinstance(value, dict) and "k" in value:
        yield value
    elif isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from tensors(part)


def lengths(sample):
    """Returns how many elements the sample has in each part."""
    counts = [0, 0, 0, 0]
    for entry in tensors([sample.get(part, []) for part in ("args", "forward", "state")]):
        counts[KINDS.get(entry["k"][0], 2)] += math.prod(entry["s"])
    for entry in sample.get("want", []):
        count = math.prod(entry["s"])
        counts[3] += count if count <= ALL else SOME + 1
    return counts


def main():
    index, *parts = read(sys.argv[1])
    index = json.loads(index)
    reasons = open(sys.argv[2]).read().split("\n")
    places, kept, samples = [0, 0, 0, 0], [[], [], [], []], []
    for sample, reason in zip(index["samples"], reasons):
        for i, count in enumerate(lengths(sample)):
            end = places[i] + count * WIDTHS[i]
            if not reason:
                kept[i].append(parts[i][places[i]:end])
            places[i] = end
        samples.append({"op": sample["op"], "out": reason} if reason else sample)
    assert places == [len(part) for part in parts]
    index = json.dumps({**index, "samples": samples}, separators=(",", ":")).encode()
    parts = [index] + [b"".join(part) for part in kept]
    content = b"".join(struct.pack("<Q", len(part)) + part for part in parts)
    with open(sys.argv[3], "wb") as file:
        file.write(gzip.compress(content, 9, mtime=0))


if __name__ == "__main__":
    main()
