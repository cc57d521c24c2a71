"""Grades damaged submissions with nbgrader and with `taper test --grade`, which must find the same points and reasons.

    tests/hub/agreement.py FOLDER

grades the submissions of `tests/grading/damaged.py` in FOLDER with the commands `taper` and `nbgrader` on the PATH, without
a sandbox; `server.py` does so with the teacher's commands of a class.
"""

import html
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/grading"))
import damaged  # noqa: E402

POINTS = """
    select student_id, base_cell.name, auto_score from grade
    join submitted_notebook on grade.notebook_id = submitted_notebook.id
    join submitted_assignment on submitted_notebook.assignment_id = submitted_assignment.id
    join base_cell on grade.cell_id = base_cell.id
"""


def compare(course: Path, run, taper: str, autograde: list[str]) -> int:
    """Grades all submissions twice in the folder of a course, and returns their number. `run` executes a command there."""
    wrong, count = [], 0
    for assignment, students in damaged.chosen(quick=False).items():
        run(["nbgrader", "generate_assignment", assignment])
        limit = str(damaged.LIMIT)
        graded = run([*autograde, assignment, f"--Execute.timeout={limit}"])
        run(["nbgrader", "generate_feedback", assignment])
        source = f"source/{assignment}/{assignment}.ipynb"
        folders = [f"submitted/{student}/{assignment}" for student in students]
        command = [taper, "test", "--timeout", limit, "--grade", source, *folders]
        said = run(["env", f"TAPER_MEMORY={damaged.MEMORY}", *command])
        failed = {student for student, one in students.items() if one["failed"]}
        for done in (graded, said):
            if done.returncode != int(bool(failed)):
                wrong.append(f"{assignment}: the exit code is {done.returncode}: {done.stdout}{done.stderr}")
        points = points_of(course)
        for student, one in students.items():
            lines = report(said.stdout, student)
            why = [
                *differences(one, points.get(student, {}), lines),
                *missing_in_feedback(course / "feedback" / student / assignment / f"{assignment}.html", lines),
            ]
            if (student in failed) != (f"The submission of '{student}' could not be run" in graded.stderr):
                why.append("nbgrader's log is wrong about whether it could be run")
            wrong += [f"{student}: {one}" for one in why]
            count += 1
    assert not wrong, "\n".join(wrong)
    return count


def points_of(course: Path) -> dict[str, dict[str, float]]:
    points: dict[str, dict[str, float]] = {}
    with sqlite3.connect(course / "gradebook.db") as gradebook:
        for student, cell, score in gradebook.execute(POINTS):
            points.setdefault(student, {})[cell] = score
    return points


def report(said: str, student: str) -> list[str]:
    """Returns what `taper test --grade` prints about a submission."""
    lines, inside = [], False
    for line in said.splitlines():
        inside = line.startswith(f"submitted/{student}/") or (inside and line.startswith("    "))
        lines += [line.strip()] if inside else []
    return lines


def differences(expected: dict, found: dict[str, float], lines: list[str]) -> list[str]:
    """Compares the points of the tests in the gradebook, those of taper, and the expected ones."""
    wrong, sum_of_all = [], sum(expected["points"].values())
    if not lines or not re.search(rf": {sum_of_all:g} of \S+ points$", lines[0]):
        wrong.append(f"taper finds {lines[:1]}, expected {sum_of_all:g} points")
    for test, points in expected["points"].items():
        if found.get(test) != points:
            wrong.append(f"nbgrader finds {found.get(test)} for {test}, expected {points}")
        mine = next((line for line in lines if line.startswith(f"{test}: ")), None)
        if mine and not mine.startswith(f"{test}: {points:g} of "):
            wrong.append(f"taper finds {mine}, expected {points:g}")
    wrong += [f"taper does not say {said!r}: {lines}" for said in expected["says"] if not any(said in line for line in lines)]
    # Graded by hand, unless the student has written nothing.
    for line in lines:
        if line.startswith("essay: ") and (found["essay"] is None) != ("by hand" in line):
            wrong.append(f"nbgrader finds {found['essay']} for the essay, taper {line}")
    return wrong


def missing_in_feedback(file: Path, lines: list[str]) -> list[str]:
    """Returns the reasons that a student does not read in the feedback. Those of hidden tests are left out there."""
    if not file.exists():
        return ["there is no feedback"]
    text = re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]*>", "", file.read_text())))
    missing = []
    for line in lines[1:]:
        reason = line.split(": ", 1)[1] if " of " in line.split(",")[0] else line.replace("`", "")
        if "by hand" in line or line.startswith("essay: "):
            continue
        if line.startswith("square-test: "):
            # Of a hidden test, only the reasons are given that reveal nothing of it.
            reason = reason.split(": Out of" if "lost" in reason else ", ")[0].split(": The process")[0]
        if re.sub(r"\s+", " ", reason) not in text:
            missing.append(f"the feedback does not say {reason!r}")
    return missing


def main() -> None:
    course = Path(sys.argv[1]).resolve()
    shutil.rmtree(course, ignore_errors=True)
    course.mkdir(parents=True)
    shutil.copy(ROOT / "packaging/nbgrader/nbgrader_config.py", course)
    damaged.write(course)

    def run(command: list[str]) -> subprocess.CompletedProcess:
        limited = os.environ | {"TAPER_MEMORY": damaged.MEMORY}
        done = subprocess.run(command, cwd=course, env=limited, text=True, capture_output=True, check=False)
        (course / f"{'-'.join(command[:3])}.log").write_text(f"{done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    print(f"{compare(course, run, 'taper', ['nbgrader', 'autograde'])} damaged submissions: all tools agree")


if __name__ == "__main__":
    main()
