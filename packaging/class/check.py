"""A dry run of a class: two students and a teacher, who exist only here, use the hub, and an assignment goes through.

    check.py FOLDER

`taper class FOLDER --check` calls it. The users, their homes, the hub's state, the course and the exchange are copies or
empty folders in namespaces of this process, so the class itself is left alone, also while its hub runs. Needs root on
Linux.
"""

import grp
import json
import os
import pwd
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from grading import HALF, RIGHT, Course
from machine import add_users, address, be_reachable, hide, hub, mount, scratch
from student import Student

STUDENTS = ["taper-check-1", "taper-check-2"]
PASSWORD = "a dry run"
CHAPTER = "course/01-welcome.ipynb"
FIRST_TENSOR = ":dep taper\nuse taper::prelude::*;\nzeros(2)"
# A cell of a student that tries to read and to write what is not his own.
CURIOUS = """
let mut open: Vec<String> = Vec::new();
for path in [{closed}] {{ if std::fs::read_dir(path).is_ok() {{ open.push(format!("{{path}} can be read")); }} }}
for path in [{kept}] {{
    let file = std::path::Path::new(path).join("a-student-was-here");
    if std::fs::write(&file, "").is_ok() {{ open.push(format!("{{path}} can be written")); }}
}}
println!("open: {{open:?}}");
"""
INSIDE = "TAPER_CHECK_INSIDE"


def main() -> None:
    folder = Path(sys.argv[1]).resolve()
    missing = [program for program in ("unshare", "useradd", "ip", "bwrap") if not shutil.which(program)]
    if sys.platform != "linux" or os.geteuid() != 0 or missing:
        sys.exit(f"The dry run needs root on Linux{', and these programs: ' + ', '.join(missing) if missing else ''}.")
    if folder.is_relative_to("/home"):
        sys.exit("The dry run hides /home: prepare the class in another folder, such as /opt/class.")
    if INSIDE not in os.environ:
        apart = ["--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation=private"]
        os.execvpe("unshare", ["unshare", *apart, sys.executable, *sys.argv], os.environ | {INSIDE: "1"})
    settings = json.loads((folder / "class.json").read_text())
    warn_of_open_homes(settings["group"])
    try:
        with scratch(folder) as copies:
            copy(folder, copies, settings)
            with hub(folder):
                in_class(folder, settings)
            assignment(folder)
    except (AssertionError, OSError, subprocess.CalledProcessError) as error:
        again = f"`taper class {folder}` mends what is installed, and keeps the course; then run the check again."
        sys.exit(f"FAILED: {error}\n{again}")
    print("The class works.")


@contextmanager
def step(what: str):
    """Says what works, or with which step the class failed."""
    began = time.monotonic()
    try:
        yield
    except Exception as error:
        raise AssertionError(f"{what}: {error}") from error
    print(f"ok: {what} ({time.monotonic() - began:.0f} s)", flush=True)


def warn_of_open_homes(group: str) -> None:
    """Names the students whose homes others can enter. The real homes are seen only before they are hidden."""
    group = grp.getgrnam(group)
    for user in pwd.getpwall():
        home = Path(user.pw_dir)
        is_student = user.pw_name in group.gr_mem or user.pw_gid == group.gr_gid
        if is_student and home.is_dir() and home.stat().st_mode & 0o007:
            print(f"warning: other students can enter {home}: `chmod o-rwx {home}`")


def copy(folder: Path, copies: Path, settings: dict[str, str]) -> None:
    """Puts copies in the place of all that the dry run changes."""
    teacher = settings["teacher"]
    hide(copies)
    be_reachable(folder)
    add_users(STUDENTS, settings["group"], PASSWORD)
    home = Path(pwd.getpwnam(teacher).pw_dir)
    if home.is_relative_to("/home"):
        # It is hidden with all homes.
        home.mkdir(parents=True, exist_ok=True)
    else:
        (copies / "teacher").mkdir()
        mount(copies / "teacher", home)
    shutil.chown(home, teacher)
    for name, mode in [("state", 0o700), ("exchange", 0o1777), ("course", 0o755)]:
        (copies / name).mkdir()
        (copies / name).chmod(mode)
    course = copies / "course" / settings["course"]
    course.mkdir(mode=0o700)
    shutil.copy(folder / "course" / settings["course"] / "nbgrader_config.py", course)
    shutil.chown(course, teacher)
    for name in ["state", "exchange", "course"]:
        mount(copies / name, folder / name)


def in_class(folder: Path, settings: dict[str, str]) -> None:
    students = []
    for name in STUDENTS:
        with step(f"{name} signs in and sees a tensor"):
            student = Student(address(folder), name, PASSWORD)
            student.start_server()
            student.start_kernel(CHAPTER)
            said, failed = student.run(FIRST_TENSOR)
            assert failed is None, f"{failed} {said}"
            assert "Compil" not in said, f"packages were compiled, which belong into the store: {said}"
            students.append(student)
    first, second = students
    with step("a student cannot use the server of another"):
        for path in ["/api/sessions", f"/api/kernels/{first.kernel}", "/api/contents"]:
            status = first.ask("GET", path, check=False, token=second.token).status_code
            assert status in (302, 403, 404), f"{path} answers another student with {status}"
    with step("a student cannot read another's files nor change the class's"):
        closed = [pwd.getpwnam(first.name).pw_dir, folder / "course" / settings["course"], folder / "state"]
        kept = [*closed, folder, folder / "store", folder / "etc", folder / "hub", folder / "nbgrader"]
        said, failed = second.run(CURIOUS.format(closed=quoted(closed), kept=quoted(kept)))
        assert failed is None and "open: []" in said, f"{failed} {said}"


def quoted(paths: list) -> str:
    return ", ".join(json.dumps(str(path)) for path in paths)


def assignment(folder: Path) -> None:
    course = Course(folder)
    with step("an assignment is made, released, fetched and submitted"):
        course.release()
        for student, solution in zip(STUDENTS, [RIGHT, HALF]):
            course.submit(student, solution)
    with step("the submissions are graded in the sandbox, and the feedback is returned"):
        points = course.grade()
        assert points == dict(zip(STUDENTS, [5.0, 3.0])), f"the points are {points}, expected 5 and 3"
        assert course.fetch_feedback(STUDENTS[0]), "the student gets no feedback"


if __name__ == "__main__":
    main()
