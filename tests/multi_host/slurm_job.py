#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program under Slurm: a controller and two node daemons on loopback, made by this script and ended with it,
then `srun --mpi=pmix` over both nodes.

    slurm_job.py [-n PES] [--mpi KIND] PROGRAM [ARGUMENTS]

Exits with srun's code; 77 (skipped) where Slurm or munge are not installed or this is not root.
"""
import argparse
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
TIME_LIMIT = 120
NODES = ("n1", "n2")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def configuration(folder, munge_socket):
    host = socket.gethostname()
    controller, *nodes = free_ports(1 + len(NODES))
    cpus = os.cpu_count()
    lines = [
        "ClusterName=atoll", f"SlurmctldHost={host}(127.0.0.1)", "SlurmUser=root",
        "AuthType=auth/munge", f"AuthInfo=socket={munge_socket}", "CryptoType=crypto/munge",
        f"SlurmctldPidFile={folder}/slurmctld.pid", f"StateSaveLocation={folder}/state",
        f"SlurmctldLogFile={folder}/slurmctld.log", f"SlurmdLogFile={folder}/slurmd.%n.log",
        f"SlurmdPidFile={folder}/slurmd.%n.pid", f"SlurmdSpoolDir={folder}/spool.%n", f"TmpFS={folder}/tmp.%n",
        "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "JobAcctGatherType=jobacct_gather/none",
        "AccountingStorageType=accounting_storage/none", "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core", "SwitchType=switch/none", "MpiDefault=none", "ReturnToService=2",
        f"SlurmctldPort={controller}",
    ]
    for name, port in zip(NODES, nodes):
        for sub in ("spool", "tmp"):
            (folder / f"{sub}.{name}").mkdir()
        lines.append(f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={cpus} "
                     f"SocketsPerBoard=1 CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory=1000")
    lines.append(f"PartitionName=test Nodes={','.join(NODES)} Default=YES MaxTime=INFINITE State=UP "
                 "OverSubscribe=FORCE:64")
    (folder / "state").mkdir()
    (folder / "slurm.conf").write_text("\n".join(lines) + "\n")


def start_munge(folder):
    """A munge daemon of our own, so that no system service is needed."""
    private = folder / "munge"
    private.mkdir(mode=0o755)
    key = private / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    command = ["munged", "--foreground", "--force", f"--socket={private}/socket", f"--key-file={key}",
               f"--pid-file={private}/pid", f"--log-file={private}/log", f"--seed-file={private}/seed"]
    daemon = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: (private / "socket").exists(), "munged did not start")
    return daemon, private / "socket"


def wait_until(condition, otherwise, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.05)
    sys.exit(otherwise)


def idle_nodes(environment):
    output = subprocess.run(["sinfo", "--noheader", "--format=%D", "--states=idle"], env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return sum(int(word) for word in output.split())


def run_job(folder, options, daemons):
    munge, munge_socket = start_munge(folder)
    daemons.append(munge)
    configuration(folder, munge_socket)
    environment = dict(os.environ, SLURM_CONF=str(folder / "slurm.conf"))
    daemons.append(subprocess.Popen(["slurmctld", "-D", "-c"], env=environment, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL))
    for node in NODES:
        daemons.append(subprocess.Popen(["slurmd", "-D", "-N", node], env=environment, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL))
    wait_until(lambda: idle_nodes(environment) == len(NODES), "the Slurm nodes did not come up")
    command = ["srun", f"--mpi={options.mpi}", "--nodes", str(len(NODES)), "--ntasks", str(options.n), "--overcommit",
               "--kill-on-bad-exit=1", "--input=none", options.program, *options.arguments]
    return subprocess.run(command, env=environment, timeout=TIME_LIMIT).returncode


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=4)
    parser.add_argument("--mpi", default="pmix")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    for tool in ("srun", "slurmctld", "slurmd", "munged"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    if os.geteuid() != 0:
        skip("node daemons need root")
    daemons = []
    with tempfile.TemporaryDirectory(prefix="atoll-slurm.", dir="/tmp", ignore_cleanup_errors=True) as folder:
        try:
            return run_job(pathlib.Path(folder), options, daemons)
        finally:
            for daemon in reversed(daemons):
                daemon.send_signal(signal.SIGTERM)
            for daemon in daemons:
                try:
                    daemon.wait(10)
                except subprocess.TimeoutExpired:
                    daemon.kill()
                    daemon.wait()


if __name__ == "__main__":
    sys.exit(main())
