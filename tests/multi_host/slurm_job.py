#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program under Slurm: a controller and two node daemons on loopback, made by this script and ended with it,
then `srun --mpi=pmix` over both nodes.  With --hosts the nodes are hosts of their own (hosts.py), and `oshrun` in an
allocation of all of them starts the job.

    slurm_job.py [-n PES] [--time-limit SECONDS] [--mpi KIND | --hosts COUNT] PROGRAM [ARGUMENTS]

Exits with the job's code; 77 (skipped) where Slurm or munge are not installed or this is not root.
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

sys.path.append(str(pathlib.Path(__file__).parent))
import hosts  # noqa: E402

SKIPPED = 77
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


def here(folder):
    """The lines for nodes that are daemons on this host."""
    host = socket.gethostname()
    controller, *ports = free_ports(1 + len(NODES))
    lines = [f"SlurmctldHost={host}(127.0.0.1)", f"SlurmctldPort={controller}"]
    return lines + [f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port}" for name, port in zip(NODES, ports)]


def on_network(network):
    """Those for hosts of their own."""
    # For longer than the tests of hosts that are lost wait, as at sites with slow networks.  srun waits KillWait and two
    # seconds for a step that it ends, and those tests for srun.
    lines = [f"SlurmctldHost={network.head.name}({network.head.address})", "MessageTimeout=90", "KillWait=10"]
    return lines + [f"NodeName={host.name} NodeAddr={host.address}" for host in network.hosts]


def configuration(folder, munge_socket, places):
    cpus = os.cpu_count()
    lines = [
        "ClusterName=atoll", "SlurmUser=root",
        "AuthType=auth/munge", f"AuthInfo=socket={munge_socket}", "CryptoType=crypto/munge",
        f"SlurmctldPidFile={folder}/slurmctld.pid", f"StateSaveLocation={folder}/state",
        f"SlurmctldLogFile={folder}/slurmctld.log", f"SlurmdLogFile={folder}/slurmd.%n.log",
        f"SlurmdPidFile={folder}/slurmd.%n.pid", f"SlurmdSpoolDir={folder}/spool.%n", f"TmpFS={folder}/tmp.%n",
        "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "JobAcctGatherType=jobacct_gather/none",
        "AccountingStorageType=accounting_storage/none", "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core", "SwitchType=switch/none", "MpiDefault=none", "ReturnToService=2",
    ]
    names = []
    for place in places:
        if place.startswith("NodeName="):
            names.append(place.split()[0].removeprefix("NodeName="))
            for sub in ("spool", "tmp"):
                (folder / f"{sub}.{names[-1]}").mkdir()
            place += f" CPUs={cpus} SocketsPerBoard=1 CoresPerSocket={cpus} ThreadsPerCore=1 RealMemory=1000"
        lines.append(place)
    lines.append(f"PartitionName=test Nodes={','.join(names)} Default=YES MaxTime=INFINITE State=UP "
                 "OverSubscribe=FORCE:64")
    (folder / "state").mkdir()
    (folder / "slurm.conf").write_text("\n".join(lines) + "\n")
    # No cgroup is needed, but without this line a daemon looks for one below /sys.
    (folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")
    return names


def start_munge(folder):
    """A munge daemon of our own, so that no system service is needed."""
    private = folder / "munge"
    private.mkdir(mode=0o755)
    key = private / "key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    command = ["munged", "--foreground", "--force", f"--socket={private}/socket", f"--key-file={key}",
               f"--pid-file={private}/pid", f"--log-file={private}/log", f"--seed-file={private}/seed"]
    daemon = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              preexec_fn=hosts.end_with_the_test)
    wait_until(lambda: (private / "socket").exists(), "munged did not start")
    return daemon, private / "socket"


def wait_until(condition, otherwise, seconds=60):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.05)
    sys.exit(otherwise)


def idle_nodes(environment, enter):
    output = subprocess.run([*enter, "sinfo", "--noheader", "--format=%D", "--states=idle"], env=environment,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return sum(int(word) for word in output.split())


def start_slurm(folder, daemons, network=None):
    """The environment that srun and its like need to find it."""
    munge, munge_socket = start_munge(folder)
    daemons.append(munge)
    names = configuration(folder, munge_socket, here(folder) if network is None else on_network(network))
    # Without what a Slurm around the test has set.
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("SLURM_", "PMIX_"))}
    environment = dict(outside, SLURM_CONF=str(folder / "slurm.conf"))
    head = [] if network is None else network.head.enter()
    places = [[]] * len(names) if network is None else [host.enter() for host in network.hosts]
    commands = [[*head, "slurmctld", "-D", "-c"], *([*place, "slurmd", "-D", "-N", name] for place, name in zip(places, names))]
    for command in commands:
        daemons.append(subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, preexec_fn=hosts.end_with_the_test))
    wait_until(lambda: idle_nodes(environment, head) == len(names), "the Slurm nodes did not come up")
    return environment


def on_slurm(run, network=None):
    """What run(environment) returns."""
    for tool in ("srun", "slurmctld", "slurmd", "munged"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    if os.geteuid() != 0:
        skip("node daemons need root")
    daemons = []
    with tempfile.TemporaryDirectory(prefix="atoll-slurm.", dir="/tmp", ignore_cleanup_errors=True) as folder:
        try:
            return run(start_slurm(pathlib.Path(folder), daemons, network))
        finally:
            for daemon in reversed(daemons):
                daemon.send_signal(signal.SIGTERM)
            for daemon in daemons:
                try:
                    daemon.wait(10)
                except subprocess.TimeoutExpired:
                    daemon.kill()
                    daemon.wait()


def allocation(network, pes, words):
    """The command of a job in an allocation of all hosts of the network."""
    return [*network.head.enter(), "env", "-C", os.getcwd(), "salloc", "--quiet", f"--nodes={len(network.hosts)}",
            f"--ntasks={pes}", "--overcommit", os.environ.get("OSHRUN", "oshrun"), *map(str, words)]


def on_hosts(count, pes, limit, program):
    """The code of a job on that many hosts."""
    def job(network):
        command = allocation(network, pes, ["--timeout", limit - 10, *program])
        own = network.environment()
        return on_slurm(lambda environment: subprocess.run(command, env={**own, **environment}, stdin=subprocess.DEVNULL,
                                                           timeout=limit).returncode, network)
    return hosts.on_hosts(count, job)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=4)
    parser.add_argument("--mpi", default="pmix")
    parser.add_argument("--time-limit", type=int, default=120)
    parser.add_argument("--hosts", type=int)
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    if options.hosts:
        return on_hosts(options.hosts, options.n, options.time_limit, [options.program, *options.arguments])
    command = ["srun", f"--mpi={options.mpi}", "--nodes", str(len(NODES)), "--ntasks", str(options.n), "--overcommit",
               "--kill-on-bad-exit=1", "--input=none", options.program, *options.arguments]
    return on_slurm(lambda environment: subprocess.run(command, env=environment, timeout=options.time_limit).returncode)


if __name__ == "__main__":
    sys.exit(main())
