#!/usr/bin/env python3
"""Run the kernel with the clients of Jupyter that people use, one after the other, and print what came of each.

    clients.py --kernels FOLDER --env FOLDER [--only NAME…]

FOLDER of --kernels has kernels/taper/kernel.json; --env is a virtual environment, which is made with clients.txt if it
does not exist. Exit status: 0 if each client did what book/src/clients.md says, otherwise 1.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.request
import uuid
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# Text, a value, a figure, a live display, an error that is expected, and parameters.
CELLS = [
    ("parameters", "let width = 3usize;\nlet name = \"a\".to_owned();"),
    ("", "println!(\"{name} {width}\");\nzeros(width).shape().dims().to_vec()"),
    ("", "plot(&[1.0, 2.0], &[&[1.0, 4.0]])"),
    ("", "for _ in progress(0..3) {}"),
    ("raises-exception", "zeros((2, 3)).matmul(&zeros((2, 3)))"),
]

# For the extension: a case of stale cells, and the cells for `lab_extension.py`, which `tests/slow/lab.rs` has as well.
EXTENSION = [
    ":clear",
    "let x = 1;",
    "x + 1",
    "let mut needed = vec![1];",
    "println!(\"{}\", 1 + 1);",
    "let found = needed.len();\nfound",
    "%%profile\nlet mut kept = Vec::new();\nfor n in 0..20 {\n    kept.push(vec![n; 10_000]);\n}",
    "%%profile\nlet net = seq![Linear::new(8, 16), ReLU, Linear::new(16, 1)];\nlet loss = net.forward(&randn((32, 8))).sum_all();\nloss.backward();",
    "for n in 0..80 {\n    println!(\"line {n}\");\n    std::thread::sleep(std::time::Duration::from_millis(100));\n}",
    "seq![Linear::new(8, 16), ReLU, Linear::new(8, 1)].forward(&ones((32, 8)))",
    "seq![Linear::new(8, 16), ReLU, Linear::new(16, 1)].measured_summary((32, 8))",
]
CASES = [
    {"name": "a variable", "clear": 0, "cells": {"a": 1, "b": 2}, "sources": {}, "runs": "aba", "expected": "b: `x` was defined again by cell [3]"},
]


def notebook(cells=CELLS) -> dict:
    return {
        "cells": [
            {"cell_type": "code", "id": f"c{i}", "metadata": {"tags": [tag] if tag else []}, "execution_count": None, "outputs": [], "source": source}
            for i, (tag, source) in enumerate(cells)
        ],
        "metadata": {"kernelspec": {"name": "taper", "display_name": "Rust (Taper)", "language": "rust"}, "language_info": {"name": "rust"}},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


class Clients:
    def __init__(self, env: Path, kernels: Path, folder: Path):
        self.bin, self.folder = env / "bin", folder
        self.environment = os.environ | {
            "JUPYTER_PATH": str(kernels), "PATH": f"{self.bin}:{os.environ['PATH']}", "JUPYTER_CONFIG_DIR": str(folder / "config"),
            "QT_QPA_PLATFORM": "offscreen", "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        }

    def run(self, *command: str, fails=False, **options) -> str:
        done = subprocess.run(
            [self.bin / command[0], *command[1:]], cwd=self.folder, env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600, **options,
        )
        if (done.returncode != 0) != fails:
            raise AssertionError(f"{' '.join(map(str, command))}: {done.returncode}\n{done.stdout}")
        return done.stdout

    def write(self, name: str, document: dict) -> Path:
        path = self.folder / name
        path.write_text(json.dumps(document))
        return path

    def check_outputs(self, path: Path, first="a 3\n", value="[3]") -> None:
        cells = {cell["id"]: cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"}
        text = lambda output: "".join(output.get("text", ""))
        data = lambda output: {kind: "".join(content) for kind, content in output["data"].items()}
        assert text(cells["c1"]["outputs"][0]) == first, cells["c1"]
        assert data(cells["c1"]["outputs"][1])["text/plain"] == value, cells["c1"]
        assert "image/svg+xml" in data(cells["c2"]["outputs"][0]), cells["c2"]
        assert "3/3" in data(cells["c3"]["outputs"][0])["text/plain"], cells["c3"]
        assert "c4" not in cells or cells["c4"]["outputs"][-1]["output_type"] == "error", cells["c4"]

    def nbclient(self) -> str:
        path = self.write("nbclient.ipynb", notebook())
        self.run("jupyter-execute", "--inplace", str(path))
        self.check_outputs(path)
        return "all outputs; a live display has its last state"

    def nbconvert(self) -> str:
        path = self.write("nbconvert.ipynb", notebook())
        self.run("jupyter-nbconvert", "--execute", "--to", "notebook", "--output", "nbconverted", str(path))
        self.check_outputs(self.folder / "nbconverted.ipynb")
        html = self.run("jupyter-nbconvert", "--to", "html", "--stdout", str(self.folder / "nbconverted.ipynb"))
        assert "image/svg+xml" in html and "cannot multiply" in re.sub("<[^>]*>", "", html)
        self.run("jupyter-nbconvert", "--to", "script", str(self.folder / "nbconverted.ipynb"))
        script = (self.folder / "nbconverted.rs").read_text()
        assert "let width = 3usize;" in script
        return "execution, HTML with figures; a script is the cells' text with the extension `.rs`, which is not a program: `taper export` writes one"

    def papermill(self) -> str:
        path = self.write("papermill.ipynb", notebook(CELLS[:4]))
        output = self.folder / "papermilled.ipynb"
        self.run("papermill", str(path), str(output), "-p", "width", "4", "-p", "name", "b c")
        self.check_outputs(output, "b c 4\n", "[4]")
        self.papermill_converts()
        said = self.run("papermill", "--help-notebook", str(path))
        assert "width: usize (default 3usize)" in said, said
        return "parameters too, with `packaging/papermill`; a cell whose error is expected fails the notebook, as with each kernel"

    def papermill_converts(self) -> None:
        """A value gets the type of its default or is refused before the notebook runs."""
        lines = "let rate = 0.5;\nlet on = false;\nlet name: Option<String> = None;\nlet list = vec![1];\nlet n = 3;\nlet all = vec![0u8; n];"
        cells = [("parameters", lines), ("", "println!(\"{rate} {on} {name:?} {list:?} {n}\");")]
        path, output = self.write("typed.ipynb", notebook(cells)), self.folder / "typed-out.ipynb"
        given = {"rate": "2", "on": "true", "name": "null", "list": "[4, 5]", "n": "4"}
        self.run("papermill", str(path), str(output), *(part for pair in given.items() for part in ("-p", *pair)))
        assert "2 true None [4, 5] 4" in output.read_text(), output.read_text()
        for name, value, message in [("rate", "x", "cannot be `\"x\"`"), ("list", "[1.5]", "each element is an i32"), ("unknown", "1", "has: rate, on, name, list, n, all")]:
            said = self.run("papermill", str(path), str(output), "-p", name, value, fails=True)
            assert f"parameter `{name}`" in said.replace("named ", "") and message in said, said

    def jupytext(self) -> str:
        path = self.write("jupytext.ipynb", notebook())
        self.run("jupytext", "--to", "rs:percent", str(path))
        self.run("jupytext", "--to", "ipynb", "--execute", "--output", "jupytexted.ipynb", "jupytext.rs")
        cells = json.loads((self.folder / "jupytexted.ipynb").read_text())["cells"]
        assert "a 3" in json.dumps(cells), cells
        for form in ["md", "md:myst"]:
            assert "let width = 3usize;" in self.run("jupytext", "--to", form, "--output", "-", str(path))
        self.jupytext_and_taper()
        return "`rs:percent`, `md`, `md:myst`, `--execute`; it reads what `taper export` writes, and `taper import` what it writes"

    def jupytext_and_taper(self) -> None:
        """Each reads the files of the other, and gets the cells of the notebook."""
        cells = [("", ":dep itoa = \"1\"\nlet x = 1;"), ("slow", "%%bash -e\necho é\n\n# a comment"), ("", "// :dep old = \"1\"\n!ls\n\n\nx")]
        document = notebook([*CELLS, *cells])
        for cell in document["cells"]:
            # jupytext leaves out empty lists.
            cell["metadata"] = {key: value for key, value in cell["metadata"].items() if value}
        document["cells"].insert(1, {"cell_type": "markdown", "id": "text", "metadata": {"tags": ["a"]}, "source": "# Title\n\n- text"})
        document["cells"].append({"cell_type": "raw", "id": "raw", "metadata": {}, "source": "raw"})
        path = self.write("both.ipynb", document)
        program = json.loads((Path(self.environment["JUPYTER_PATH"]) / "kernels/taper/kernel.json").read_text())["argv"][0]
        self.run(program, "export", str(path), "--to", "taper.rs")
        self.run("jupytext", "--to", "rs:percent", "--output", "jupytext.rs", str(path))
        body = lambda name: re.sub(' id="[^"]*"', "", (self.folder / name).read_text().split("// ---\n")[-1])
        assert body("taper.rs") == body("jupytext.rs"), body("jupytext.rs")
        self.run("jupytext", "--to", "ipynb", "--output", "read-by-jupytext.ipynb", "taper.rs")
        self.run(program, "import", "jupytext.rs", "--to", "read-by-taper.ipynb")
        self.run(program, "import", "taper.rs", "--to", "exact.ipynb")
        joined = lambda source: "".join(source)
        without_id = lambda metadata: {key: value for key, value in metadata.items() if key != "id" and value}
        kept = lambda document: [(cell["cell_type"], joined(cell["source"]), without_id(cell["metadata"])) for cell in document["cells"]]
        for name in ["read-by-jupytext", "read-by-taper", "exact"]:
            read = json.loads((self.folder / f"{name}.ipynb").read_text())
            assert kept(read) == kept(document), (name, kept(read))
        assert [cell["id"] for cell in read["cells"]] == [cell["id"] for cell in document["cells"]]

    def nbval(self) -> str:
        path = self.write("nbval.ipynb", notebook())
        self.run("jupyter-execute", "--inplace", str(path))
        said = self.run("python", "-m", "pytest", "-p", "no:taper-nbval", "--nbval", "-q", str(path), fails=True)
        assert "1 failed, 4 passed" in said and "Cell 3" in said, said
        self.run("python", "-m", "pytest", "--nbval", "-q", str(path))
        self.nbval_with_a_tolerance()
        return "all, with `packaging/nbval`; without it, a live display's first state is compared with the last one in the file"

    def nbval_with_a_tolerance(self) -> None:
        """A number may differ from the stored one by the tolerance of its cell, a figure of this cell in any way, and the
        outputs of another release of Rust too."""
        document = notebook([("", 'println!("loss {}, step {}", 0.25, 30);\nplot(&[1.0, 2.0], &[&[1.0, 4.0]])')])
        path = self.write("tolerance.ipynb", document)
        self.run("jupyter-execute", "--inplace", str(path))
        for metadata, loss, step, passes in [
            ({}, 0.251, 30, False),
            ({"taper": {"rtol": 0.01}}, 0.251, 30, True),
            ({"taper": {"rtol": 0.001}}, 0.251, 30, False),
            ({"taper": {"rtol": 0.1}}, 0.25, 31, False),
            ({"taper": {"counts": 0.1}}, 0.25, 31, True),
            ({"taper": {"counts": 0.1}}, 0.251, 31, False),
            ({"taper": {"counts": 0.01}}, 0.25, 31, False),
            ({"tags": ["rust-1.2"]}, 0.5, 4, True),
            ({"tags": ["rust-like"]}, 0.5, 4, False),
        ]:
            changed = json.loads(path.read_text())
            cell = changed["cells"][0]
            cell["metadata"].update(metadata)
            cell["outputs"][0]["text"] = f"loss {loss}, step {step}\n"
            cell["outputs"][1]["data"]["image/svg+xml"] = "<svg/>"
            changed_path = self.write("changed.ipynb", changed)
            self.run("python", "-m", "pytest", "--nbval", "-q", str(changed_path), fails=not passes)

    def nbdime(self) -> str:
        one = self.write("one.ipynb", notebook())
        changed = [*CELLS[:1], ("", CELLS[1][1].replace("name} {", "name}: {")), *CELLS[2:]]
        two = self.write("two.ipynb", notebook(changed))
        said = self.run("nbdiff", "--no-color", str(one), str(two))
        assert re.search(r'^\+.*name}: {width', said, re.M), said
        base, merged = self.write("base.ipynb", notebook()), self.folder / "merged.ipynb"
        self.run("nbmerge", str(base), str(one), str(two), "--out", str(merged))
        assert "name}: {width" in merged.read_text()
        return "a diff and a merge, cell by cell"

    def jupyter_cache(self) -> str:
        self.write("cached.ipynb", notebook(CELLS[:4]))
        for command in (["notebook", "add", "cached.ipynb"], ["project", "execute"], ["notebook", "merge", "cached.ipynb", "from-cache.ipynb"]):
            self.run("jcache", *command, input="y\n" * 3)
        assert "a 3" in (self.folder / "from-cache.ipynb").read_text()
        return "executes, keeps, merges back; a cell whose error is expected fails the notebook, as with each kernel"

    def myst_nb(self) -> str:
        path = self.write("myst.ipynb", notebook(CELLS[:4]))
        page = self.run("mystnb-docutils-html5", "--nb-execution-mode=force", str(path))
        assert "a 3" in page and "svg" in page, page[-3000:]
        return "a page with outputs and figures"

    def code_formatter(self) -> str:
        code = """if True:
            from jupyterlab_code_formatter.formatters import SERVER_FORMATTERS
            rustfmt = SERVER_FORMATTERS["rustfmt"]
            print(rustfmt.importable, rustfmt.format_code("fn  f( )  { }", True))
            try:
                print(rustfmt.format_code("let  x = 1;", True))
            except Exception as error:
                print("refused", type(error).__name__)
        """
        said = self.run("python", "-c", code)
        assert said.startswith("True fn f() {}") and "refused" in said, said
        return "cells of items alone; `%fmt` formats every cell"

    def console(self) -> str:
        lines = "let x = 20;\nx + 22\nfn twice(x: i32) -> i32 {\n    2 * x\n}\n\ntwice(x)\nquit\n"
        said = self.run("jupyter-console", "--kernel", "taper", "--simple-prompt", input=lines)
        assert "42" in said, said
        return "values, cells of several lines, `quit`"

    def qtconsole(self) -> str:
        said = self.run("python", str(HERE / "client_qtconsole.py"))
        assert "42" in said and "(svg)" in said, said
        return "values and figures; a progress bar stays at its first state, because qtconsole does not update displays"

    def vscode(self) -> str:
        self.run("python", str(HERE / "client_vscode.py"), str(Path(self.environment["JUPYTER_PATH"]) / "kernels/taper/kernel.json"))
        return "its messages without a server: cells, completions, a question, an interrupt on the shell channel, a restart"

    def voila(self) -> str:
        self.write("voila.ipynb", notebook(CELLS[:4]))
        port = free_port()
        server = self.start("voila", "voila.ipynb", "--no-browser", f"--port={port}", "--strip_sources=True")
        try:
            page = wait_for(f"http://127.0.0.1:{port}/", 180)
        finally:
            server.terminate()
            server.wait()
        assert "a 3" in page and ("svg" in page), page[-3000:]
        return "a page with outputs and figures"

    def rest(self) -> str:
        import asyncio

        port, token = free_port(), uuid.uuid4().hex
        server = self.start("jupyter-server", "--no-browser", f"--port={port}", f"--IdentityProvider.token={token}", "--allow-root")
        base = f"http://127.0.0.1:{port}"
        try:
            wait_for(f"{base}/api/status?token={token}", 60)
            request = urllib.request.Request(f"{base}/api/kernels?token={token}", b'{"name": "taper"}', {"Content-Type": "application/json"})
            kernel = json.load(urllib.request.urlopen(request))["id"]
            return asyncio.run(over_websocket(f"ws://127.0.0.1:{port}/api/kernels/{kernel}/channels?token={token}"))
        finally:
            server.terminate()
            server.wait()

    def notebook7(self) -> str:
        return self.in_a_browser("notebook", "--YDocExtension.disable_rtc=True")

    def collaboration(self) -> str:
        return self.in_a_browser("lab")

    def in_a_browser(self, app: str, *options: str) -> str:
        """Checks the extension: stale cells, profiles, and outputs after the page was loaded again."""
        self.write("extension.ipynb", notebook([("", cell) for cell in EXTENSION]))
        cases = self.folder / "cases.json"
        cases.write_text(json.dumps(CASES))
        port, token = free_port(), uuid.uuid4().hex
        options = ("--no-browser", f"--port={port}", f"--IdentityProvider.token={token}", "--allow-root", *options)
        server = self.start(f"jupyter-{app}", *options)
        try:
            wait_for(f"http://127.0.0.1:{port}/api/status?token={token}", 60)
            said = self.run(
                "python", str(HERE / "lab_extension.py"), "--app", app, "--notebook", "extension.ipynb",
                "--url", f"http://127.0.0.1:{port}/lab?token={token}", "--cases", str(cases), "--screenshots", str(self.folder / app),
            )
        finally:
            server.terminate()
            server.wait()
        return f"{said.count('ok ')} checks of the extension"

    def start(self, *command: str) -> subprocess.Popen:
        log = (self.folder / f"{command[0]}.log").open("w")
        return subprocess.Popen([self.bin / command[0], *command[1:]], cwd=self.folder, env=self.environment, stdout=log, stderr=log)


async def over_websocket(address: str) -> str:
    import websockets

    def message(kind: str, content: dict, channel="shell") -> str:
        header = {"msg_id": uuid.uuid4().hex, "msg_type": kind, "session": "s", "username": "u", "version": "5.3", "date": ""}
        return json.dumps({"header": header, "parent_header": {}, "metadata": {}, "content": content, "channel": channel})

    seen = []
    async with websockets.connect(address, max_size=None) as socket:
        await socket.send(message("execute_request", {"code": "println!(\"hello\");\n6 * 7", "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}))
        await socket.send(message("usage_request", {}, "control"))
        until = time.monotonic() + 120
        while time.monotonic() < until and not {"execute_reply", "usage_reply"} <= {kind for kind, _ in seen}:
            received = json.loads(await socket.recv())
            seen.append((received["header"]["msg_type"], received["content"]))
    content = dict(seen)
    assert content["execute_result"]["data"]["text/plain"] == "42", seen
    assert content["usage_reply"]["kernel_memory"] > 1 << 24, seen
    return "a cell over a websocket, and `usage_request` on the control channel"


def free_port() -> int:
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def wait_for(address: str, seconds: float) -> str:
    until = time.monotonic() + seconds
    while True:
        try:
            return urllib.request.urlopen(address, timeout=seconds).read().decode()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kernels", type=Path, required=True)
    parser.add_argument("--env", type=Path, required=True)
    parser.add_argument("--only", nargs="*")
    arguments = parser.parse_args()
    if not (arguments.env / "bin/papermill").exists():
        subprocess.run([sys.executable, "-m", "venv", arguments.env], check=True)
        subprocess.run([arguments.env / "bin/pip", "install", "--quiet", "-r", HERE / "clients.txt", ROOT / "packaging/papermill", ROOT / "packaging/nbval"], check=True)
    if sys.prefix != str(arguments.env.resolve()):
        # Some clients are used as libraries.
        os.execv(arguments.env.resolve() / "bin/python", ["python", *sys.argv])
    names = ["nbclient", "nbconvert", "papermill", "jupytext", "nbval", "nbdime", "jupyter_cache", "myst_nb", "code_formatter", "console", "qtconsole", "vscode", "voila", "rest", "notebook7", "collaboration"]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        clients = Clients(arguments.env.resolve(), arguments.kernels.resolve(), Path(folder))
        for name in arguments.only or names:
            began = time.monotonic()
            try:
                print(f"{name}: {getattr(clients, name)()} ({time.monotonic() - began:.0f} s)", flush=True)
            except Exception:
                failed += 1
                print(f"{name} FAILED\n{traceback.format_exc()}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
