"""nbgrader's configuration for Rust: put this file into the folder of the course.

In a solution cell, `// BEGIN SOLUTION` and `// END SOLUTION` enclose what students do not see. A cell with tests scores
no points if it ends with an error. Otherwise it scores the value of its last expression if that is a floating-point
number or an integer, and all its points if not.

A submission's cell that would change what the tests mean is not executed, and feedback contains no hidden test, nor an
output from which it could be guessed.
"""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import nbformat
from jupyter_core.paths import jupyter_runtime_dir
from nbconvert.preprocessors import ClearMetadataPreprocessor, CSSHTMLHeaderPreprocessor
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    ClearHiddenTests,
    Execute,
    GetGrades,
    IgnorePattern,
    LimitOutput,
    SaveAutoGrades,
)

COURSE = Path.cwd()


def refused(notebook, assignment: Path) -> dict[int, str]:
    """Returns the cells that must not be executed, by index, with the reason."""
    store = os.environ.get("TAPER_STORE")
    taper = os.path.join(store, "bin/taper") if store else shutil.which("taper")
    assert taper, "the command taper is not on the PATH: without it, submissions cannot be graded"
    with tempfile.NamedTemporaryFile("w", suffix=".ipynb") as file:
        nbformat.write(notebook, file)
        file.flush()
        command = [taper, "test", "--refused", "--grade", str(assignment), file.name]
        answer = subprocess.run(command, text=True, capture_output=True, timeout=60, check=False)
    assert answer.returncode == 0, f"{' '.join(command)}: {answer.stderr}"
    return {int(index): reason for index, reason in json.loads(answer.stdout).items()}


class ExecuteChecked(Execute):
    """Executes the cells of a submission, except for those that `taper test --grade` does not run either."""

    def preprocess(self, nb, resources, *arguments, **options):
        names = resources["nbgrader"]
        self.refused = refused(nb, COURSE / "source" / names["assignment"] / f"{names['notebook']}.ipynb")
        for cell in nb.cells:
            # Such as `skip-execution`: a test that is not executed would score all its points.
            cell.metadata.pop("tags", None)
        return super().preprocess(nb, resources, *arguments, **options)

    def preprocess_cell(self, cell, resources, index):
        reason = self.refused.get(index)
        if reason is None:
            return super().preprocess_cell(cell, resources, index)
        text = f"grading does not run this cell: {reason}"
        cell.outputs = [nbformat.v4.new_output("error", ename="Refused", evalue=text, traceback=[text])]
        return cell, resources


class HideTests(ClearHiddenTests):
    """Removes the hidden tests from the feedback, and all outputs from the first hidden test on.

    A solution sees the values with which a hidden test calls it, and can print them or keep them for a later cell.
    """

    def preprocess(self, nb, resources):
        self.seen = False
        return super().preprocess(nb, resources)

    def preprocess_cell(self, cell, resources, cell_index):
        if cell.cell_type != "code":
            return cell, resources
        self.seen |= self.begin_test_delimeter in cell.source
        cell, resources = super().preprocess_cell(cell, resources, cell_index)
        if self.seen and cell.outputs:
            failed = any(output.output_type == "error" for output in cell.outputs)
            text = "The cell failed." if failed else "The cell ended without an error."
            text += " Outputs are left out from the first hidden test on.\n"
            cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=text)]
        return cell, resources


c = get_config()  # noqa: F821 (nbgrader defines it)

c.ClearSolutions.code_stub = {"rust": "todo!() // YOUR CODE HERE"}
# nbgrader treats text on standard error as a failure, but progress and `eprintln!` are not failures.
c.IgnorePattern.enabled = True
c.IgnorePattern.pattern = ".*"
# nbgrader's own lists, with the two classes above.
c.Autograde.autograde_preprocessors = [
    ExecuteChecked,
    IgnorePattern,
    ClearMetadataPreprocessor,
    LimitOutput,
    SaveAutoGrades,
    AssignLatePenalties,
    CheckCellMetadata,
]
c.GenerateFeedback.preprocessors = [GetGrades, HideTests, CSSHTMLHeaderPreprocessor]
c.Execute.timeout = 300
c.Execute.startup_timeout = 300
# A submission that never ends costs one timeout, not one for each of its cells.
c.Execute.interrupt_on_timeout = True
# Sockets that only the kernel's user can open, and that need no network. By default they would be in the current folder,
# which is not the same for the kernel.
c.KernelManager.transport = "ipc"
c.KernelManager.ip = os.path.join(jupyter_runtime_dir(), f"nbgrader-{os.getpid()}")
