"""A dry run of a class: two students and a teacher, who exist only here, use the hub, and an assignment goes through.

    check.py FOLDER

`taper class FOLDER --check` calls it. The users, their homes, the hub's state, the course and the exchange are copies or
empty folders in namespaces of this process, so the class itself is left alone. Needs root on Linux, and a C compiler
and Rust that all users can run.
"""

import json
import os
import pwd
import shutil
import subprocess
import sys
import time
from pathlib import Path

from grading import HALF, RIGHT, Course
from machine import add_users, address, hide, hub, mount, scratch
from student import Student

STUDENTS = ["taper-check-1", "taper-check-2"]
PASSWORD = "a dry run"
CHAPTER = "course/01-welcome.ipynb"
FIRST_TENSOR = ":dep taper\nuse taper::prelude::*;\nzeros(2)"
INSIDE = "TAPER_CHECK_INSIDE"


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    missing = [program for program in ("unshare", "useradd", "ip", "bwrap") if not shutil.which(program)]
    if sys.platform != "linux" or os.geteuid() != 0 or missing:
        sys.exit(f"The dry run needs root on Linux{', and these programs: ' + ', '.join(missing) if missing else ''}.")
    if INSIDE not in os.environ:
        apart = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation=private"]
        os.execvpe("unshare", ["unshare", *apart, sys.executable, *sys.argv], os.environ | {INSIDE: "1"})
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    with scratch(folder) as copies:
        copy(folder, copies)
        with hub(folder):
            in_class(folder)
        assignment(folder)
    print("The class works.")


def copy(folder: Path, copies: Path) -> None:
    """Puts copies in the place of all that the dry run changes."""
    settings = json.loads((folder / "class.json").read_text())
    hide(copies)
    add_users(STUDENTS, settings["group"], PASSWORD)
    if settings["teacher"] not in {user.pw_name for user in pwd.getpwall()}:
        add_users([settings["teacher"]], None, PASSWORD)
    home = Path(pwd.getpwnam(settings["teacher"]).pw_dir)
    if not home.exists():
        # It is hidden with all homes.
        home.mkdir(parents=True)
        shutil.chown(home, settings["teacher"])
    for name, mode in [("state", 0o700), ("exchange", 0o1777), ("course", 0o755)]:
        (copies / name).mkdir()
        (copies / name).chmod(mode)
    course = copies / "course" / settings["course"]
    course.mkdir()
    shutil.copy(folder / "course" / settings["course"] / "nbgrader_config.py", course)
    for name in ["state", "exchange", "course"]:
        mount(copies / name, folder / name)


def in_class(folder: Path) -> None:
    first, second = students = [Student(address(folder), name, PASSWORD) for name in STUDENTS]
    for student in students:
        began = time.monotonic()
        student.start_server()
        student.start_kernel(CHAPTER)
        said, failed = student.run(FIRST_TENSOR)
        assert failed is None and "Compil" not in said, f"{student.name}: {failed} {said}"
        print(f"ok: {student.name} signs in and sees a tensor after {time.monotonic() - began:.0f} s", flush=True)
    for path in ["/api/sessions", f"/api/kernels/{first.kernel}", "/api/contents"]:
        status = first.ask("GET", path, check=False, token=second.token).status_code
        assert status in (302, 403, 404), f"{path} answers another student with {status}"
    print("ok: a student cannot use the server of another", flush=True)


def assignment(folder: Path) -> None:
    course = Course(folder)
    course.release()
    for student, solution in zip(STUDENTS, [RIGHT, HALF]):
        course.submit(student, solution)
    print("ok: an assignment is made, released, fetched and submitted", flush=True)
    points = course.grade()
    assert points == dict(zip(STUDENTS, [5.0, 3.0])), f"the points are {points}, expected 5 and 3"
    assert course.fetch_feedback(STUDENTS[0]), "the student gets feedback"
    print("ok: the submissions are graded in the sandbox, and the feedback is returned", flush=True)


if __name__ == "__main__":
    main()
