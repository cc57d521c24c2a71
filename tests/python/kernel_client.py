"""Helpers of the kernel's tests: a kernel, and exchanges with it, message by message."""

import time
from dataclasses import dataclass, field

from jupyter_client.manager import KernelManager
from jupyter_kernel_test.msgspec_v5 import schema_fragments, validate_message

# The limit for each reply, also on a slow machine.
LIMIT = 300.0


@dataclass
class Exchange:
    """The reply to a request, and the messages that it published between `busy` and `idle`."""

    reply: dict
    published: list[dict] = field(default_factory=list)

    def outline(self) -> list[tuple]:
        """Returns a summary of each published message: its type and the relevant content."""
        return [in_short(message["msg_type"], message["content"]) for message in self.published]

    def value(self) -> str | None:
        """Returns the text of the cell's value."""
        values = [m["content"]["data"] for m in self.published if m["msg_type"] == "execute_result"]
        return values[-1]["text/plain"] if values else None


def in_short(kind: str, content: dict) -> tuple:
    match kind:
        case "stream":
            return (content["name"], content["text"])
        case "display_data" | "update_display_data" | "execute_result":
            return (kind, content["data"].get("text/plain"))
        case "error":
            return (kind, content["ename"])
        case "execute_input":
            return (kind, content["execution_count"])
    return (kind,)


class Kernel:
    """A kernel named `taper` with one client. Use it in a `with` statement."""

    def __init__(self, **options) -> None:
        self.manager = KernelManager(kernel_name="taper")
        self.manager.start_kernel(**options)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=LIMIT)
        self.published: dict[str, list[dict]] = {}

    def __enter__(self) -> "Kernel":
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    def stop(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=False)
        self.manager.cleanup_resources()

    @property
    def pid(self) -> int:
        return self.manager.provisioner.pid

    def ask(self, kind: str, *arguments, **options) -> Exchange:
        """Sends a request and waits for its reply and its published messages."""
        return self.finish(getattr(self.client, kind)(*arguments, **options))

    def run(self, code: str, **options) -> Exchange:
        return self.ask("execute", code, **options)

    def finish(self, request: str) -> Exchange:
        """Waits for the reply to a request that was sent, and for its `idle`."""
        reply = self.reply(request)
        while not ends(self.published.get(request)):
            self.read_publication()
        first, *published, _ = self.published.pop(request)
        assert first["content"] == {"execution_state": "busy"}, first
        return Exchange(reply, published)

    def reply(self, request: str) -> dict:
        """Returns the content of the next reply. In these tests, replies arrive in the order of the requests."""
        message = self.client.get_shell_msg(timeout=LIMIT)
        # A client that waits for a kernel sends several `kernel_info_request`s.
        while message["msg_type"] == "kernel_info_reply" and message["parent_header"]["msg_id"] != request:
            message = self.client.get_shell_msg(timeout=LIMIT)
        check(message, request)
        return message["content"]

    def read_publication(self) -> dict:
        message = self.client.get_iopub_msg(timeout=LIMIT)
        cause = message["parent_header"].get("msg_id", "")
        check(message, cause)
        self.published.setdefault(cause, []).append(message)
        return message

    def wait_for_output(self, request: str, kind: str) -> dict:
        """Returns the first message of this type that a running request publishes."""
        while True:
            for message in self.published.get(request, []):
                if message["msg_type"] == kind:
                    return message
            self.read_publication()


def check(message: dict, cause: str) -> None:
    """Validates a message, if Jupyter's own tests have a schema for it."""
    kind = message["msg_type"]
    # They have none for messages without a parent and for the status `aborted`.
    known = cause and kind in schema_fragments and message["content"].get("status") != "aborted"
    if known:
        validate_message(message, kind, cause)
    else:
        assert message["parent_header"].get("msg_id", "") == cause, message


def ends(published: list[dict] | None) -> bool:
    return bool(published) and published[-1]["content"] == {"execution_state": "idle"}


def wait_until(holds, limit: float = 30.0) -> bool:
    """Returns whether the condition becomes true within the limit."""
    end = time.monotonic() + limit
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
