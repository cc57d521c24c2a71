"""A class on one server: JupyterHub with four users of the system, who read one store and cannot change it; nbgrader.

    tests/hub/run.py TAPER [FOLDER]

Installs `packaging/jupyterhub` into FOLDER, which is kept for the next run, and starts it unchanged. The users exist
in this test's namespaces only, where there is no network. Needs root on Linux, node with npm, and Python with
venv; otherwise prints what is missing, and fails if `CI` is set. TAPER is a command that carries its sources. If TAPER_HUB_IMAGE names an exported
image, it is imported instead of compiled. TAPER_HUB_QUICK leaves out the end of idle servers, which takes two minutes.
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
PREFIX = Path("/opt/taper-hub")
HUB = "http://127.0.0.1:8000"
STUDENTS = [f"student{number}" for number in range(1, 5)]
PASSWORD = "a password of the class"
CHAPTER = "course/01-welcome.ipynb"
FIRST_TENSOR = ":dep taper\nuse taper::prelude::*;\nzeros(2)"
# The limits for one student: memory and disk, in MB.
MEMORY, DISK = 300, 50


def main() -> None:
    taper = Path(sys.argv[1]).resolve()
    if os.environ.get("TAPER_HUB_INSIDE"):
        return inside(taper)
    missing = [program for program in ("unshare", "useradd", "npm", "bwrap") if not shutil.which(program)]
    if sys.platform != "linux" or os.geteuid() != 0 or missing:
        print(f"skipped: needs root on Linux and {', '.join(missing) or 'the programs of a server'}")
        sys.exit(1 if os.environ.get("CI") else 0)
    folder = Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp()).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    command = ["unshare", "--mount", "--propagation=private", sys.executable, __file__, str(taper)]
    os.execvpe(command[0], command, {**os.environ, "TAPER_HUB_INSIDE": str(folder)})


def inside(taper: Path) -> None:
    """Continues in a mount namespace: mounts the server's folders at their final paths, installs, then starts `server.py`."""
    folder = Path(os.environ["TAPER_HUB_INSIDE"])
    PREFIX.mkdir(parents=True, exist_ok=True)
    mount(folder, PREFIX)
    # Rust where all users can run it; root's home is closed to them.
    sysroot = subprocess.check_output(["rustc", "--print", "sysroot"], text=True).strip()
    (PREFIX / "rust").mkdir(exist_ok=True)
    mount(Path(sysroot), PREFIX / "rust")
    if not os.environ.get("TAPER_HUB_INSTALLED"):
        install(taper)
        # Continues without a network: only the loopback device is there.
        os.environ["TAPER_HUB_INSTALLED"] = "1"
        subprocess.run(["unshare", "--net", sys.executable, __file__, str(taper)], check=True)
        return
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    python = str(PREFIX / "hub/bin/python")
    os.execv(python, [python, str(HERE / "server.py")])


def mount(source: Path, target: Path) -> None:
    subprocess.run(["mount", "--bind", source, target], check=True)


def install(taper: Path) -> None:
    began = time.monotonic()
    python = next(p for p in ("/usr/bin/python3", shutil.which("python3")) if p and Path(p).exists())
    kept = ("HOME", "PATH", "PIP_INDEX_URL", "CARGO_HOME", "http_proxy", "https_proxy")
    kept += ("NODE_EXTRA_CA_CERTS", "PIP_CERT", "SSL_CERT_FILE")
    environment = {name: os.environ[name] for name in kept if name in os.environ}
    environment |= {"PATH": f"{PREFIX}/rust/bin:{os.environ['PATH']}", "PYTHON": python, "LANG": "C.UTF-8"}
    image = os.environ.get("TAPER_HUB_IMAGE")
    if image:
        store = PREFIX / "store"
        into = environment | {"TAPER_CACHE": str(store), "CARGO_HOME": f"{store}/cargo"}
        subprocess.run([taper, "image", "import", image], env=into, check=True)
    subprocess.run([ROOT / "packaging/jupyterhub/install", taper, PREFIX], env=environment, check=True)
    print(f"installed in {time.monotonic() - began:.0f} s", flush=True)


if __name__ == "__main__":
    main()
