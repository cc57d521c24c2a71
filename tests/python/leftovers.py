"""What kernels leave behind when they have ended: processes, folders, open files."""

import os
import uuid
from pathlib import Path

import psutil

# Whatever we start from now on inherits it, and whatever that starts.
MARK = "TAPER_TEST_RUN"
os.environ[MARK] = uuid.uuid4().hex


def processes() -> list[psutil.Process]:
    """What works because of us; our dead children that nobody collected too."""
    ours = {process.pid: process for process in psutil.Process().children(recursive=True)}
    for process in psutil.process_iter():
        if mark_of(process) == os.environ[MARK]:
            ours[process.pid] = process
    return list(ours.values())


def mark_of(process: psutil.Process) -> str | None:
    try:
        return process.environ().get(MARK)
    except psutil.Error:
        return None


def session_folders() -> list[str]:
    """The folders of sessions in our cache."""
    folder = Path(os.environ["TAPER_CACHE"], "sessions")
    return sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []


def open_files() -> int:
    """How many file descriptors we hold."""
    return psutil.Process().num_fds()
