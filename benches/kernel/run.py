#!/usr/bin/env python3
"""Builds the kernels, installs the tools that measure them, and runs the measurements.

    python3 benches/kernel/run.py [--runs N] [--json FILE] [--no-cold-stock] …
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def main() -> int:
    if not {"-h", "--help"} & set(sys.argv):
        build("--bin", "taper")
        # As `cargo install` builds it.
        build("--bin", "stock_evcxr_jupyter", "--release")
    python = environment()
    return subprocess.call([python, HERE / "measure.py", *sys.argv[1:]])


def build(*what: str) -> None:
    subprocess.run(["cargo", "build", "--quiet", "--locked", "--workspace", *what], cwd=ROOT, check=True)


def environment() -> Path:
    """Returns the Python of the measurements: one environment for each list of packages, in Taper's cache."""
    packages = HERE / "requirements.txt"
    name = hashlib.sha256(packages.read_bytes()).hexdigest()[:16]
    folder = cache() / "bench-python" / name
    python, complete = folder / "bin/python", folder / "complete"
    if not complete.exists():
        print("Installing Jupyter's client and PyTorch (4 GB) …", file=sys.stderr)
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "-r", packages], check=True)
        complete.touch()
    return python


def cache() -> Path:
    """Returns the folder of Taper's cache."""
    if "TAPER_CACHE" in os.environ:
        return Path(os.environ["TAPER_CACHE"])
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/taper"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "taper"


if __name__ == "__main__":
    sys.exit(main())
