"""The life of kernels: many one after the other, many in parallel, one that is killed."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import psutil

from kernel_client import Kernel, wait_until
from leftovers import open_files, processes, session_folders

# Many kernels take minutes, so only `.ci/nightly` starts them.
MANY = "TAPER_TEST_MANY_KERNELS" in os.environ
CYCLES = 50 if MANY else 5
# The number of parallel kernels, if there is a gigabyte of memory for each.
AT_ONCE = 20 if MANY else 3
GIGABYTE = 1 << 30


class Lives(unittest.TestCase):
    def tearDown(self):
        self.assertTrue(wait_until(lambda: not processes()), processes())

    def test_cycles_leave_nothing(self):
        held = None
        for cycle in range(CYCLES):
            with Kernel() as kernel:
                self.assertEqual(kernel.run(f"{cycle} + 1").value(), str(cycle + 1))
            self.assertEqual(session_folders(), [], f"after {cycle + 1} cycles")
            # In the first cycles the client opens files that it keeps, such as those of its event loop.
            held = open_files() if cycle == 2 else held
        self.assertTrue(wait_until(lambda: not processes()), processes())
        self.assertEqual(open_files(), held)

    def test_many_at_once(self):
        count = max(2, min(AT_ONCE, psutil.virtual_memory().available // GIGABYTE))
        print(f"{count} kernels at once … ", end="", flush=True, file=sys.stderr)
        kernels = []
        try:
            for _ in range(count):
                kernels.append(Kernel())
            cells = [
                kernel.client.execute(f"let mine = {number};\nones(3).sum_all().item()")
                for number, kernel in enumerate(kernels)
            ]
            for kernel, cell in zip(kernels, cells):
                self.assertEqual(kernel.finish(cell).value(), "3.0")
            for number, kernel in enumerate(kernels):
                self.assertEqual(kernel.run("mine").value(), str(number))
            self.assertEqual(len(session_folders()), count)
        finally:
            for kernel in kernels:
                kernel.stop()
        self.assertEqual(session_folders(), [])

    def test_a_kernel_speaks_the_language_of_its_course(self):
        with tempfile.TemporaryDirectory() as folder:
            translations = {
                "lists the commands": "liste les commandes",
                "a comment begins with `//`.": "un commentaire commence par `//`.",
            }
            Path(folder, ".taper-hints.json").write_text(json.dumps(translations))
            with Kernel(cwd=folder) as kernel:
                commands = kernel.run(":help").value()
                # What is not translated is English.
                self.assertRegex(commands, "(?s):help +liste les commandes\n.*lists the variables")
                failed = kernel.run("# a comment").published[-1]["content"]
                self.assertIn("un commentaire commence par `//`.", "\n".join(failed["traceback"]))

    def test_a_killed_kernel_leaves_the_image_intact(self):
        with tempfile.TemporaryDirectory() as folder:
            with Kernel(cwd=folder) as kernel:
                request = kernel.client.execute('println!("on");\nloop {}')
                kernel.wait_for_output(request, "stream")
                os.kill(kernel.pid, signal.SIGKILL)
                self.assertTrue(wait_until(lambda: not kernel.manager.is_alive()))
            self.assertTrue(wait_until(lambda: not processes()), processes())
            left = session_folders()
            self.assertEqual(len(left), 1)
            with Kernel(cwd=folder) as kernel:
                self.assertEqual(kernel.run("6 * 7").value(), "42")
                self.assertNotIn(left[0], session_folders())
                # `doctor` compares every file of the image with the built one.
                said = subprocess.run([program(kernel), "doctor"], capture_output=True, text=True)
                self.assertRegex(said.stdout, r"ok +compiled packages: complete, every file as it was built")
            self.assertEqual(list(Path(folder).iterdir()), [])


def program(kernel: Kernel) -> str:
    return kernel.manager.kernel_spec.argv[0]


if __name__ == "__main__":
    unittest.main(verbosity=2)
