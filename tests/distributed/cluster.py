#!/usr/bin/env python3
"""Tests training on several hosts with one machine: network namespaces with MPI over TCP, and Slurm with one node.

    python3 tests/distributed/cluster.py           # as root; .ci/nightly
    python3 tests/distributed/cluster.py slurm     # or a part of it: hosts, slurm

Needs Debian's packages iproute2, munge, slurmctld, slurmd and slurm-client. A part that cannot run here is skipped.
"""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from mpi import ROOT
from run import TOLERANCE, Runs, values

SETTINGS = ["net=lenet", "examples=107", "batch=32", "epochs=2"]
# In place of ssh: starts a command in the namespace of the address.
AGENT = """#!/bin/bash
name=tapernet${1##*.}
shift
exec ip netns exec $name unshare -u sh -c "hostname $name; $*"
"""
# The cells of a notebook that is exported.
CELLS = [
    ':dep taper = { path = ".." }\nuse taper::prelude::*;',
    "manual_seed(1);\n"
    "let mut model = Classifier::new(seq![Flatten, LazyLinear::new(10)], 0.1);\n"
    "let history = Trainer::new(2).distributed()?.fit(&mut model, &Digits::new())?;\n"
    'println!("val_loss {:.4}", history.last("val_loss").unwrap());',
]


def call(*command):
    subprocess.run(command, check=True)


def hosts(runs):
    """Trains on two hosts: network namespaces with a network of their own, without shared memory or a common host name."""
    names = ["tapernet1", "tapernet2"]
    with tempfile.TemporaryDirectory() as folder:
        agent = Path(folder, "agent")
        agent.write_text(AGENT)
        agent.chmod(0o755)
        try:
            for name in names:
                call("ip", "netns", "add", name)
            call("ip", "link", "add", "taper1", "netns", names[0], "type", "veth", "peer", "name", "taper2", "netns", names[1])
            for i, name in enumerate(names, 1):
                inside = ["ip", "netns", "exec", name]
                call(*inside, "ip", "link", "set", "lo", "up")
                call(*inside, "ip", "addr", "add", f"10.77.0.{i}/24", "dev", f"taper{i}")
                call(*inside, "ip", "link", "set", f"taper{i}", "up")
                slow_down([*inside, "tc", "qdisc", "add", "dev", f"taper{i}", "root"])
            one = [float(loss) for loss in values(runs.run(1, *SETTINGS)[1], "loss")]
            command = ["mpirun", "--prtemca", "plm_ssh_agent", str(agent), "--host", "10.77.0.1:1,10.77.0.2:1"]
            command += ["-x", "LD_LIBRARY_PATH", "-n", "2", str(runs.program), *SETTINGS]
            shell = f"hostname {names[0]}; {' '.join(command)}"
            inside = ["ip", "netns", "exec", names[0], "unshare", "-u", "sh", "-c", shell]
            variables = {k: v for k, v in runs.variables.items() if not k.startswith("PRTE_MCA")}
            said = subprocess.run(inside, env=variables, capture_output=True, text=True, timeout=300)
            losses = [float(loss) for loss in values(said.stdout.split("\n"), "loss")]
            same = len(losses) == len(one) and all(abs(a - b) < TOLERANCE * abs(b) for a, b in zip(losses, one))
            runs.check("two hosts over TCP", "" if same else f"{losses} instead of {one}\n{said.stderr}")
        finally:
            for name in names:
                subprocess.run(["ip", "netns", "del", name], capture_output=True)


def slow_down(add):
    """Sets the delay and bandwidth of a cluster with Ethernet, as far as this system's kernel supports it."""
    delayed = [*add, "netem", "delay", "1ms", "rate", "1gbit"]
    limited = [*add, "tbf", "rate", "1gbit", "burst", "64kb", "latency", "10ms"]
    if subprocess.run(delayed, capture_output=True).returncode != 0:
        done = subprocess.run(limited, capture_output=True).returncode == 0
        print("(the network has no delay)" if done else "(the network has neither delay nor a limit)")


@contextlib.contextmanager
def slurm_of_one_node(folder):
    """Starts Slurm's daemons for this machine; yields the variable with which its commands find them."""
    for place in ["/run/munge", "/var/log/munge", "/var/lib/munge"]:
        Path(place).mkdir(parents=True, exist_ok=True)
        shutil.chown(place, "munge", "munge")
    key = Path("/etc/munge/munge.key")
    if not key.exists():
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        shutil.chown(key, "munge", "munge")
    host = socket.gethostname().split(".")[0]
    for name in ["state", "spool"]:
        Path(folder, name).mkdir()
    config = Path(folder, "slurm.conf")
    config.write_text(
        f"""ClusterName=test
SlurmctldHost={host}
SlurmUser=root
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
NodeName={host} CPUs={max(2, os.cpu_count())} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES State=UP
SlurmdParameters=config_overrides
"""
    )
    daemons = [["runuser", "-u", "munge", "--", "munged", "--foreground"]]
    daemons += [[name, "-D", "-f", str(config)] for name in ["slurmctld", "slurmd"]]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = []
    try:
        for daemon in daemons:
            running.append(subprocess.Popen(daemon, **quiet))
            time.sleep(1)
        yield {"SLURM_CONF": str(config)}
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait()


def slurm(runs):
    """Exports a notebook, and runs its job file through sbatch."""
    with tempfile.TemporaryDirectory() as folder:
        cells = [
            {"cell_type": "code", "id": f"c{i}", "metadata": {}, "outputs": [], "execution_count": None, "source": cell}
            for i, cell in enumerate(CELLS)
        ]
        notebook = Path(folder, "digits.ipynb")
        notebook.write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
        project = Path(folder, "project")
        target = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
        call(target / "debug/taper", "export", "--distributed", notebook, "--to", project)
        with slurm_of_one_node(folder) as own:
            # The job file expects the project's own target folder; CI sets another.
            variables = {**runs.variables, **own, "CARGO_TARGET_DIR": str(project / "target")}
            job = ["sbatch", "--wait", "--output=job.log", "jobs/digits.slurm.sh"]
            status = subprocess.run(job, cwd=project, env=variables, timeout=1800).returncode
            log = Path(project, "job.log")
            text = log.read_text() if log.exists() else "(no log)"
        printed = [line for line in text.split("\n") if line.startswith("val_loss ")]
        runs.check("an exported job runs on Slurm", "" if status == 0 and len(printed) == 1 else f"status {status}\n{text}")


def main() -> int:
    runs = Runs()
    parts = {"hosts": (hosts, ["ip", "unshare"]), "slurm": (slurm, ["sbatch", "slurmd", "slurmctld", "munged"])}
    for name in sys.argv[1:] or parts:
        part, programs = parts[name]
        missing = [program for program in programs if not shutil.which(program)]
        if missing or os.getuid() != 0:
            print(f"skipped {name}: needs root, and {', '.join(missing or programs)}")
            continue
        part(runs)
    return int(runs.failed > 0)


if __name__ == "__main__":
    sys.exit(main())
