#!/usr/bin/env python3
"""Send a kernel what Visual Studio Code sends, without a Jupyter server, and print what came.

    client_vscode.py KERNEL.JSON

VS Code reads the kernelspec itself and starts its program, tries the ports, gives each cell its id, asks for completions
at each key, interrupts on the shell channel, and ends the process of a kernel to restart it.
"""

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path

import zmq
from jupyter_client.session import Session

LIMIT = 120_000
CHANNELS = {"shell": zmq.DEALER, "control": zmq.DEALER, "stdin": zmq.DEALER, "iopub": zmq.SUB}
CELL = "vscode-notebook-cell:/home/ada/page.ipynb#W{}sZmlsZQ%3D%3D"


class Kernel:
    """A process of the kernel, and sockets to it."""

    def __init__(self, spec: dict, folder: Path) -> None:
        ports = free_ports(5)
        info = {"transport": "tcp", "ip": "127.0.0.1", "signature_scheme": "hmac-sha256", "key": str(uuid.uuid4())}
        info |= {f"{channel}_port": port for channel, port in zip([*CHANNELS, "hb"], ports)}
        info["kernel_name"] = "taper"
        file = folder / f"{uuid.uuid4()}.json"
        file.write_text(json.dumps(info))
        command = [part.replace("{connection_file}", str(file)) for part in spec["argv"]]
        self.process = subprocess.Popen(command, cwd=folder, env=os.environ | spec.get("env", {}))
        for channel in ("shell", "iopub"):
            wait_until_used(info[f"{channel}_port"])
        self.session = Session(key=info["key"].encode(), session=str(uuid.uuid4()))
        self.sockets = {channel: zmq.Context.instance().socket(kind) for channel, kind in CHANNELS.items()}
        for channel, one in self.sockets.items():
            one.linger, one.rcvtimeo = 0, LIMIT
            if channel == "iopub":
                one.subscribe(b"")
            else:
                one.routing_id = self.session.session.encode()
            one.connect(f"tcp://127.0.0.1:{info[f'{channel}_port']}")

    def send(self, kind: str, content: dict, cell: int | None = None) -> str:
        message = self.session.msg(kind, content, metadata={} if cell is None else {"cellId": CELL.format(cell)})
        message["header"]["version"] = "5.2"
        self.session.send(self.sockets["shell"], message)
        return message["header"]["msg_id"]

    def receive(self, channel: str) -> dict:
        return self.session.recv(self.sockets[channel], mode=0)[1]

    def ask(self, kind: str, content: dict) -> dict:
        return self.reply(self.send(kind, content))

    def reply(self, request: str) -> dict:
        while True:
            message = self.receive("shell")
            if message["parent_header"]["msg_id"] == request:
                return message["content"]

    def start(self, number: int, code: str) -> str:
        content = {"code": code, "silent": False, "store_history": True, "allow_stdin": True, "stop_on_error": False}
        return self.send("execute_request", content, number)

    def outputs(self, request: str) -> list[tuple[str, str]]:
        """Returns the outputs of a cell until it is idle, as pairs of a type and a text."""
        found = []
        while True:
            message = self.receive("iopub")
            kind, content = message["msg_type"], message["content"]
            if message["parent_header"].get("msg_id") != request:
                continue
            if content.get("execution_state") == "idle":
                return found
            if kind not in ("status", "execute_input"):
                text = content.get("text") or content.get("ename") or sorted(content.get("data", content))
                found.append((kind, text))

    def __enter__(self) -> "Kernel":
        return self

    def __exit__(self, *_) -> None:
        """Ends the process as it is done at a restart, and waits until it has ended."""
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=30)
        for one in self.sockets.values():
            one.close()


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def wait_until_used(port: int) -> None:
    """Connects and says nothing, as the check of a port does."""
    until = time.monotonic() + LIMIT / 1000
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.2)


def run_cells(kernel: Kernel) -> None:
    info = kernel.ask("kernel_info_request", {})
    assert (info["status"], info["language_info"]["name"]) == ("ok", "rust"), info
    assert kernel.ask("comm_info_request", {"target_name": "jupyter.widget"})["comms"] == {}

    first = kernel.start(1, "let x = zeros((2, 3));\nprintln!(\"hello\");\nx.dims().len()")
    outputs = kernel.outputs(first)
    assert outputs == [("stream", "hello\n"), ("execute_result", ["text/plain"])], outputs
    assert kernel.reply(first)["status"] == "ok"
    figure = kernel.start(2, "plot(&[1.0, 2.0], &[&[1.0, 4.0]])")
    assert "image/svg+xml" in kernel.outputs(figure)[0][1], "no figure"
    kernel.reply(figure)

    for typed in ("x.m", "x.ma", "x.mat", "x.matm"):
        completed = kernel.ask("complete_request", {"code": typed, "cursor_pos": len(typed)})
    assert "matmul" in completed["matches"], completed
    until = time.monotonic() + LIMIT / 1000
    while not (shown := kernel.ask("inspect_request", {"code": "x.matmul", "cursor_pos": 8, "detail_level": 0}))["found"]:
        # The kernel still reads the sources.
        assert time.monotonic() < until, shown
    assert "matmul" in shown["data"]["text/plain"], shown

    question = kernel.start(3, "let mut name = String::new();\nstd::io::stdin().read_line(&mut name)?;\nname.trim().len()")
    assert kernel.receive("stdin")["msg_type"] == "input_request"
    answer = kernel.session.msg("input_reply", {"value": "Ada", "status": "ok"})
    kernel.session.send(kernel.sockets["stdin"], answer)
    assert ("execute_result", ["text/plain"]) in kernel.outputs(question)
    kernel.reply(question)

    endless = kernel.start(4, "loop {\n    check_interrupt()?;\n}")
    time.sleep(1)
    interrupt = kernel.send("interrupt_request", {})
    assert kernel.outputs(endless) == [("error", "Interrupted")], "it was not interrupted"
    replies = [kernel.receive("shell") for _ in range(2)]
    assert {reply["parent_header"]["msg_id"] for reply in replies} == {endless, interrupt}, replies
    still = kernel.start(5, "x")
    assert kernel.outputs(still)[0][0] == "execute_result", "the variable is gone"
    kernel.reply(still)


def main() -> int:
    spec = json.loads(Path(sys.argv[1]).read_text())
    assert (spec["language"], spec["interrupt_mode"]) == ("rust", "message"), spec
    with tempfile.TemporaryDirectory() as folder:
        with Kernel(spec, Path(folder)) as kernel:
            run_cells(kernel)
        with Kernel(spec, Path(folder)) as again:
            lost = again.start(1, "x")
            assert again.outputs(lost)[-1][0] == "error", "a new process has old variables"
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
