"""JupyterHub for a class on one machine. `taper class` puts this file beside the folders that it names.

Students are the users of this machine in one group; they sign in with the passwords of the system. The address, the group
and the memory of a student are in `class.json`. Put a server that speaks HTTPS in front of the hub.
"""

import asyncio
import json
import os
import pwd
import signal
import subprocess
from pathlib import Path

here = Path(__file__).resolve().parent
store = here / "store"
state = here / "state"
taper = store / "bin/taper"
answers = json.loads((here / "class.json").read_text())
# In seconds. Kernels without a cell for this time are ended, then servers without a kernel.
idle = int(os.environ.get("TAPER_HUB_IDLE", 3600))
# For one student. MEMORY is the limit of the process in which cells run. A kernel without variables uses about
# 0.24 GB, with that process; tensors and the compilation of cells need more.
MEMORY = answers["memory"]
THREADS = "2"
# Processes and threads of one student: a server and a kernel have about a hundred.
PROCESSES = 1024

c = get_config()  # noqa: F821 (JupyterHub defines it)

c.JupyterHub.bind_url = answers["address"]
c.JupyterHub.db_url = f"sqlite:///{state}/jupyterhub.sqlite"
c.JupyterHub.cookie_secret_file = str(state / "cookie_secret")
c.ConfigurableHTTPProxy.command = [str(here / "proxy/node_modules/.bin/configurable-http-proxy")]
c.ConfigurableHTTPProxy.pid_file = str(state / "proxy.pid")

c.JupyterHub.authenticator_class = "pam"
c.PAMAuthenticator.allowed_groups = {answers["group"]}

# On a machine with systemd, `jupyterhub-systemdspawner` limits processor and memory of each user as a whole.
c.JupyterHub.spawner_class = "jupyterhub.spawner.LocalProcessSpawner"
# The system counts the processes and threads of a user together, so that no student can use up those of all.
c.Spawner.cmd = ["prlimit", f"--nproc={PROCESSES}", "--core=0", str(here / "hub/bin/jupyterhub-singleuser")]
c.Spawner.default_url = "/lab/tree/course/01-welcome.ipynb"
c.Spawner.start_timeout = 120
c.Spawner.http_timeout = 120
c.Spawner.environment = {
    "TAPER_STORE": str(store),
    "JUPYTER_PATH": str(store / "share/jupyter"),
    # Where nbgrader finds the course.
    "JUPYTER_CONFIG_PATH": str(here / "etc"),
    # No cell is compiled before a student runs it: the processors are shared.
    "TAPER_AHEAD": "0",
    "TAPER_MEMORY": MEMORY,
    "RAYON_NUM_THREADS": THREADS,
    "CARGO_BUILD_JOBS": THREADS,
}
c.Spawner.args = [
    # Sockets that other users cannot open. Over TCP they could read what a kernel publishes.
    "--KernelManager.transport=ipc",
    f"--MappingKernelManager.cull_idle_timeout={idle}",
    f"--MappingKernelManager.cull_interval={min(idle, 300)}",
    "--MappingKernelManager.cull_connected=True",
    "--ServerApp.terminals_enabled=False",
]


# How many students' folders are written at the same time, and for how long one may take, in seconds.
writers = asyncio.Semaphore(8)
WRITING = 10
# Keeps the tasks that wait for the end of killed processes.
reaped = set()


async def write_course(spawner):
    """Writes the chapters into the student's home, except for those that the student has edited.

    The hub serves others meanwhile. If the folder cannot be written in time, the server starts without the new chapters.
    """
    user = pwd.getpwnam(spawner.user.name)
    async with writers:
        process = await asyncio.create_subprocess_exec(
            str(taper),
            "course",
            f"{user.pw_dir}/course",
            env={"HOME": user.pw_dir, "TAPER_STORE": str(store), "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
            # Not the home, which may be on a file system that does not answer.
            cwd="/",
            user=user.pw_uid,
            group=user.pw_gid,
            extra_groups=[],
            umask=0o077,
            start_new_session=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            code = await asyncio.wait_for(process.wait(), WRITING)
        except asyncio.TimeoutError:
            os.killpg(process.pid, signal.SIGKILL)
            reaped.add(asyncio.ensure_future(process.wait()))
            code = f"no end within {WRITING} s"
    if code != 0:
        spawner.log.warning("%s: `taper course` failed (%s): run it as this user", user.pw_name, code)


c.Spawner.pre_spawn_hook = write_course

c.JupyterHub.load_roles = [
    {
        "name": "cull-idle",
        "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
        "services": ["cull-idle"],
    }
]
c.JupyterHub.services = [
    {
        "name": "cull-idle",
        "command": [
            str(here / "hub/bin/python"),
            "-m",
            "jupyterhub_idle_culler",
            f"--timeout={idle}",
            f"--cull-every={min(idle, 300)}",
        ],
    }
]
