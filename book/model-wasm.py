#!/usr/bin/env python3
"""Writes crates/book/src/publish/model.wasm.txt: the program that runs a network in a published page, as WebAssembly.

    rustup target add wasm32-unknown-unknown
    python3 book/model-wasm.py

With --check, it only fails if the file is of another program.
"""

import base64
import hashlib
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "crates/book/src/publish"
PROGRAM, OUTPUT = FOLDER / "runtime.rs", FOLDER / "model.wasm.txt"
OPTIONS = "--edition 2024 -C opt-level=s -C panic=abort -C lto=fat -C strip=symbols --target wasm32-unknown-unknown"


def main() -> None:
    digest = hashlib.sha256(PROGRAM.read_bytes()).hexdigest()
    if "--check" in sys.argv:
        if not OUTPUT.read_text().startswith(digest):
            sys.exit(f"{OUTPUT} is not of {PROGRAM}; run book/model-wasm.py")
        return
    with tempfile.TemporaryDirectory() as folder:
        module = Path(folder) / "model.wasm"
        command = ["rustc", *OPTIONS.split(), "--crate-type", "cdylib", "-A", "warnings", "-o", module, PROGRAM]
        subprocess.run(command, check=True)
        content = base64.b64encode(module.read_bytes()).decode()
    OUTPUT.write_text(f"{digest}\n{content}\n")
    print(f"{OUTPUT}: {len(content) // 1000} KB")


if __name__ == "__main__":
    main()
