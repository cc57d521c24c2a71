#!/usr/bin/env python3
"""Writes book/src/digit-reader.wasm.js: the network of the chapter "Ship it" as WebAssembly, for the box in its page.

    cargo taper run --inplace notebooks/NN-ship-it.ipynb
    rustup target add wasm32-unknown-unknown
    python3 book/digit-reader.py

The chapter writes the program, the weights and ten digits into notebooks/output/reader. With --check, it only
fails if the program differs from the chapter's.
"""

import base64
import hashlib
import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
READER = ROOT / "notebooks/output/reader"
OUTPUT = ROOT / "book/src/digit-reader.wasm.js"
OPTIONS = "--edition 2024 -C opt-level=s -C panic=abort -C lto=fat -C strip=symbols --target wasm32-unknown-unknown"


def program() -> str:
    """Returns the program in the chapter."""
    (chapter,) = (ROOT / "notebooks").glob("*-ship-it.ipynb")
    cells = json.loads(chapter.read_text())["cells"]
    parts = ["".join(cell["source"]) for cell in cells if cell["id"] in ("reader", "reader-page")]
    return "".join(part.split("\n", 1)[1] + "\n" for part in parts)  # without the lines %%writefile


def example(digit: int) -> str:
    """Returns the chapter's image of a digit, a hexadecimal digit for each pixel."""
    words = (READER / f"digit-{digit}.pgm").read_text().split()[4:]
    return "".join(f"{min(15, int(word)):x}" for word in words)


def main() -> None:
    digest = f"// Written by book/digit-reader.py from a program with the SHA-256 {hashlib.sha256(program().encode()).hexdigest()}.\n"
    if "--check" in sys.argv:
        if not OUTPUT.read_text().startswith(digest):
            sys.exit(f"{OUTPUT} is not of the chapter's program; run book/digit-reader.py")
        return
    (READER / "reader.rs").write_text(program())
    command = ["rustc", *OPTIONS.split(), "--crate-type", "cdylib", "-o", "reader.wasm", "reader.rs"]
    subprocess.run(command, cwd=READER, check=True)
    module = base64.b64encode((READER / "reader.wasm").read_bytes()).decode()
    content = {"module": module, "examples": [example(digit) for digit in range(10)]}
    OUTPUT.write_text(f"{digest}window.digitReader = {json.dumps(content)};\n")
    print(f"{OUTPUT}: {len(module) // 1000} KB")


if __name__ == "__main__":
    main()
