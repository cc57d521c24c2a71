"""The paths of the measured programs, and the library path that they need."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
BUILT = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "image/examples/training"
# `taper gpu-check` names a program that may come from another machine.
PROGRAM = Path(os.environ.get("TAPER_TRAINING", BUILT))
BURN = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "benches/burn/target")) / "release/burn-training"


def only_simd(level: str | None) -> dict[str, str]:
    """Returns the variables that limit Taper and PyTorch to the same instructions, so that a laptop is measured on a server."""
    if level is None:
        return {}
    return {
        "TAPER_SIMD": level, "ATEN_CPU_CAPABILITY": level, "ONEDNN_MAX_CPU_ISA": level.upper(), "MKL_ENABLE_INSTRUCTIONS": level.upper()
    }  # fmt: skip


def library_path() -> str:
    """Returns the folders with Rust's standard library and with `taper`, for the dynamic linker."""
    if "TAPER_TRAINING" in os.environ:
        return os.environ.get("LD_LIBRARY_PATH", "")
    found = subprocess.run(["rustc", "--print", "target-libdir"], capture_output=True, text=True, check=True)
    return found.stdout.strip() + ":" + str(PROGRAM.parent.parent)
