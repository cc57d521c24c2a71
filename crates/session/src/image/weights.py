#!/usr/bin/env python3
"""Write weights.txt: the seconds that the libraries of an image took to compile.

    weights.py IMAGE >weights.txt

IMAGE is the folder of an image in Taper's cache, compiled on two cores of a quiet machine. Cargo notes when it began and
when it finished each unit. Packages that took less than a second are left out.
"""

import sys
from pathlib import Path

UNITS = "work/target/**/.fingerprint/*/invoked.timestamp"


def main() -> int:
    seconds: dict[str, float] = {}
    for began in Path(sys.argv[1]).glob(UNITS):
        for finished in began.parent.glob("lib-*.json"):
            name = began.parent.name.rsplit("-", 1)[0]
            took = finished.stat().st_mtime - began.stat().st_mtime
            seconds[name] = max(took, seconds.get(name, 0))
    for name in sorted(seconds, key=lambda name: -seconds[name]):
        if seconds[name] >= 1:
            print(name, f"{seconds[name]:.1f}")
    return 0 if seconds else f"{sys.argv[1]} is no image"


if __name__ == "__main__":
    sys.exit(main())
