"""The spare kernel is adopted at start and at restart, and behaves as Jupyter expects."""

import os
import signal
import tempfile
import time
import unittest

import psutil

from kernel_client import Kernel, wait_until
from leftovers import processes, session_folders

# A spare kernel waits for this many minutes.
SHORT = 0.25


def spares() -> list[psutil.Process]:
    """Returns the waiting spare kernels, without those that were adopted."""
    return [process for process in processes() if waits(process)]


def waits(process: psutil.Process) -> bool:
    """Returns whether the process is a spare kernel that was not adopted: it does not listen yet."""
    try:
        connections = process.net_connections("tcp")
        return "__standby" in process.cmdline() and not any(c.status == psutil.CONN_LISTEN for c in connections)
    except psutil.Error:
        return False  # it has just ended


def ready() -> bool:
    """Returns whether there is one spare kernel, and it is ready."""
    waiting = spares()
    return len(waiting) == 1 and len(session_folders()) > 0 and sleeps(waiting[0])


def sleeps(process: psutil.Process) -> bool:
    try:
        before = process.cpu_times()
        time.sleep(0.5)
        after = process.cpu_times()
        children = process.children(recursive=True)
    except psutil.Error:
        return False  # it has just ended
    return after.user - before.user < 0.05 and len(children) >= 2


def cells_process(kernel: Kernel) -> psutil.Process:
    return psutil.Process(int(kernel.run("std::process::id()").value()))


class Standby(unittest.TestCase):
    def setUp(self):
        os.environ["TAPER_STANDBY"] = str(SHORT)
        os.environ["MILK"] = "oat"

    def tearDown(self):
        for spare in spares():
            spare.terminate()
        self.assertTrue(wait_until(lambda: not processes(), 60), processes())

    def start_one(self) -> psutil.Process:
        """Runs a kernel, which starts a spare kernel; returns the process of the spare kernel."""
        with Kernel() as kernel:
            kernel.run("let mine = 1;")
            self.assertTrue(wait_until(ready, 120), spares())
        return spares()[0]

    def test_adoption_is_like_a_start(self):
        spare = self.start_one()
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "TEA": "green", "PATH": os.environ["PATH"] + ":/tea"}
            del environment["MILK"]
            with Kernel(cwd=folder, env=environment) as kernel:
                self.assertIn(spare, cells_process(kernel).parents())
                here = kernel.run("std::env::current_dir()?.to_string_lossy().into_owned()").value()
                self.assertEqual(here, f'"{folder}"')
                self.assertEqual(kernel.run('std::env::var("TEA")?').value(), '"green"')
                self.assertEqual(kernel.run('std::env::var("MILK").is_ok()').value(), "false")
                self.assertEqual(kernel.run('std::env::var("PATH")?.ends_with(":/tea")').value(), "true")
                shell = "!test $TEA = green && test -z $MILK && echo $PATH | grep -q ':/tea$'"
                self.assertEqual(kernel.run(shell).reply["status"], "ok")
                # The variables of the warm-up are gone.
                self.assertEqual(kernel.run("warm").reply["ename"], "CompileError")
                first = kernel.run("let mine = 2;")
                self.assertEqual(first.reply["execution_count"], 8)
                self.restart(kernel)
        self.assertTrue(wait_until(lambda: not spare.is_running()))

    def restart(self, kernel: Kernel) -> None:
        self.assertTrue(wait_until(ready, 120), spares())
        spare = spares()[0]
        kernel.manager.restart_kernel()
        kernel.client.wait_for_ready(timeout=60)
        self.assertIn(spare, cells_process(kernel).parents())
        self.assertEqual(kernel.run("mine").reply["ename"], "CompileError")

    def test_the_kernel_ends_with_its_proxy(self):
        spare = self.start_one()
        with Kernel() as kernel:
            cells = cells_process(kernel)
            request = kernel.client.execute('println!("on");\nloop {}')
            kernel.wait_for_output(request, "stream")
            os.kill(kernel.pid, signal.SIGKILL)
            self.assertTrue(wait_until(lambda: not cells.is_running()))
            self.assertTrue(wait_until(lambda: not spare.is_running()))

    def test_the_proxy_ends_with_the_kernel(self):
        spare = self.start_one()
        with Kernel() as kernel:
            kernel.run("1 + 1")
            spare.kill()
            self.assertTrue(wait_until(lambda: not kernel.manager.is_alive()))

    def test_an_interrupt_reaches_the_cell(self):
        self.start_one()
        with Kernel() as kernel:
            request = kernel.client.execute('println!("on");\nloop { check_interrupt()? }')
            kernel.wait_for_output(request, "stream")
            # Like Ctrl+C in a terminal.
            os.kill(kernel.pid, signal.SIGINT)
            self.assertEqual(kernel.finish(request).reply["ename"], "Interrupted")

    def test_there_is_at_most_one_and_it_ends(self):
        kernels = [Kernel() for _ in range(3)]
        for kernel in kernels:
            kernel.run("1 + 1")
        self.assertTrue(wait_until(ready, 120), spares())
        self.assertEqual(len(spares()), 1)
        for kernel in kernels:
            kernel.stop()
        self.assertTrue(wait_until(lambda: not processes(), 60 * SHORT + 30), processes())

    def test_it_can_be_disabled(self):
        os.environ["TAPER_STANDBY"] = "0"
        with Kernel() as kernel:
            kernel.run("1 + 1")
            time.sleep(4)
            self.assertEqual(spares(), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
