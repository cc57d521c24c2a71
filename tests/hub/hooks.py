"""The hub's spawn hook with 200 students in a minute, some of whom are hostile: none delays the hub or the others.

    tests/hub/hooks.py

Loads `packaging/jupyterhub/jupyterhub_config.py` as the hub does, with a command in place of `taper` that answers after
a moment, or never for a hostile student. Needs root, because the hook changes to the student's user.
"""

import asyncio
import json
import os
import pwd
import shutil
import sys
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "packaging/class"))
from machine import become_root  # noqa: E402

CONFIG = Path(__file__).resolve().parents[2] / "packaging/jupyterhub/jupyterhub_config.py"
TAPER = """#!/bin/sh
case "$2" in *hostile*) exec sleep 600;; *) sleep 0.02; touch "$HOME/written";; esac
"""
STUDENTS, HOSTILE = 200, 6


class Settings:
    """What JupyterHub's `get_config` returns: any attribute can be set."""

    def __getattr__(self, name: str):
        setattr(self, name, Settings())
        return getattr(self, name)


def main() -> None:
    if sys.platform != "linux":
        return print("skipped: the hub is for Linux")
    become_root()
    if os.geteuid() != 0:
        print("skipped: needs root, or a user namespace with further users")
        sys.exit(1 if os.environ.get("CI") else 0)
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        check(folder)
    finally:
        shutil.rmtree(folder)
    print("1 passed, 0 failed")


def check(folder: Path) -> None:
    shutil.copy(CONFIG, folder)
    answers = dict(group="students", address="http://127.0.0.1:8000", memory="2G")
    (folder / "class.json").write_text(json.dumps(answers))
    program = folder / "store/bin/taper"
    program.parent.mkdir(parents=True)
    program.write_text(TAPER)
    program.chmod(0o755)
    settings = Settings()
    scope = {"get_config": lambda: settings, "__file__": str(folder / CONFIG.name)}
    exec(compile(CONFIG.read_text(), CONFIG, "exec"), scope)
    # Long enough for an honest student on a busy machine.
    scope["WRITING"] = 10
    names = [f"student{number}" for number in range(STUDENTS)]
    for number in range(HOSTILE):
        names.insert(number * 20, f"hostile{number}")
    users = {}
    for number, name in enumerate(names):
        home = folder / name
        home.mkdir()
        os.chown(home, 20000 + number, 20000)
        users[name] = SimpleNamespace(pw_name=name, pw_uid=20000 + number, pw_gid=20000, pw_dir=str(home))
    scope["pwd"] = SimpleNamespace(getpwnam=users.__getitem__)
    failed = asyncio.run(spawn(settings.Spawner.pre_spawn_hook, names))
    assert sorted(failed) == sorted(name for name in names if "hostile" in name), failed
    missing = [name for name in names if "student" in name and not (folder / name / "written").exists()]
    assert not missing, missing
    owner = (folder / "student7/written").stat()
    assert owner.st_uid == users["student7"].pw_uid and owner.st_mode & 0o077 == 0, owner


async def spawn(hook, names: list[str]) -> list[str]:
    """Starts all servers at once; returns whose chapters were not written. Prints how long the event loop was blocked."""
    failed, blocked, done = [], [0.0], asyncio.Event()

    async def heartbeat() -> None:
        while not done.is_set():
            began = time.monotonic()
            await asyncio.sleep(0.01)
            blocked.append(time.monotonic() - began - 0.01)

    def spawner(name: str) -> SimpleNamespace:
        log = SimpleNamespace(warning=lambda text, who, why: failed.append(who))
        return SimpleNamespace(user=SimpleNamespace(name=name), log=log)

    beating = asyncio.create_task(heartbeat())
    began = time.monotonic()
    await asyncio.gather(*(hook(spawner(name)) for name in names))
    done.set()
    await beating
    print(f"{len(names)} students in {time.monotonic() - began:.1f} s, the loop blocked for {max(blocked):.3f} s at most")
    # A hook that waits would block it for ten seconds for each hostile student.
    assert len(blocked) > STUDENTS / 10, "the hub answers others meanwhile"
    return failed


if __name__ == "__main__":
    main()
