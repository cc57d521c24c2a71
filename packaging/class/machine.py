"""A machine with users, homes and a hub of its own, for tests and for a dry run: it is in this mount namespace only."""

import grp
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

LIMIT = 300


def become_root() -> None:
    """Starts this program again as root, or as root of a user namespace, if it is not and if that is possible."""
    if os.geteuid() == 0:
        return
    for way in (["sudo", "-n", "-E"], ["unshare", "--user", "--map-root-user", "--map-auto"]):
        if shutil.which(way[0]) and subprocess.run([*way, "true"], capture_output=True).returncode == 0:
            os.execvp(way[0], [*way, sys.executable, *sys.argv])


def mount(source: Path, target: Path) -> None:
    subprocess.run(["mount", "--bind", source, target], check=True)


def hide(folder: Path) -> None:
    """Puts copies of /etc and an empty /home in the place of the real ones; `folder` holds them."""
    shutil.copytree("/etc", folder / "etc", symlinks=True)
    (folder / "home").mkdir()
    mount(folder / "etc", Path("/etc"))
    mount(folder / "home", Path("/home"))


def add_users(names: list[str], group: str | None, password: str) -> None:
    """Adds users with homes that are their own, who sign in with this password."""
    if group and group not in {known.gr_name for known in grp.getgrall()}:
        subprocess.run(["groupadd", group], check=True)
    in_group = ["--groups", group] if group else []
    for name in names:
        command = ["useradd", "--create-home", *in_group, "--shell", "/bin/bash", name]
        subprocess.run(command, check=True, capture_output=True)
        os.chmod(f"/home/{name}", 0o700)
    lines = "".join(f"{name}:{password}\n" for name in names)
    subprocess.run(["chpasswd"], input=lines, text=True, check=True)


def environment(folder: Path) -> dict[str, str]:
    """Returns the environment of a hub and of its users, without the variables of the caller."""
    path = [folder / "rust/bin", Path(rust()), "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin"]
    return {"PATH": ":".join(map(str, path)), "LANG": "C.UTF-8"}


def rust() -> str:
    """Returns the folder of the Rust that all users can run."""
    return str(Path(shutil.which("rustc") or "/usr/bin/rustc").parent)


def address(folder: Path) -> str:
    return json.loads((folder / "class.json").read_text())["address"].rstrip("/")


@contextmanager
def hub(folder: Path, **variables: str):
    """Runs the hub of a class as it was installed."""
    log = folder / "state/hub.log"
    command = [folder / "hub/bin/jupyterhub", "-f", folder / "jupyterhub_config.py"]
    with open(log, "w") as output:
        process = subprocess.Popen(
            command, env=environment(folder) | variables, cwd=folder / "state", stdout=output, stderr=output
        )
    try:
        until = time.monotonic() + LIMIT
        while not answers(address(folder)):
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


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/hub/health", timeout=5):
            return True
    except OSError:
        return False


@contextmanager
def scratch(parent: Path):
    """A folder for what is mounted elsewhere; it can be removed only after it is unmounted."""
    folder = Path(tempfile.mkdtemp(dir=parent))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        for target in ["/home", "/etc"]:
            subprocess.run(["umount", "--lazy", target], check=False, capture_output=True)
        shutil.rmtree(folder, ignore_errors=True)
