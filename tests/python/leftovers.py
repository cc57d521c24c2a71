"""Leftovers of kernels that have ended: processes, folders, open files."""

import os
import uuid
from pathlib import Path

import psutil

# All processes started from now on inherit this variable.
MARK = "TAPER_TEST_RUN"
os.environ[MARK] = uuid.uuid4().hex


def processes() -> list[psutil.Process]:
    """Returns the processes that this test has started, including zombies among its children."""
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
    """Returns the session folders in the cache of the tests."""
    folder = Path(os.environ["TAPER_CACHE"], "sessions")
    return sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []


def open_files() -> int:
    """Returns the number of open file descriptors of this process."""
    return psutil.Process().num_fds()
