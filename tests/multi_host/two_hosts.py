#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program on two hosts that this script makes: network, host-name and mount namespaces of their own, joined
by a virtual cable.  Unlike virtual nodes these have different addresses, different host names and different
/dev/shm, and Open MPI's mpirun starts the job.

    two_hosts.py [-n PES] PROGRAM [ARGUMENTS]

Exits with the job's code; 77 (skipped) where namespaces, ip or mpirun are not to be had.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ADDRESSES = ["10.77.0.1", "10.77.0.2"]
NAMES = ["atoll-h0", "atoll-h1"]
SKIPPED = 77
TIME_LIMIT = 120


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


class Host:
    """Namespaces, alive as long as the process that holds them."""

    def __init__(self, name):
        self.name = name
        self.holder = subprocess.Popen(["unshare", "--net", "--uts", "--mount", "--ipc", "sleep", "600"],
                                       stdin=subprocess.DEVNULL)
        own = os.readlink("/proc/self/ns/net")
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline and self.holder.poll() is None:
            if os.readlink(f"/proc/{self.holder.pid}/ns/net") != own and self._unshared_all():
                return
            time.sleep(0.01)
        skip("namespaces cannot be made here")

    def _unshared_all(self):
        """The holder has called exec: all its namespaces exist."""
        return pathlib.Path(f"/proc/{self.holder.pid}/comm").read_text().strip() == "sleep"

    def enter(self):
        return ["nsenter", "--target", str(self.holder.pid), "--net", "--uts", "--mount", "--ipc", "--"]

    def run(self, *command):
        subprocess.run([*self.enter(), *command], check=True)

    def close(self):
        self.holder.kill()
        self.holder.wait()


def connect(hosts, folder):
    """Cable, addresses, names and a private /dev/shm on both hosts."""
    subprocess.run([*hosts[0].enter(), "ip", "link", "add", "cable", "type", "veth", "peer", "name", "cable",
                    "netns", str(hosts[1].holder.pid)], check=True)
    names = folder / "hosts"
    names.write_text("127.0.0.1 localhost\n" + "".join(f"{a} {n}\n" for a, n in zip(ADDRESSES, NAMES)))
    for host, address in zip(hosts, ADDRESSES):
        host.run("hostname", host.name)
        host.run("mount", "--bind", str(names), "/etc/hosts")
        host.run("mount", "-t", "tmpfs", "-o", "mode=1777,size=64m", "tmpfs", "/dev/shm")
        host.run("ip", "link", "set", "lo", "up")
        host.run("ip", "address", "add", f"{address}/24", "dev", "cable")
        host.run("ip", "link", "set", "cable", "up")
    for host in hosts:
        wait_for_carrier(host)


def wait_for_carrier(host):
    """The kernel brings a cable up some time after both of its ends."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        state = subprocess.run([*host.enter(), "ip", "-oneline", "link", "show", "cable"], check=True,
                               stdout=subprocess.PIPE, text=True).stdout
        if "state UP" in state and "NO-CARRIER" not in state:
            return
        time.sleep(0.02)
    sys.exit(f"the cable of {host.name} did not come up")



def remote_shell(hosts, folder):
    """What mpirun uses in the place of ssh: HOST COMMAND..."""
    script = folder / "remote-shell"
    lines = ["#!/bin/sh", "host=$1", "shift", "case $host in"]
    lines += [f"  {h.name}) set -- {' '.join(h.enter())} sh -c \"$*\" ;;" for h in hosts]
    lines += ["  *) echo \"unknown host $host\" >&2; exit 1 ;;", "esac", 'exec "$@"']
    script.write_text("\n".join(lines) + "\n")
    script.chmod(0o755)
    return script


def mpirun(hosts, folder, pes, program):
    """The command that starts the program on both hosts."""
    command = [*hosts[0].enter(), "mpirun"]
    if os.geteuid() == 0:
        command.append("--allow-run-as-root")
    per_host = (pes + 1) // 2
    command += ["--mca", "plm_rsh_agent", str(remote_shell(hosts, folder)), "--mca", "plm_rsh_no_tree_spawn", "1",
                "--mca", "oob_tcp_if_include", "cable", "--bind-to", "none",
                "--host", ",".join(f"{n}:{per_host}" for n in NAMES), "-n", str(pes)]
    for name in os.environ:
        if name.startswith(("SHMEM_", "ATOLL_", "FI_")):
            command += ["-x", name]
    return [*command, *program]


def on_two_hosts(run):
    """What run(hosts, folder) returns."""
    for tool in ("unshare", "nsenter", "ip", "mpirun", "hostname"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    if os.geteuid() != 0:
        skip("making hosts needs root")
    hosts = []
    with tempfile.TemporaryDirectory(prefix="atoll-hosts.", dir="/tmp") as folder:
        try:
            for name in NAMES:
                hosts.append(Host(name))
            connect(hosts, pathlib.Path(folder))
            return run(hosts, pathlib.Path(folder))
        except subprocess.CalledProcessError as error:
            skip(f"{' '.join(error.cmd)} failed")
        finally:
            for host in hosts:
                host.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", type=int, default=4)
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    program = [options.program, *options.arguments]
    return on_two_hosts(lambda hosts, folder: subprocess.run(mpirun(hosts, folder, options.n, program), stdin=subprocess.DEVNULL,
                                                             timeout=TIME_LIMIT).returncode)


if __name__ == "__main__":
    sys.exit(main())
