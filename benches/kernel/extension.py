#!/usr/bin/env python3
"""Measures what the extension of JupyterLab costs the kernel: two kernels run the same cells in turns, and one of them does
what the extension asks for.

    JUPYTER_PATH=… python3 benches/kernel/extension.py [--cells 60]

Needs jupyter_client and a registered kernel: JUPYTER_PATH is the `share/jupyter` of the environment that `taper setup`
makes.
"""

import argparse
import statistics
import time
import uuid

from jupyter_client.manager import start_new_kernel


class Kernel:
    def __init__(self, with_extension: bool) -> None:
        self.manager, self.client = start_new_kernel(kernel_name="taper")
        self.with_extension = with_extension
        self.comm = uuid.uuid4().hex
        self.times: list[float] = []
        if with_extension:
            self.send("comm_open", {"comm_id": self.comm, "target_name": "taper.stale", "data": {"cells": []}})

    def send(self, kind: str, content: dict, cell: str | None = None) -> str:
        message = self.client.session.msg(kind, content)
        message["metadata"] = {"cellId": cell} if cell else {}
        self.client.shell_channel.send(message)
        return message["header"]["msg_id"]

    def run(self, code: str, number: int) -> None:
        """Runs a cell, and keeps the time until its request is idle."""
        cell = f"cell-{number}"
        content = {"code": code, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False}
        began = time.monotonic()
        request = self.send("execute_request", content, cell)
        while True:
            message = self.client.get_iopub_msg(timeout=120)
            is_answer = message["parent_header"].get("msg_id") == request
            if is_answer and message["msg_type"] == "error":
                raise SystemExit("\n".join(message["content"]["traceback"]))
            if is_answer and message["content"].get("execution_state") == "idle":
                break
        self.times.append(time.monotonic() - began)
        if self.with_extension:
            order = [f"cell-{n}" for n in range(number + 1)]
            self.send("comm_msg", {"comm_id": self.comm, "data": {"received": cell}})
            self.send("comm_msg", {"comm_id": self.comm, "data": {"cells": order}})

    def memory(self) -> float:
        """Returns the memory of the kernel and its processes in megabytes."""
        self.client.control_channel.send(self.client.session.msg("usage_request", {}))
        return self.client.get_control_msg(timeout=60)["content"]["kernel_memory"] / 1e6

    def end(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cells", type=int, default=60)
    count = parser.parse_args().cells
    kernels = [Kernel(False), Kernel(True)]
    for number in range(count):
        for index, kernel in enumerate(kernels):
            # Not the same for both: the cache would have the cell of the second one.
            kernel.run(f"let x{number} = {2 * number + index};\nprintln!(\"{{}}\", x{number});", number)
            time.sleep(0.2)
    time.sleep(2)
    for name, kernel in zip(["without the extension", "with it"], kernels):
        times = sorted(1000 * time for time in kernel.times[5:])
        ninety = times[int(0.9 * len(times))]
        print(f"{name:24} median {statistics.median(times):6.1f} ms   90 % {ninety:6.1f} ms   memory {kernel.memory():6.1f} MB")
        kernel.end()


if __name__ == "__main__":
    main()
