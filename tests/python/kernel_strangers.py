"""Unauthenticated and malformed messages to a kernel's sockets: none is executed, and the kernel keeps working."""

import copy
import json
import os
import socket
import tempfile
import unittest
from pathlib import Path

import zmq
from jupyter_client.session import Session

from kernel_client import LIMIT, Kernel

HUGE = 64 << 20
DELIMITER = b"<IDS|MSG>"


class Stranger:
    """A separate socket to one of the kernel's channels."""

    def __init__(self, info: dict, channel: str) -> None:
        self.session = Session(key=info["key"])
        self.socket = zmq.Context.instance().socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.rcvtimeo = int(LIMIT * 1000)
        self.socket.connect(f"tcp://{info['ip']}:{info[f'{channel}_port']}")

    def send(self, *frames: bytes) -> None:
        self.socket.send_multipart(frames)

    def message(self, kind: str, content: dict) -> list[bytes]:
        """Returns the frames of a correctly signed message."""
        return self.session.serialize(self.session.msg(kind, content))

    def cell(self, code: str) -> list[bytes]:
        content = dict(code=code, silent=False, store_history=True, user_expressions={}, allow_stdin=False)
        return self.message("execute_request", content)

    def replies(self) -> list[str]:
        """Returns the types of the replies so far. Sends a last request, whose reply shows that all earlier
        messages have been read."""
        self.send(*self.message("kernel_info_request", {}))
        kinds = []
        while not kinds or kinds[-1] != "kernel_info_reply":
            kinds.append(self.receive())
        return kinds[:-1]

    def receive(self) -> str:
        """Returns the type of the next reply."""
        _, frames = self.session.feed_identities(self.socket.recv_multipart())
        return json.loads(frames[1])["msg_type"]


class Strangers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kernel = Kernel()
        cls.addClassCleanup(cls.kernel.stop)
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.kernel.run("")

    def setUp(self):
        self.info = self.kernel.manager.get_connection_info()
        self.count = self.kernel.run("1").reply["execution_count"]
        self.evidence = self.folder / self.id()
        self.evidence.touch()

    def tearDown(self):
        """Checks that the kernel is alive and that no other cell was run."""
        self.assertEqual(self.kernel.run("1").reply["execution_count"], self.count + 1)
        self.assertTrue(self.kernel.client.is_alive())

    def test_a_subscriber_that_does_not_read_delays_no_other(self):
        silent = self.subscriber(zmq.RCVHWM, 1)
        readers = [self.subscriber(zmq.RCVHWM, 0) for _ in range(3)]
        text = 'format!("{i} {}", "x".repeat(1000))'
        code = f"for i in 0..5000 {{ display(&MimeBundle::text({text})); }}"
        shown = self.kernel.run(code, store_history=False).outline()
        self.assertEqual(sum(kind == "display_data" for kind, *_ in shown), 5000)
        for reader in readers:
            seen = 0
            while seen < 5000:
                seen += b"display_data" in reader.recv_multipart()[0]
            reader.close()
        silent.close()

    def subscriber(self, option: int, value: int) -> zmq.Socket:
        """Returns a socket that has subscribed to all outputs."""
        subscriber = zmq.Context.instance().socket(zmq.SUB)
        subscriber.setsockopt(option, value)
        subscriber.linger = 0
        subscriber.rcvtimeo = int(LIMIT * 1000)
        subscriber.subscribe(b"")
        subscriber.connect(f"tcp://{self.info['ip']}:{self.info['iopub_port']}")
        # The welcome shows that the kernel knows the subscription. Its topic is what was subscribed to.
        while json.loads(subscriber.recv_multipart()[3])["msg_type"] != "iopub_welcome":
            pass
        return subscriber

    def leave_evidence(self) -> str:
        """Returns a cell that writes to a file that it was run."""
        path = json.dumps(str(self.evidence))
        return f'use std::io::Write;\nwriteln!(std::fs::File::options().append(true).open({path})?, "run")?;'

    def times_run(self) -> int:
        return len(self.evidence.read_text().splitlines())

    def strangers(self) -> list[Stranger]:
        strangers = [Stranger(self.info, channel) for channel in ("shell", "control")]
        for stranger in strangers:
            self.addCleanup(stranger.socket.close)
        return strangers

    def test_malformed_messages(self):
        for stranger in self.strangers():
            sign = stranger.session.sign
            for frames in [
                [b""],
                [b"rubbish"],
                [DELIMITER],
                [DELIMITER, b""],
                [DELIMITER, b"", b"{}", b"{}", b"{}"],
                [DELIMITER, b"not hexadecimal", b"{}", b"{}", b"{}", b"{}"],
                [b"a", b"b", DELIMITER, DELIMITER, b"{}", b"{}", b"{}", b"{}"],
                *([DELIMITER, sign([part] * 4), *[part] * 4] for part in (b"", b"{", b"{}", b"[]", b"null", b"\xff\0")),
                [os.urandom(1000) for _ in range(100)],
            ]:
                stranger.send(*frames)
            self.assertEqual(stranger.replies(), [])

    def test_malformed_content(self):
        """The messages are signed, so they get a reply."""
        for stranger in self.strangers():
            for content in [{}, {"code": 7}, {"code": None, "silent": "yes"}]:
                stranger.send(*stranger.message("execute_request", content))
                self.assertEqual(stranger.replies(), ["execute_reply"])

    def test_unsigned_cells(self):
        for stranger in self.strangers():
            cell = stranger.cell(self.leave_evidence())
            another = Session(key=b"another key")
            changed = copy.copy(cell)
            changed[5] = cell[5].replace(b"run", b"RUN")
            for frames in [
                [DELIMITER, b"", *cell[2:]],
                [DELIMITER, b"0" * 64, *cell[2:]],
                [DELIMITER, another.sign(cell[2:]), *cell[2:]],
                [DELIMITER, cell[1][:32], *cell[2:]],
                [DELIMITER, *cell[2:]],
                changed,
            ]:
                stranger.send(*frames)
            self.assertEqual(stranger.replies(), [])
        self.assertEqual(self.times_run(), 0)

    def test_a_replayed_cell(self):
        shell, control = self.strangers()
        cell = shell.cell(self.leave_evidence())
        shell.send(*cell)
        self.assertEqual(shell.receive(), "execute_reply")
        # It was run. Now it is sent again, also from another socket.
        another = Stranger(self.info, "shell")
        self.addCleanup(another.socket.close)
        for stranger in (shell, another, control):
            stranger.send(*cell)
        for stranger in (shell, another, control):
            self.assertEqual(stranger.replies(), [])
        self.kernel.run("1")
        self.assertEqual(self.times_run(), 1)
        self.count += 2

    def test_huge_messages(self):
        huge = b"x" * HUGE
        for stranger in self.strangers():
            cell = stranger.cell(f"// {huge.decode()}")
            stranger.send(huge)
            stranger.send(DELIMITER, b"", b"{}", b"{}", b"{}", huge)
            stranger.send(DELIMITER, b"0" * 64, *cell[2:])
            stranger.send(*([huge[: HUGE // 1000]] * 1000))
            self.assertEqual(stranger.replies(), [])

    def test_clients_without_the_protocol(self):
        for channel in ("shell", "control", "stdin", "iopub", "hb"):
            address = (self.info["ip"], self.info[f"{channel}_port"])
            for noise in (b"", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\xff", os.urandom(1 << 20)):
                with socket.create_connection(address, timeout=10) as connection:
                    try:
                        connection.sendall(noise)
                    except OSError:
                        pass  # The kernel has closed the connection.
        for stranger in self.strangers():
            self.assertEqual(stranger.replies(), [])
        self.assertTrue(self.kernel.client.hb_channel.is_beating())


if __name__ == "__main__":
    unittest.main(verbosity=2)
