"""An MPI from PyPI, and the program `examples/distributed.rs` built with it.

    python3 tests/distributed/mpi.py cargo clippy --features taper/mpi    # a command with that MPI
    python3 tests/distributed/mpi.py --nccl taper cuda cargo build --features taper/nccl    # and with NCCL
"""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def environment(packages="requirements.txt") -> Path:
    """Returns a Python environment with an MPI. It is made once for each list of packages, in Taper's cache."""
    cache = Path(os.environ.get("TAPER_CACHE") or Path.home() / ".cache/taper")
    requirements = HERE / packages
    folder = cache / "test-mpi" / hashlib.sha256(requirements.read_bytes()).hexdigest()[:16]
    complete = folder / "taper-complete"
    if not complete.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [folder / "bin/python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-input"]
        subprocess.run([*pip, "-r", requirements], check=True)
        complete.touch()
    return folder


def variables(mpi: Path) -> dict:
    """Returns the environment variables to build and to run a program with this MPI."""
    libclang = next(mpi.glob("lib/python*/site-packages/clang/native"))
    # PyPI's libclang has no headers of its own.
    headers = subprocess.run(["cc", "-print-file-name=include"], check=True, capture_output=True, text=True)
    return {
        **os.environ,
        "PATH": f"{mpi / 'bin'}:{os.environ['PATH']}",
        "MPICC": str(mpi / "bin/mpicc"),
        "LIBCLANG_PATH": str(libclang),
        "BINDGEN_EXTRA_CLANG_ARGS": f"-I{headers.stdout.strip()}",
        "LD_LIBRARY_PATH": str(mpi / "lib"),
        # Containers of CI have few cores, and one user.
        "OMPI_ALLOW_RUN_AS_ROOT": "1",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    }


def with_nccl(variables: dict) -> dict:
    """Adds NCCL to the variables."""
    folder = environment("requirements-nccl.txt")
    library = next(folder.glob("lib/python*/site-packages/nvidia/nccl/lib/libnccl.so.2"))
    # The linker looks for the name without a version, which the wheel lacks.
    name = library.with_name("libnccl.so")
    if not name.exists():
        name.symlink_to(library.name)
    found = f"{library.parent}:{variables['LD_LIBRARY_PATH']}"
    return {**variables, "LIBRARY_PATH": str(library.parent), "LD_LIBRARY_PATH": found}


def build(variables: dict, feature="mpi", profile="dev") -> Path:
    """Builds the program: in the profile `dev` as `cargo test` builds the rest, so that dependencies are compiled once."""
    if given := os.environ.get("TAPER_DISTRIBUTED"):
        return Path(given)
    options = ["--profile", profile, "--features", f"taper/{feature}", "--example", "distributed"]
    # A test beside the program makes cargo select the features of the dependencies as `cargo test` does.
    command = ["cargo", "build", "--locked", *options, "--test", "language"]
    target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    if feature == "nccl":
        command = [target / "debug/taper", "cuda", *command]
    subprocess.run(command, cwd=ROOT, env=variables, check=True)
    return target / ("debug" if profile == "dev" else profile) / "examples/distributed"


if __name__ == "__main__":
    found, command = variables(environment()), sys.argv[1:]
    if command[0] == "--nccl":
        found, command = with_nccl(found), command[1:]
    sys.exit(subprocess.call(command, env=found))
