"""nbgrader's configuration for Rust: put this file into the folder of the course.

In a solution cell, `// BEGIN SOLUTION` and `// END SOLUTION` enclose what students do not see. A cell with tests scores
no points if it ends with an error. Otherwise it scores the value of its last expression if that is a floating-point
number or an integer, and all its points if not.
"""

import os

from jupyter_core.paths import jupyter_runtime_dir

c = get_config()  # noqa: F821 (nbgrader defines it)

c.ClearSolutions.code_stub = {"rust": "todo!() // YOUR CODE HERE"}
# nbgrader treats text on standard error as a failure, but progress and `eprintln!` are not failures.
c.IgnorePattern.enabled = True
c.IgnorePattern.pattern = ".*"
c.Execute.timeout = 300
c.Execute.startup_timeout = 300
# A submission that never ends costs one timeout, not one for each of its cells.
c.Execute.interrupt_on_timeout = True
# Sockets that only the kernel's user can open, and that need no network. By default they would be in the current folder,
# which is not the same for the kernel.
c.KernelManager.transport = "ipc"
c.KernelManager.ip = os.path.join(jupyter_runtime_dir(), f"nbgrader-{os.getpid()}")
