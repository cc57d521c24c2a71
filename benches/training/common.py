"""The paths of the measured programs, and the library path that they need."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "image/examples/training"
BURN = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "benches/burn/target")) / "release/burn-training"


def library_path() -> str:
    """Returns the folders with Rust's standard library and with `taper`, for the dynamic linker."""
    found = subprocess.run(["rustc", "--print", "target-libdir"], capture_output=True, text=True, check=True)
    return found.stdout.strip() + ":" + str(PROGRAM.parent.parent / "deps")
