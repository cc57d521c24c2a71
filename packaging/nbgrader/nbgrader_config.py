"""nbgrader's configuration for Rust: put this file into the folder of the course.

In a solution cell, `// BEGIN SOLUTION` and `// END SOLUTION` enclose what students do not see. A cell with tests scores
no points if it ends with an error. Otherwise it scores the value of its last expression if that is a floating-point
number or an integer, and all its points if not.

The points are those of `taper test --grade`, with the same reasons: it makes the notebook that runs in place of a
submission, whatever a student or a tool has done to it, and reads the points from the outputs. A submission's cell that
would change what the tests mean is not executed, and feedback contains no hidden test, nor an output from which it could
be guessed.
"""

import functools
import io
import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path

import nbformat
from jupyter_core.paths import jupyter_runtime_dir
from nbclient.exceptions import DeadKernelError
from nbconvert.exporters import NotebookExporter
from nbconvert.preprocessors import ClearMetadataPreprocessor, CSSHTMLHeaderPreprocessor
from nbgrader.apps import autogradeapp
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.exchange.default import ExchangeCollect
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    ClearHiddenTests,
    Execute,
    GetGrades,
    IgnorePattern,
    LimitOutput,
    OverwriteCells,
    OverwriteKernelspec,
    SaveAutoGrades,
)
from nbgrader.utils import determine_grade, ignore_patterns

COURSE = Path.cwd()


def ask_taper(option: str, names: dict, notebook: Path) -> dict:
    """Returns the answer of `taper test --grade` about a submission."""
    store = os.environ.get("TAPER_STORE")
    taper = os.path.join(store, "bin/taper") if store else shutil.which("taper")
    assert taper, "the command taper is not on the PATH: without it, submissions cannot be graded"
    assignment = COURSE / "source" / names["assignment"] / f"{names['notebook']}.ipynb"
    command = [taper, "test", option, "--grade", str(assignment), str(notebook)]
    answer = subprocess.run(command, text=True, capture_output=True, timeout=60, check=False)
    assert answer.returncode == 0, f"{' '.join(command)}: {answer.stderr}"
    return json.loads(answer.stdout)


class CollectFiles(ExchangeCollect):
    """Collects what students have written, and not what links of theirs lead to: the teacher can read the assignment with its
    solutions and the submissions of others. A link becomes an empty file, which earns nothing."""

    def do_copy(self, src, dest, log=None):
        course = self.coursedir
        limits = {"exclude": course.ignore, "include": course.include, "max_file_size": course.max_file_size}
        # A student may put a link in the place of a file at any time.
        copy = functools.partial(shutil.copy2, follow_symlinks=False)
        if os.path.islink(src) or self.get_size(src) > 1000 * course.max_dir_size:
            self.log.error("The submission %s is a link, or too large: it was not collected", src)
            os.makedirs(dest)
            return
        ignored = ignore_patterns(log=self.log, **limits)
        shutil.copytree(src, dest, symlinks=True, ignore=ignored, copy_function=copy)
        for path in Path(dest).rglob("*"):
            if path.is_symlink():
                path.unlink()
                path.touch()
                self.log.error("In the submission %s, %s is a link: it was not collected", src, path.name)


def note_failure(converter: Autograde, student: str, why: str) -> None:
    """Remembers a submission that could not be run to its end."""
    # nbgrader reads this file more than once, so a variable of the file would not be that of the converter.
    vars(converter).setdefault("failed", {})[student] = why


class AutogradeAll(Autograde):
    """Grades all submissions, and fails at the end if one of them could not be run."""

    def convert_notebooks(self):
        try:
            super().convert_notebooks()
        finally:
            failed = vars(self).get("failed", {})
            for student, why in failed.items():
                self.log.error("The submission of '%s' could not be run: %s", student, why)
        if failed:
            raise NbGraderException("some submissions could not be run")


class PreparedExporter(NotebookExporter):
    """Reads, in place of a submission, the notebook that taper makes of it."""

    def from_file(self, file_stream, resources=None, **options):
        # The second time, the cells are read to be executed.
        if self.parent._sanitizing:
            notebook = ask_taper("--prepare", resources["nbgrader"], Path(file_stream.name))
            if why := notebook["metadata"]["grading"]["unreadable"]:
                note_failure(self.parent, resources["nbgrader"]["student"], why)
            file_stream = io.StringIO(json.dumps(notebook))
        return super().from_file(file_stream, resources=resources, **options)


class ExecuteChecked(Execute):
    """Executes the cells of a submission, except for those that `taper test --grade` does not run either."""

    def preprocess(self, nb, resources, *arguments, **options):
        limit = f"the cell was stopped after {self.timeout} s, the time limit of a cell"
        self.error_on_timeout = {"ename": "TimeLimit", "evalue": limit, "traceback": [limit]}
        self.ended = None
        nb, resources = super().preprocess(nb, resources, *arguments, **options)
        if self.ended:
            # The parent of a preprocessor is the exporter.
            note_failure(self.parent.parent, resources["nbgrader"]["student"], self.ended)
        return nb, resources

    def preprocess_cell(self, cell, resources, index):
        if cell.cell_type != "code" or "refused" in cell.metadata.get("grading", {}):
            return cell, resources
        try:
            if not self.ended:
                return super().preprocess_cell(cell, resources, index)
        except DeadKernelError:
            self.ended = "the kernel ended, because of its memory or at the time limit of a submission"
        cell.outputs = [nbformat.v4.new_output("error", ename="KernelEnded", evalue=self.ended, traceback=[self.ended])]
        return cell, resources


class SaveScores(SaveAutoGrades):
    """Saves the points that `taper test --grade` finds, and adds them with their reason to the outputs."""

    def preprocess(self, nb, resources):
        with tempfile.NamedTemporaryFile("w", suffix=".ipynb") as file:
            nbformat.write(nb, file)
            file.flush()
            self.scores = ask_taper("--score", resources["nbgrader"], Path(file.name))
        return super().preprocess(nb, resources)

    def _add_score(self, cell, resources):
        name = cell.metadata.nbgrader["grade_id"]
        grade = self.gradebook.find_grade(name, self.notebook_id, self.assignment_id, self.student_id)
        score = self.scores[name]
        # Without points, a teacher decides them: unless the cell is as the student received it.
        grade.auto_score = determine_grade(cell)[0] if score["points"] is None else score["points"]
        grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
        self.gradebook.db.commit()
        if score["is_odd"]:
            self.log.warning("The test '%s' is wrong. For '%s': %s", name, self.student_id, score["text"])
        if score["text"] and cell.cell_type == "code":
            data, metadata = {"text/plain": score["text"]}, {"grading": {"open": score["open"]}}
            cell.outputs.append(nbformat.v4.new_output("display_data", data=data, metadata=metadata))


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
            metadata = [output.get("metadata", {}) for output in cell.outputs]
            text += "".join(of["grading"]["open"] + "\n" for of in metadata if "grading" in of)
            cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text=text)]
        return cell, resources


c = get_config()  # noqa: F821 (nbgrader defines it)

c.ExchangeFactory.collect = CollectFiles
c.ClearSolutions.code_stub = {"rust": "todo!() // YOUR CODE HERE"}
# nbgrader treats text on standard error as a failure, but progress and `eprintln!` are not failures.
c.IgnorePattern.enabled = True
c.IgnorePattern.pattern = ".*"
autogradeapp.Autograde = AutogradeAll
c.Autograde.exporter_class = PreparedExporter
# nbgrader's own lists, with the classes above.
c.Autograde.sanitize_preprocessors = [OverwriteKernelspec, OverwriteCells, CheckCellMetadata]
c.Autograde.autograde_preprocessors = [
    ExecuteChecked,
    IgnorePattern,
    ClearMetadataPreprocessor,
    LimitOutput,
    SaveScores,
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
