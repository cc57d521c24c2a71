"""Measures a kernel through Jupyter's client."""

import os
import subprocess
import time
from collections.abc import Iterator
from queue import Empty

import psutil
from jupyter_client.manager import KernelManager

from peers import NOTEBOOK, Peer

# The limits for each message, in seconds. The cold stock kernel compiles for minutes.
LIMIT = {"stock": 1800}
OTHER_LIMIT = 60


class Silent(Exception):
    """The kernel sent no message within the limit: ipykernel loses one now and then."""


class Kernel:
    """A running kernel. Use it in a `with` statement."""

    def __init__(self, peer: Peer) -> None:
        self.peer = peer
        peer.prepare(peer)
        self.began = time.monotonic()
        self.manager = KernelManager(kernel_name=peer.kernel)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.manager.start_kernel(cwd=NOTEBOOK.parent, env=os.environ | peer.environment, **quiet)
        self.client = self.manager.client()
        self.client.start_channels()
        self.wait_until_subscribed()

    def __enter__(self) -> "Kernel":
        return self

    def __exit__(self, *_) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=False)
        self.manager.cleanup_resources()

    def restart(self) -> None:
        """Restarts the kernel as *Restart Kernel* does."""
        self.peer.prepare(self.peer)
        self.began = time.monotonic()
        self.manager.restart_kernel(now=False)
        self.wait_until_subscribed()

    def wait_until_subscribed(self) -> None:
        """Sends requests until their publications arrive: then no later message is missed."""
        while not self.publishes_for(self.client.kernel_info()):
            self.manager.is_alive() or fail(f"{self.peer.name}: the kernel has ended")

    def publishes_for(self, request: str) -> bool:
        """Returns whether this request, and not an earlier one, publishes a message soon."""
        try:
            while self.client.get_iopub_msg(timeout=0.05)["parent_header"].get("msg_id") != request:
                pass
            return True
        except Empty:
            return False

    def first_tensor(self) -> float:
        """Returns the seconds from start, or restart, to the first printed tensor."""
        *setup, tensor = self.peer.first_cells
        for code in setup:
            self.run(code)
        for message in self.messages(tensor):
            if message["msg_type"] == "stream" and "tensor" in message["content"]["text"]:
                taken = time.monotonic() - self.began
        return taken

    def run(self, code: str) -> float:
        """Returns the seconds from sending a cell to its end."""
        began = time.monotonic()
        for _ in self.messages(code):
            pass
        return time.monotonic() - began

    def messages(self, code: str) -> Iterator[dict]:
        """Yields the messages that a cell publishes. A failing cell ends the measurement."""
        request = self.client.execute(code)
        limit = LIMIT.get(self.peer.kernel, OTHER_LIMIT)
        while True:
            message = self.next_message(limit)
            if message is None:
                raise Silent(f"{self.peer.name} has sent no message for {limit} s in\n{code}")
            if message["parent_header"].get("msg_id") != request:
                continue
            if message["msg_type"] == "error":
                fail(f"{self.peer.name}: {code}\n" + "\n".join(message["content"]["traceback"]))
            yield message
            if message["content"].get("execution_state") == "idle":
                return

    def next_message(self, limit: float) -> dict | None:
        """Returns the next published message, or `None` after this many seconds."""
        end = time.monotonic() + limit
        while time.monotonic() < end:
            try:
                return self.client.get_iopub_msg(timeout=2)
            except Empty:
                self.manager.is_alive() or fail(f"{self.peer.name}: the kernel has ended")
        return None

    def memory(self) -> int:
        """Returns the memory of the kernel and all processes that it has started, in bytes, when they are idle.

        The sum of the PSS of each process: a page that several processes share is divided among them.
        """
        for _ in range(30):
            before = self.processor_seconds()
            time.sleep(1)
            if self.processor_seconds() - before < 0.05:
                break
        return sum(proportional_size(process.pid) for process in self.processes())

    def processes(self) -> list[psutil.Process]:
        kernel = psutil.Process(self.manager.provisioner.pid)
        return [kernel, *kernel.children(recursive=True)]

    def processor_seconds(self) -> float:
        times = [process.cpu_times() for process in self.processes()]
        return sum(time.user + time.system for time in times)


def proportional_size(pid: int) -> int:
    with open(f"/proc/{pid}/smaps_rollup") as rollup:
        return sum(int(line.split()[1]) << 10 for line in rollup if line.startswith("Pss:"))


def fail(why: str) -> None:
    raise SystemExit(f"error: {why}")
