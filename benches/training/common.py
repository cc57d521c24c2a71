"""Where the programs of the measurements are, and what they need to start."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "image/examples/training"
BURN = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "benches/burn/target")) / "release/burn-training"


def library_path() -> str:
    """Returns the folder with Rust's standard library, for the dynamic linker."""
    found = subprocess.run(["rustc", "--print", "target-libdir"], capture_output=True, text=True, check=True)
    return found.stdout.strip() + ":" + str(PROGRAM.parent.parent / "deps")
