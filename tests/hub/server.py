"""Uses the hub with four users and attacks it. `run.py` calls this script in its namespaces, with the hub's Python."""

import os
import pwd
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from run import CHAPTER, DISK, FIRST_TENSOR, HUB, MEMORY, PASSWORD, PREFIX, STUDENTS

from agreement import compare, damaged
from attacks import hostile_homes, many_sign_in, requests_of_strangers, sign_ins, strangers, undisturbed
from grading import HALF, RIGHT, WRONG, Course
from machine import hub
from student import LIMIT, Student

POINTS = {"student1": 5.0, "student2": 3.0, "student3": 0.0}
# A cell of the wrong submission. It may not print `stolen`.
THEFT = """
for path in ["{course}/gradebook.db", "{course}/nbgrader_config.py", "{course}/submitted/student1/areas/areas.ipynb"] {{
    if let Ok(content) = std::fs::read(path) {{ println!("stolen {{}} bytes of {{path}}", content.len()); }}
}}
for folder in ["{course}/submitted", "{exchange}", "/root", "/var"] {{
    if std::fs::read_dir(folder).is_ok() {{ println!("stolen: a look at {{folder}}"); }}
}}
if std::fs::write("areas.ipynb", "changed").is_ok() {{ println!("stolen: the submission"); }}
if std::net::TcpStream::connect("127.0.0.1:8000").is_ok() {{ println!("stolen: the network"); }}
println!("tried all");
"""


def main() -> None:
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    course = Course(PREFIX)
    with hub(PREFIX):
        students = [Student(HUB, name, PASSWORD) for name in STUDENTS]
        in_class(students)
        course.release()
        of = [("student1", "bin/taper"), ("root", "bin/jupyterhub")]
        kernel, hub_process = (int(processes_of(*one)[0].name) for one in of)
        tried = strangers(students, course, kernel, hub_process)
        tried += requests_of_strangers(students) + sign_ins()
        tried += undisturbed(students) + many_sign_in(students) + hostile_homes(students[-1])
        print(f"{tried} attacks: none succeeded", flush=True)
        assert tried >= 30, tried
        graded(course)
    if not os.environ.get("TAPER_HUB_QUICK"):
        damaged_are_graded(course)
        with hub(PREFIX, TAPER_HUB_IDLE="60"):
            culled(Student(HUB, STUDENTS[0], PASSWORD))
        dry_runs()
    print("1 passed, 0 failed")


def dry_runs() -> None:
    """`taper class --check` says that the class works, and leaves nothing; of a broken one it says what does not work."""
    check = [sys.argv[1], "class", PREFIX, "--check"]
    before = sorted(PREFIX.iterdir()), (PREFIX / "state/jupyterhub.sqlite").stat().st_mtime
    subprocess.run(check, check=True)
    assert before == (sorted(PREFIX.iterdir()), (PREFIX / "state/jupyterhub.sqlite").stat().st_mtime)
    for broken, said in [("store/share/jupyter/kernels", "sees a tensor"), ("nbgrader", "graded in the sandbox")]:
        (PREFIX / broken).rename(PREFIX / "aside")
        try:
            failed = subprocess.run(check, text=True, capture_output=True)
        finally:
            (PREFIX / "aside").rename(PREFIX / broken)
        printed = failed.stdout + failed.stderr
        assert failed.returncode != 0 and "FAILED: " in printed and said in printed, printed
        # The logs of the servers have tracebacks, which are indented.
        assert "run the check again" in printed and "\nTraceback" not in printed, printed
    print("a broken class does not pass its dry run", flush=True)


def graded(course: Course) -> None:
    """A right, a half-right and a wrong submission get the points that they should.

    The wrong one tries in vain to read the gradebook, to reach the network and to load a package, which is refused before
    it runs (tests/hub/sandbox.py tries it in the sandbox), and to fill the memory.
    """
    theft = THEFT.format(course=course.path, exchange=PREFIX / "exchange")
    more = [theft, ':dep rand = "0.9"', "let large = vec![1_u8; 8 << 30];"]
    # The right one was submitted before the attacks.
    for student, solution in [("student2", HALF), ("student3", WRONG)]:
        course.submit(student, solution, more if solution is WRONG else None)
    points = course.grade()
    if points != POINTS:
        for student in POINTS:
            print(student, course.printed(student), sep="\n")
        raise AssertionError(f"the points are {points}, expected {POINTS}")
    printed = course.printed("student3")
    assert "stolen" not in printed and "tried all" not in printed, printed
    assert printed.count("grading does not run this cell") == 2 and "Out of memory" in printed, printed
    assert course.fetch_feedback("student1"), "there is feedback"
    print(f"graded: {points}", flush=True)


def damaged_are_graded(course: Course) -> None:
    """`grade` and `taper test --grade` find the same points for damaged submissions."""
    damaged.write(course.path)
    subprocess.run(["chown", "-R", f"{course.teacher}:", course.path], check=True)

    def run(command: list[str]) -> subprocess.CompletedProcess:
        return course.as_teacher(*command, check=False)

    count = compare(course.path, run, f"{PREFIX}/store/bin/taper", ["grade"])
    print(f"{count} damaged submissions: all tools agree", flush=True)


def in_class(students: list[Student]) -> None:
    """Lets all students run the first chapter at the same time; no package may be compiled."""

    def first_tensor(student: Student) -> float:
        student.start_kernel(CHAPTER)
        said, failed = student.run(FIRST_TENSOR)
        assert failed is None and "Compil" not in said, f"{student.name}: {failed} {said}"
        return time.monotonic() - began

    everyone = ThreadPoolExecutor(len(students))
    began = time.monotonic()
    list(everyone.map(Student.start_server, students))
    print(f"{len(students)} servers started in {time.monotonic() - began:.1f} s", flush=True)
    began = time.monotonic()
    times = sorted(everyone.map(first_tensor, students))
    print(f"first tensors after {', '.join(f'{t:.1f}' for t in times)} s", flush=True)
    began = time.monotonic()
    for said in everyone.map(lambda student: student.run_chapter(CHAPTER), students):
        assert "Compil" not in said, said
    print(f"the first chapter is run by all in {time.monotonic() - began:.1f} s", flush=True)
    rest(students)
    for student in students:
        memory, parts = memory_of(student.name)
        disk = disk_of(student.name)
        server = memory_of(student.name, "jupyterhub-singleuser")[0]
        print(f"{student.name}: kernel {memory} MB {parts}, server {server} MB, disk {disk} MB", flush=True)
        assert memory <= MEMORY, f"{student.name} needs {memory} MB"
        assert disk <= DISK, f"{student.name} needs {disk} MB of disk"
        home = Path(pwd.getpwnam(student.name).pw_dir)
        assert not (home / ".cargo").exists(), "cargo's home is empty"
        assert not list(home.glob(".cache/taper/images/*/work")), "no image of their own"


def processes_of(name: str, command: str = "taper") -> list[Path]:
    uid = pwd.getpwnam(name).pw_uid
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            program = os.readlink(process / "exe") + " " + words[-2 if len(words) > 1 else 0].decode()
            if process.stat().st_uid == uid and (command in program or command.encode() in b" ".join(words[:2])):
                found.append(process)
        except OSError:
            continue
    return found


def rest(students: list[Student]) -> None:
    """Waits until the kernels do nothing: after its first cell, a kernel reads the sources of the packages for completion,
    and half a second later returns the memory that this has needed."""

    def used() -> int:
        """Returns the time of the processors that they have used, in hundredths of a second."""
        kernels = [process for student in students for process in processes_of(student.name, "bin/taper")]
        stats = [(kernel / "stat").read_text().rsplit(")", 1)[1].split() for kernel in kernels]
        return sum(int(stat[11]) + int(stat[12]) for stat in stats)

    until, before = time.monotonic() + LIMIT, 0
    while (now := used()) > before + 20 and time.monotonic() < until:
        before = now
        time.sleep(3)


def memory_of(name: str, command: str = "bin/taper") -> tuple[int, list[int]]:
    """Returns the proportional set size of a user's kernel and cells, in MB."""
    parts = []
    for process in processes_of(name, command):
        rollup = (process / "smaps_rollup").read_text()
        parts.append(int(rollup.split("Pss:")[1].split()[0]) // 1024)
    return sum(parts), sorted(parts, reverse=True)


def disk_of(name: str) -> int:
    output = subprocess.check_output(["du", "-sm", pwd.getpwnam(name).pw_dir], text=True)
    return int(output.split()[0])


def culled(student: Student) -> None:
    """Checks that the kernel and then the server of a student who does nothing are ended."""
    student.start_server()
    student.start_kernel(CHAPTER)
    student.run("1 + 1")
    student.socket.close()
    until = time.monotonic() + LIMIT
    while processes_of(student.name, "bin/taper") or processes_of(student.name, "jupyterhub-singleuser"):
        assert time.monotonic() < until, "an idle server is ended"
        time.sleep(0.5)
    print("an idle server was ended", flush=True)


if __name__ == "__main__":
    main()
