"""Starts the hub with four users and checks it. `run.py` calls this script in its namespaces, with the hub's Python."""

import json
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import requests
from grading import graded
from run import CHAPTER, DISK, FIRST_TENSOR, HERE, HUB, MEMORY, PASSWORD, PREFIX, STUDENTS
from student import LIMIT, Student

# The environment of the hub and of its users, without the variables of this test.
ENVIRONMENT = {"PATH": f"{PREFIX}/rust/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin", "LANG": "C.UTF-8"}

# What a student takes from the others, as cells.
HOSTILE = {
    "processes": """
        for _ in 0..3000 {
            if std::process::Command::new("sleep").arg("10").spawn().is_err() { break; }
        }
        std::thread::sleep(std::time::Duration::from_secs(5));
    """,
    "memory": """
        let mut all: Vec<Vec<u8>> = Vec::new();
        for _ in 0..64 { all.push(vec![1; 1 << 28]); }
    """,
}


def main() -> None:
    homes = Path(tempfile.mkdtemp(dir=PREFIX))
    try:
        add_users(homes)
        with hub():
            students = [Student(HUB, name, PASSWORD) for name in STUDENTS]
            in_class(students)
            strangers(students)
            undisturbed(students)
            graded("teacher")
        if not os.environ.get("TAPER_HUB_QUICK"):
            with hub(TAPER_HUB_IDLE="60"):
                replace_by_pipe(STUDENTS[0], "course/.taper-course.json")
                culled(Student(HUB, STUDENTS[0], PASSWORD))
    finally:
        # The folder can be removed only after it is unmounted.
        subprocess.run(["umount", "--lazy", "/home"], check=False)
        shutil.rmtree(homes, ignore_errors=True)
    print("1 passed, 0 failed")


def add_users(homes: Path) -> None:
    """Adds the users to a copy of /etc, which is visible in this mount namespace only."""
    copy = Path(tempfile.mkdtemp(dir=homes))
    shutil.copytree("/etc", copy / "etc", symlinks=True)
    (homes / "home").mkdir()
    subprocess.run(["mount", "--bind", copy / "etc", "/etc"], check=True)
    subprocess.run(["mount", "--bind", homes / "home", "/home"], check=True)
    subprocess.run(["groupadd", "students"], check=True)
    for name in STUDENTS:
        command = ["useradd", "--create-home", "--groups", "students", "--shell", "/bin/bash", name]
        subprocess.run(command, check=True, capture_output=True)
        subprocess.run(["chpasswd"], input=f"{name}:{PASSWORD}", text=True, check=True)


@contextmanager
def hub(**variables: str):
    """Runs the hub as `install` left it."""
    log = PREFIX / "state/hub.log"
    command = [PREFIX / "hub/bin/jupyterhub", "-f", PREFIX / "jupyterhub_config.py"]
    with open(log, "w") as output:
        process = subprocess.Popen(
            command, env=ENVIRONMENT | variables, cwd=PREFIX / "state", stdout=output, stderr=output
        )
    try:
        until = time.monotonic() + LIMIT
        while not answers():
            assert process.poll() is None and time.monotonic() < until, "the hub does not start"
            time.sleep(0.3)
        yield
    except BaseException:
        print(log.read_text()[-6000:])
        raise
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()


def answers() -> bool:
    try:
        return requests.get(f"{HUB}/hub/health", timeout=5).ok
    except requests.ConnectionError:
        return False


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
    # A kernel returns what it has freed half a second after its last cell.
    time.sleep(5)
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


def strangers(students: list[Student]) -> None:
    """Checks that another student cannot read a session, connect to a kernel, or change the store."""
    victim, other = students[0], students[1]
    home = Path(pwd.getpwnam(victim.name).pw_dir)
    sockets = sorted(str(p) for p in home.rglob("kernel-*-ipc-*"))
    assert len(sockets) == 5, f"the kernel has five sockets: {sockets}"
    sessions = list(home.glob(".cache/taper/sessions/*/work"))
    assert sessions, "the kernel has a session"
    kernel = processes_of(victim.name, "bin/taper")[0]
    # As on servers where users can enter the homes of others: files and sockets must be protected on their own.
    os.chmod(home, 0o755)
    task = {
        "sockets": sockets,
        "read": [str(sessions[0] / "src/lib.rs"), f"{kernel}/environ", f"{kernel}/mem"],
        "list": [str(home / ".cache/taper/sessions"), str(home / ".local/share/jupyter/runtime")],
        "store": str(PREFIX / "store"),
    }
    user = pwd.getpwnam(other.name)
    subprocess.run(
        [sys.executable, HERE / "stranger.py", json.dumps(task)],
        user=user.pw_uid, group=user.pw_gid, extra_groups=[], env=ENVIRONMENT, cwd="/", check=True,
    )
    for path in ["/api/sessions", f"/api/kernels/{victim.kernel}"]:
        status = victim.ask("GET", path, check=False, token=other.token).status_code
        assert status in (302, 403, 404), f"{path} answers another student with {status}"
    print("another student was refused everywhere", flush=True)


def undisturbed(students: list[Student]) -> None:
    """Runs cells of all students but one, who uses up processes and then memory; prints how long the others wait."""
    *others, hostile = students
    everyone = ThreadPoolExecutor(len(students))

    def answered(student: Student) -> float:
        began = time.monotonic()
        _, failed = student.run("1 + 1")
        assert failed is None, f"{student.name}: {failed}"
        return time.monotonic() - began

    def waited(what: str) -> None:
        times = sorted(everyone.map(answered, others))
        print(f"{what}, the others wait for {', '.join(f'{t:.1f}' for t in times)} s", flush=True)

    waited("before")
    for what, code in HOSTILE.items():
        attack = everyone.submit(hostile.run, code)
        time.sleep(1)
        waited(f"while {hostile.name} takes {what}")
        attack.result()


def replace_by_pipe(name: str, file: str) -> None:
    """Puts a pipe in the place of a file in a student's home: whoever opens it to read waits for a writer."""
    user = pwd.getpwnam(name)
    path = Path(user.pw_dir, file)
    path.unlink()
    os.mkfifo(path)
    os.chown(path, user.pw_uid, user.pw_gid)


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
