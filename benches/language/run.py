#!/usr/bin/env python3
"""Builds the program, installs PyTorch in the environment of the kernel's measurements, and measures.

    python3 benches/language/run.py [--prompt N] [--tokens N] [--turns N] [--threads N]
    python3 benches/language/run.py --lora [--rank N] [--batch N] [--length N] [--steps N] [--turns N] [--threads N]
"""

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "kernel"))

from run import environment  # noqa: E402  (the kernel's)

if __name__ == "__main__":
    if not {"-h", "--help"} & set(sys.argv):
        command = ["cargo", "build", "--quiet", "--locked", "--profile", "image", "-p", "taper", "--example", "language"]
        subprocess.run(command, cwd=HERE.parent.parent, check=True)
    arguments = [argument for argument in sys.argv[1:] if argument != "--lora"]
    script = "lora.py" if "--lora" in sys.argv else "measure.py"
    sys.exit(subprocess.call([environment(), HERE / script, *arguments]))
