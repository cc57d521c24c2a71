"""The kernels that are compared, and the cells that each of them runs."""

import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from run import ROOT, cache

TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug"
# The clone whose `taper` is in the image, under the path that the kernel uses.
HOME = Path(os.environ.get("TAPER_HOME", ROOT))
NOTEBOOK = HOME / "notebooks/33-gpus.ipynb"

RUST_TENSOR = [
    ':dep taper = { path = ".." }\nuse taper::prelude::*;',
    'println!("tensor {}", randn((2, 3)));',
]
TORCH_TENSOR = ["import torch", 'print("tensor", torch.randn(2, 3))']
TORCH_CELLS = [
    "x = torch.ones(2, 3)",
    "x",
    "x.device",
    "y = torch.rand(2, 3)",
    "x + y",
    "y.tolist()",
    "y.sum().item()",
    "((x + 2).exp() * y)",
    "net = torch.nn.Sequential(torch.nn.Linear(3, 1))",
    "net(x)",
    "torch.rand(512, 512) @ torch.rand(512, 512)",
]


@dataclass
class Peer:
    """A kernel in a certain configuration."""

    name: str
    kernel: str
    first_cells: list[str]
    """The last cell prints the word `tensor` and then a tensor."""
    cells: list[str] = field(default_factory=list)
    """The cells that a user runs after `first_cells`."""
    environment: dict[str, str] = field(default_factory=dict)
    prepare: callable = lambda peer: None
    """Called before each start, and before each restart."""


def all_peers(arguments) -> list[Peer]:
    cells = notebook_cells()
    peers = [Peer("taper", "taper", RUST_TENSOR, cells)]
    kept = cache() / "tests/stock-evcxr"
    kept.mkdir(parents=True, exist_ok=True)
    peers.append(Peer("stock evcxr, kept target", "stock", RUST_TENSOR, cells, {"EVCXR_TMPDIR": str(kept)}))
    if arguments.cold_stock:
        fresh = Path(tempfile.gettempdir()) / f"stock-evcxr-{os.getpid()}"
        peers.append(
            Peer("stock evcxr, cold", "stock", RUST_TENSOR, [], {"EVCXR_TMPDIR": str(fresh)}, lambda _: empty(fresh))
        )
    peers.append(Peer("ipykernel + torch", "python", TORCH_TENSOR, TORCH_CELLS))
    return peers


def notebook_cells() -> list[str]:
    """Returns the code cells of the chapter, without the first one, which loads `taper`."""
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"][1:]


def empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def register(jupyter: Path, folder: Path, python: str) -> None:
    """Registers all three kernels in `folder`, and sets JUPYTER_PATH to it. Taper's set-up registers ours."""
    os.environ["JUPYTER_PATH"] = str(folder)
    subprocess.run([TARGET / "taper", "setup", "--jupyter", jupyter], check=True)
    libraries = subprocess.run(["rustc", "--print", "target-libdir"], capture_output=True, text=True, check=True)
    stock = [str(TARGET.with_name("release") / "stock_evcxr_jupyter"), "--control_file", "{connection_file}"]
    write_kernelspec(folder, "stock", stock, {"LD_LIBRARY_PATH": libraries.stdout.strip()})
    write_kernelspec(folder, "python", [python, "-m", "ipykernel_launcher", "-f", "{connection_file}"], {})


def write_kernelspec(folder: Path, name: str, argv: list[str], environment: dict[str, str]) -> None:
    spec = {"argv": argv, "display_name": name, "language": name, "env": environment, "interrupt_mode": "message"}
    file = folder / "kernels" / name / "kernel.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(spec))
