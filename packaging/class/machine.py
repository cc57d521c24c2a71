"""A machine with users, homes and a hub of its own, for tests and for a dry run: it is in this mount namespace only."""

import grp
import ipaddress
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
from urllib.parse import SplitResult, urlsplit

# How long the hub may take to start, in seconds.
LIMIT = 120


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
    # The name service's cache knows only the users of the real /etc.
    if Path("/run/nscd").is_dir():
        mount(folder / "home", Path("/run/nscd"))


def add_users(names: list[str], group: str | None, password: str) -> None:
    """Adds users with homes that are their own, who sign in with this password."""
    if group and group not in {known.gr_name for known in grp.getgrall()}:
        subprocess.run(["groupadd", group], check=True)
    in_group = ["--groups", group] if group else []
    for name in names:
        home = ["--create-home", "--home-dir", f"/home/{name}"]
        command = ["useradd", *home, *in_group, "--shell", "/bin/bash", name]
        subprocess.run(command, check=True, capture_output=True)
        os.chmod(f"/home/{name}", 0o700)
    lines = "".join(f"{name}:{password}\n" for name in names)
    subprocess.run(["chpasswd"], input=lines, text=True, check=True)


def environment() -> dict[str, str]:
    """Returns the environment of a hub, without the variables of the caller. The store names the Rust of its users, and
    the proxy needs the caller's Node."""
    return {"PATH": f"{os.environ['PATH']}:/usr/local/bin:/usr/bin:/bin:/usr/sbin", "LANG": "C.UTF-8"}


def configured(folder: Path) -> SplitResult:
    return urlsplit(json.loads((folder / "class.json").read_text())["address"].rstrip("/"))


def be_reachable(folder: Path) -> None:
    """Gives the hub's address to this machine, which has only the loopback device."""
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    host = configured(folder).hostname or ""
    try:
        number = ipaddress.ip_address(host or "0.0.0.0")
    except ValueError:
        with open("/etc/hosts", "a") as hosts:
            hosts.write(f"\n127.0.0.1 {host}\n")
        return
    if not number.is_loopback and not number.is_unspecified:
        subprocess.run(["ip", "address", "add", host, "dev", "lo"], check=True)


def address(folder: Path) -> str:
    """Returns the address at which a browser on this machine finds the hub: it may listen at all addresses."""
    url = configured(folder)
    everywhere = {None: "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "[::1]"}
    if url.hostname in everywhere:
        port = f":{url.port}" if url.port else ""
        url = url._replace(netloc=everywhere[url.hostname] + port)
    return url.geturl()


@contextmanager
def hub(folder: Path, **variables: str):
    """Runs the hub of a class as it was installed."""
    log = folder / "state/hub.log"
    command = [folder / "hub/bin/jupyterhub", "-f", folder / "jupyterhub_config.py"]
    with open(log, "w") as output:
        process = subprocess.Popen(
            command, env=environment() | variables, cwd=folder / "state", stdout=output, stderr=output
        )
    try:
        until = time.monotonic() + LIMIT
        while not answers(address(folder)):
            assert process.poll() is None and time.monotonic() < until, "the hub does not start"
            time.sleep(0.3)
        yield
    except BaseException:
        lines = [line for line in log.read_text().splitlines() if "/hub/health" not in line]
        print(*lines[-50:], sep="\n", flush=True)
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
