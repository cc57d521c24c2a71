"""nbgrader's cycle: an assignment is generated, released, fetched, submitted, collected, graded and returned."""

import csv
import json
import os
import pwd
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ASSIGNMENT = "areas"
RIGHT = {"area": "width * height", "doubled": "x * 2.0"}
HALF = {"area": "width * height", "doubled": "x * 3.0"}
WRONG = {"area": "width + height", "doubled": "todo!()"}


class Course:
    """The course of a class, and its teacher."""

    def __init__(self, folder: Path) -> None:
        settings = json.loads((folder / "class.json").read_text())
        self.folder, self.teacher = folder, settings["teacher"]
        self.path = folder / "course" / settings["course"]

    def release(self) -> None:
        """Makes the assignment and releases it."""
        source = self.path / "source" / ASSIGNMENT
        source.mkdir(parents=True)
        shutil.copy(HERE / "areas.ipynb", source)
        subprocess.run(["chown", "-R", f"{self.teacher}:", self.path], check=True)
        for step in ["generate_assignment", "release_assignment"]:
            self.as_teacher("nbgrader", step, ASSIGNMENT)

    def submit(self, student: str, solution: dict[str, str], more: list[str] | None = None) -> None:
        """Fetches the assignment, writes the solution over the stubs and further cells before them, and submits it."""
        home = Path(pwd.getpwnam(student).pw_dir)
        self.nbgrader(student, home, "fetch_assignment", ASSIGNMENT)
        file = home / ASSIGNMENT / "areas.ipynb"
        notebook = json.loads(file.read_text())
        for cell in notebook["cells"]:
            cell["source"] = "".join(cell["source"])
            assert "BEGIN" not in cell["source"], cell
            stub = "todo!() // YOUR CODE HERE"
            if cell["id"] in solution:
                assert stub in cell["source"], cell
                cell["source"] = cell["source"].replace(stub, solution[cell["id"]])
        for number, code in enumerate(more or []):
            cell = dict(cell_type="code", id=f"more{number}", metadata={}, execution_count=None, outputs=[], source=code)
            notebook["cells"].insert(1 + number, cell)
        file.write_text(json.dumps(notebook))
        self.nbgrader(student, home, "submit", ASSIGNMENT)

    def grade(self) -> dict[str, float]:
        """Collects and grades what was submitted; returns the points of each student."""
        self.as_teacher("nbgrader", "collect", ASSIGNMENT)
        self.as_teacher("grade", ASSIGNMENT)
        for step in ["generate_feedback", "release_feedback"]:
            self.as_teacher("nbgrader", step, ASSIGNMENT)
        self.as_teacher("nbgrader", "export")
        with open(self.path / "grades.csv") as table:
            return {row["student_id"]: float(row["score"]) for row in csv.DictReader(table)}

    def fetch_feedback(self, student: str) -> list[Path]:
        """Returns the files of the feedback that the student gets."""
        home = Path(pwd.getpwnam(student).pw_dir)
        self.nbgrader(student, home, "fetch_feedback", ASSIGNMENT)
        return list((home / ASSIGNMENT / "feedback").rglob("*.html"))

    def printed(self, student: str) -> str:
        """Returns what the cells of a graded submission printed, with their errors."""
        return "".join(texts((self.path / "autograded" / student / ASSIGNMENT / "areas.ipynb").read_text()))

    def as_teacher(self, *command: str, check: bool = True) -> subprocess.CompletedProcess:
        """Runs a command as the teacher types it: after `source teacher.sh`, in a shell that has no other variables."""
        script = f'source "{self.folder}/teacher.sh" && exec "$@"'
        path = {"PATH": "/usr/local/bin:/usr/bin:/bin"}
        return self.run_as(self.teacher, Path("/"), path, "bash", "-c", script, "bash", *command, check=check)

    def nbgrader(self, name: str, folder: Path, *arguments: str) -> None:
        variables = {"PATH": "/usr/bin:/bin", "JUPYTER_CONFIG_PATH": str(self.folder / "etc")}
        self.run_as(name, folder, variables, str(self.folder / "hub/bin/nbgrader"), *arguments)

    def run_as(
        self, name: str, folder: Path, variables: dict[str, str], *command: str, check: bool = True
    ) -> subprocess.CompletedProcess:
        user = pwd.getpwnam(name)
        variables = variables | {"HOME": user.pw_dir, "USER": name, "LANG": "C.UTF-8"}
        if "TAPER_GRADE_TIME" in os.environ:
            variables["TAPER_GRADE_TIME"] = os.environ["TAPER_GRADE_TIME"]
        done = subprocess.run(
            command, cwd=folder, env=variables, user=user.pw_uid, group=user.pw_gid, extra_groups=[],
            text=True, capture_output=True, timeout=900,
        )  # fmt: skip
        assert done.returncode == 0 or not check, f"{name}: {' '.join(command)}\n{done.stdout}\n{done.stderr}"
        return done


def texts(notebook: str) -> list[str]:
    """Returns the texts that the cells of a notebook printed, and their errors."""
    cells = json.loads(notebook)["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return ["".join(output.get("text", output.get("evalue", ""))) for output in outputs]
