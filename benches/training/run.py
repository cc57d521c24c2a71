#!/usr/bin/env python3
"""Builds the program, installs PyTorch in the environment of the kernel's measurements, and measures.

    python3 benches/training/run.py [--device cuda] [--burn] [--scaling] [--only MODEL] [--json FILE]
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "kernel"))

from run import environment  # noqa: E402  (the kernel's)


def main() -> int:
    if not {"-h", "--help"} & set(sys.argv):
        command = ["cargo", "build", "--quiet", "--locked", "--profile", "image", "-p", "taper", "--example", "training"]
        if "cuda" in sys.argv or "--device=cuda" in sys.argv:
            # With the toolkit that `taper setup` chose.
            command = ["cargo", "taper", "cuda", *command, "--features", "cudnn"]
        subprocess.run(command, cwd=ROOT, check=True)
        if any(argument.startswith("--burn") for argument in sys.argv):
            command = ["cargo", "build", "--quiet", "--locked", "--release"]
            subprocess.run(command, cwd=ROOT / "benches/burn", check=True)
    script = "scaling.py" if "--scaling" in sys.argv else "measure.py"
    return subprocess.call([environment(), HERE / script, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
