"""Tries, as one user of a server, to use another user's kernel and to change the store; fails if any attempt succeeds.

    stranger.py '{"sockets": […], "read": […], "list": […], "store": …}'
"""

import json
import os
import socket
import sys
from pathlib import Path


def connect(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)


def change(path: Path) -> None:
    with open(path, "r+b") as file:
        file.write(b"x")


def main() -> None:
    task = json.loads(sys.argv[1])
    store = Path(task["store"])
    library = next(store.glob("images/*/work/target/**/libtaper*.so"))
    tries = [(f"connect to {path}", lambda path=path: connect(path)) for path in task["sockets"]]
    tries += [(f"read {path}", lambda path=path: open(path, "rb").read(1)) for path in task["read"]]
    tries += [(f"list {path}", lambda path=path: os.listdir(path)) for path in task["list"]]
    tries += [
        (f"write {library}", lambda: change(library)),
        (f"remove {library}", library.unlink),
        (f"replace {library}", lambda: os.rename(library, library.with_name("other"))),
        (f"write into {store}", lambda: (store / "new").touch()),
        (f"write into {library.parent}", lambda: (library.parent / "new").touch()),
        (f"replace {store}/bin/taper", lambda: change(store / "bin/taper")),
        (f"chmod {library}", lambda: library.chmod(0o777)),
    ]
    for what, attempt in tries:
        try:
            attempt()
        except PermissionError:
            continue
        sys.exit(f"user {os.getuid()} could {what}")


if __name__ == "__main__":
    main()
