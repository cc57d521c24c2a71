"""A class on one server: JupyterHub with four users of the system, who read one store and cannot change it; nbgrader.

    tests/hub/run.py TAPER [FOLDER]

Prepares the class with `taper class` in FOLDER, which is kept for the next run, and starts it unchanged. The users exist
in this test's namespaces only, where there is no network. Needs root on Linux, node with npm, and Python with
venv; otherwise prints what is missing, and fails if `CI` is set. TAPER is a command that carries its sources. If TAPER_HUB_IMAGE names an exported
image, it is imported instead of compiled. TAPER_HUB_QUICK leaves out the end of idle servers, which takes two minutes,
and `taper class --check`.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "packaging/class"))
from machine import add_users, become_root, hide  # noqa: E402

PREFIX = Path("/opt/taper-hub")
HUB = "http://127.0.0.1:8000"
STUDENTS = [f"student{number}" for number in range(1, 5)]
TEACHER = "teacher"
PASSWORD = "a password of the class"
CHAPTER = "course/01-welcome.ipynb"
FIRST_TENSOR = ":dep taper\nuse taper::prelude::*;\nzeros(2)"
# The limits for one student: memory and disk, in MB.
MEMORY, DISK = 300, 50
INSIDE = "TAPER_HUB_INSIDE"


def main() -> None:
    taper = Path(sys.argv[1]).resolve()
    if INSIDE in os.environ:
        return inside(taper)
    if sys.platform != "linux":
        return print("skipped: the hub is for Linux")
    become_root()
    missing = [program for program in ("unshare", "useradd", "npm", "bwrap", "ip") if not shutil.which(program)]
    if os.geteuid() != 0 or missing:
        print(f"skipped: needs root on Linux and {', '.join(missing) or 'the programs of a server'}")
        sys.exit(1 if os.environ.get("CI") else 0)
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    command = ["unshare", "--mount", "--propagation=private", sys.executable, __file__, str(taper)]
    os.execvpe(command[0], command, {**os.environ, INSIDE: str(folder)})


def inside(taper: Path) -> None:
    """Continues in a mount namespace: mounts the server's folders at their final paths, prepares the class, then starts
    `server.py`, without a network: only the loopback device is there."""
    PREFIX.mkdir(parents=True, exist_ok=True)
    mount(Path(os.environ[INSIDE]), PREFIX)
    # Rust where all users can run it; root's home is closed to them.
    sysroot = subprocess.check_output(["rustc", "--print", "sysroot"], text=True).strip()
    (PREFIX / "rust").mkdir(exist_ok=True)
    mount(Path(sysroot), PREFIX / "rust")
    # What an earlier run has left.
    for name in ["course", "exchange"]:
        shutil.rmtree(PREFIX / name, ignore_errors=True)
    import_image(taper)
    homes = Path(tempfile.mkdtemp(dir=PREFIX))
    try:
        prepare(taper, homes)
        python = str(PREFIX / "hub/bin/python")
        subprocess.run(["unshare", "--net", python, str(HERE / "server.py"), str(taper)], check=True)
    finally:
        # The folder can be removed only after it is unmounted.
        for target in ["/home/student4", "/home", "/etc"]:
            subprocess.run(["umount", "--lazy", target], check=False, capture_output=True)
        shutil.rmtree(homes, ignore_errors=True)


def mount(source: Path, target: Path) -> None:
    subprocess.run(["mount", "--bind", source, target], check=True)


def installing() -> dict[str, str]:
    """Returns the environment in which an administrator prepares the class."""
    python = next(p for p in ("/usr/bin/python3", shutil.which("python3")) if p and Path(p).exists())
    kept = ("HOME", "PATH", "PIP_INDEX_URL", "CARGO_HOME", "http_proxy", "https_proxy")
    kept += ("NODE_EXTRA_CA_CERTS", "PIP_CERT", "SSL_CERT_FILE")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    return environment | {"PATH": f"{PREFIX}/rust/bin:{os.environ['PATH']}", "PYTHON": python, "LANG": "C.UTF-8"}


def import_image(taper: Path) -> None:
    image = os.environ.get("TAPER_HUB_IMAGE")
    if image:
        store = PREFIX / "store"
        into = installing() | {"TAPER_CACHE": str(store), "CARGO_HOME": f"{store}/cargo"}
        subprocess.run([taper, "image", "import", image], env=into, check=True)


def prepare(taper: Path, homes: Path) -> None:
    """Adds the users, and prepares the class as an administrator does."""
    began = time.monotonic()
    hide(homes)
    add_users(STUDENTS, "students", PASSWORD)
    add_users([TEACHER], None, PASSWORD)
    # The hostile one has a home of its own size.
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m,mode=700", "none", "/home/student4"], check=True)
    shutil.chown("/home/student4", "student4", "student4")
    command = [taper, "class", PREFIX, "--course", "rust101", "--teacher", TEACHER]
    with subprocess.Popen(command, env=installing(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as made:
        said = made.stdout.read()
    assert made.returncode == 0 and "Back up" in said, said
    print(f"the class is prepared in {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
