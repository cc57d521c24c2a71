"""Tries, as one user of a server, to use what belongs to another user, to the class or to the hub.

    stranger.py TASK

TASK is JSON with the paths and processes to attack. Prints each attempt; fails if any succeeds.
"""

import json
import os
import signal
import socket
import sys
from pathlib import Path


def connect(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)


def change(path: Path) -> None:
    with open(path, "r+b") as file:
        file.write(b"x")


def attempts(task: dict) -> list:
    store, home, hub, course, exchange = (Path(task[name]) for name in ("store", "home", "hub", "course", "exchange"))
    image = next(store.glob("images/*/work"))
    compiled = json.loads((image / "artifacts.json").read_text())["libraries"]
    files = [file for package in compiled if package["name"] == "taper" for file in package["files"]]
    library = next(image / file for file in files if file.endswith(".so"))
    kernel = Path(f"/proc/{task['kernel']}")
    read = lambda path: lambda: open(path, "rb").read(1)
    listed = lambda path: lambda: os.listdir(path)
    tries = [(f"connect to the kernel's socket {path[-1]}", lambda path=path: connect(path)) for path in task["sockets"]]
    tries += [
        ("read the code of a session", read(task["session"])),
        ("list the sessions", listed(home / ".cache/taper/sessions")),
        ("read the environment of a kernel", read(kernel / "environ")),
        ("read the memory of a kernel", read(kernel / "mem")),
        ("list the open files of a kernel", listed(kernel / "fd")),
        ("end a kernel", lambda: os.kill(task["kernel"], signal.SIGTERM)),
        ("list the connection files", listed(home / ".local/share/jupyter/runtime")),
        ("write into the home", lambda: (home / "new").touch()),
        ("write into the course of another", lambda: (home / "course/new").touch()),
        ("change a library of the store", lambda: change(library)),
        ("remove a library of the store", library.unlink),
        ("replace a library of the store", lambda: os.rename(library, library.with_name("other"))),
        ("add to the store", lambda: (store / "new").touch()),
        ("add a library to the store", lambda: (library.parent / "new").touch()),
        ("replace the command", lambda: change(store / "bin/taper")),
        ("open the store for all", lambda: library.chmod(0o777)),
        ("read the hub's secret", read(hub / "cookie_secret")),
        ("read the hub's database", read(hub / "jupyterhub.sqlite")),
        ("list the hub's state", listed(hub)),
        ("read the environment of the hub", read(f"/proc/{task['hub_process']}/environ")),
        ("read the gradebook", read(course / "gradebook.db")),
        ("list the submissions", listed(course)),
        ("change the configuration of the class", lambda: change(hub.parent / "class.json")),
        ("change the course's configuration", lambda: change(hub.parent / "etc/nbgrader_config.py")),
        ("remove what is released", lambda: os.rename(exchange / "rust101", exchange / "other")),
        ("list what others have submitted", listed(exchange / "rust101/inbound")),
        ("release an assignment", lambda: (exchange / "rust101/outbound/new").mkdir()),
    ]
    return tries


def main() -> None:
    for what, attempt in attempts(json.loads(sys.argv[1])):
        try:
            attempt()
        except PermissionError:
            print(f"refused: {what}", flush=True)
            continue
        sys.exit(f"user {os.getuid()} could {what}")


if __name__ == "__main__":
    main()
