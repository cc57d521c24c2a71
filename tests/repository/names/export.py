"""Writes the public names of PyTorch, torchvision's transforms and torchmetrics to `pytorch.txt`, from their sources.

    python tests/repository/names/export.py FOLDER…      # with the packages torch, torchvision and torchmetrics

Only sources are read: of the installed packages, or of wheels that were unpacked into a folder.
"""

import ast
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent


def source(path):
    for folder in map(Path, sys.argv[1:]):
        if (folder / path).exists():
            return (folder / path).read_text()
    raise SystemExit(f"no {path} in {sys.argv[1:]}")


def listed(path):
    """Returns the names of `__all__`."""
    for node in ast.parse(source(path)).body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            if getattr(target, "id", "") == "__all__":
                return set(ast.literal_eval(node.value))
    return set()


def imported(path):
    """Returns the public names that a module imports from its own files."""
    nodes = [node for node in ast.parse(source(path)).body if isinstance(node, ast.ImportFrom) and node.level]
    names = {alias.asname or alias.name for node in nodes for alias in node.names}
    return {name for name in names if name[0].isupper()}


def functions():
    """Returns the functions of `torch` that have a documentation."""
    documented = re.findall(r"add_docstr\(\s*torch\.(\w+),", source("torch/_torch_docs.py"))
    copies = {name for name in documented if name.endswith("_copy")}  # for the export of graphs
    return set(documented) - copies | listed("torch/functional.py")


def main():
    modules = {
        "torch": functions(),
        "torch.nn": listed("torch/nn/modules/__init__.py"),
        "torch.optim": {name for name in listed("torch/optim/__init__.py") if name[0].isupper()}
        | {name for name in listed("torch/optim/lr_scheduler.py") if name != "LRScheduler"},
        "torchvision.transforms.v2": imported("torchvision/transforms/v2/__init__.py"),
        "torchmetrics": {name for name in listed("torchmetrics/__init__.py") if name[0].isupper()},
    }
    lines = []
    for module, names in modules.items():
        names = sorted(name for name in names if not name.startswith("_") and not name.endswith("_"))
        lines.append(f"{module}: {' '.join(names)}\n")
    (HERE / "pytorch.txt").write_text("".join(lines))


if __name__ == "__main__":
    main()
