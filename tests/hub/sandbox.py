"""The limits of `packaging/nbgrader/sandbox`: a program in place of the kernel tries to get out of it, and to use it up.

    tests/hub/sandbox.py

Needs bubblewrap. As root, it continues as another user, as submissions are graded.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

SANDBOX = Path(__file__).resolve().parents[2] / "packaging/nbgrader/sandbox"
NOBODY = 65534
# Runs in the sandbox. Prints the attempts that succeed.
HOSTILE = """
import glob, os, socket, subprocess, sys
def fills(path, megabytes):
    try:
        with open(path, "wb") as file:
            for _ in range(megabytes):
                file.write(bytes(1 << 20))
        return True
    except OSError:
        return False
def connects(family, address):
    try:
        with socket.socket(family) as client:
            client.settimeout(2)
            client.connect(address)
        return True
    except OSError:
        return False
def writes(path):
    try:
        open(path, "a").close()
        return True
    except OSError:
        return False
def reads(path):
    try:
        open(path, "rb").read(1)
        return True
    except OSError:
        return False
def forks(count):
    children = []
    try:
        for _ in range(count):
            pid = os.fork()
            if pid == 0:
                os.execvp("sleep", ["sleep", "20"])
            children.append(pid)
        return True
    except OSError:
        return False
    finally:
        for child in children:
            os.kill(child, 9)
            os.waitpid(child, 0)
course = os.path.dirname(os.getcwd())
attempts = {
    "fill /dev/shm": fills("/dev/shm/a", 64),
    "fill /dev": fills("/dev/a", 1),
    "fill /": fills("/a", 1),
    "fill the folder of sockets": fills(os.path.join(sys.argv[1], "a"), 64),
    "fill /tmp": fills("/tmp/a", 1100),
    "fill the home": fills(os.path.join(os.environ["HOME"], "a"), 1100),
    "write the submission": writes("submission.ipynb"),
    "write a new file beside it": writes("new"),
    "write the store": writes(os.environ["TAPER_STORE"] + "/bin/taper"),
    "write /etc": writes("/etc/new"),
    "read the gradebook": reads(course + "/gradebook.db"),
    "read another submission": reads(course + "/other/submission.ipynb"),
    "read root's files": reads("/root/.profile"),
    "see other processes": len(glob.glob("/proc/[0-9]*")) > 8,
    "read the memory of process 1": reads("/proc/1/mem"),
    "connect to a port of this machine": connects(socket.AF_INET, ("127.0.0.1", int(sys.argv[2]))),
    "connect to the internet": connects(socket.AF_INET, ("1.1.1.1", 53)),
    "connect to an abstract socket": connects(socket.AF_UNIX, "\\0taper-test"),
    "connect to the session bus": connects(socket.AF_UNIX, "/run/dbus/system_bus_socket"),
    "start 600 processes": forks(600),
    "become root": subprocess.run(["su", "-c", "true"], stdin=subprocess.DEVNULL, capture_output=True).returncode == 0,
    "mount": subprocess.run(["mount", "-t", "tmpfs", "none", "/tmp"], capture_output=True).returncode == 0,
    "dump core": subprocess.run(["sh", "-c", "ulimit -c unlimited"], capture_output=True).returncode == 0,
    "see the environment of the grader": "SECRET" in os.environ,
}
for attempt, succeeded in attempts.items():
    print("succeeded:" if succeeded else "failed:", attempt, flush=True)
"""


def main() -> None:
    if sys.platform != "linux":
        return print("skipped: bubblewrap is for Linux")
    if not shutil.which("bwrap"):
        print("skipped: bubblewrap is missing")
        sys.exit(1 if os.environ.get("CI") else 0)
    with tempfile.TemporaryDirectory() as folder:
        check(Path(folder))


def check(folder: Path) -> None:
    course, store, sockets, home = (folder / name for name in ("course", "store", "sockets", "home"))
    for new in (course / "eve", course / "other", store / "bin", folder / "rust/bin", sockets, home):
        new.mkdir(parents=True)
    for file in ("eve/submission.ipynb", "other/submission.ipynb", "gradebook.db"):
        (course / file).write_text("{}")
    with socket.socket() as port, socket.socket(socket.AF_UNIX) as abstract:
        port.bind(("127.0.0.1", 0))
        port.listen()
        abstract.bind("\0taper-test")
        abstract.listen()
        (store / "hostile.py").write_text(HOSTILE)
        number = port.getsockname()[1]
        program = f'#!/bin/sh\nexec /usr/bin/python3 {store}/hostile.py "$(dirname "$3")" {number}\n'
        (store / "bin/taper").write_text(program)
        (store / "bin/taper").chmod(0o755)
        said = in_sandbox(folder)
    tried = [line for line in said.splitlines() if ": " in line]
    succeeded = [line for line in tried if line.startswith("succeeded")]
    assert len(tried) >= 24 and not succeeded, said
    (store / "bin/taper").write_text("#!/bin/sh\nsleep 600\n")
    in_sandbox(folder, TAPER_GRADE_TIME="1")
    print(f"{len(tried)} attempts failed, and a submission without an end was ended")
    print("1 passed, 0 failed")


def in_sandbox(folder: Path, **variables: str) -> str:
    """Runs the sandbox as `grade` does: with a small file system in memory for its sockets, and not as root."""
    as_user = {}
    if os.geteuid() == 0:
        as_user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", folder], check=True)
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(folder / "home"),
        "TAPER_RUST": str(folder / "rust"),
        "TAPER_STORE": str(folder / "store"),
        "SECRET": "1",
    }
    sockets = folder / "sockets"
    command = ["bwrap", "--dev-bind", "/", "/", "--size", str(1 << 24), "--tmpfs", sockets, SANDBOX, sockets / "kernel.json"]
    done = subprocess.run(
        command, cwd=folder / "course/eve", env=environment | variables, text=True, capture_output=True, timeout=120, **as_user
    )
    assert done.returncode in (0, 137), done.stderr
    return done.stdout


if __name__ == "__main__":
    main()
