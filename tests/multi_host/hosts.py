#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a program on hosts that this script makes: namespaces of their own for network, host name, mounts, IPC and
processes, joined by a virtual switch.  Unlike virtual nodes these have different addresses, different host names and
different /dev/shm, and no process of one sees those of another.  `oshrun -H` starts the job from a head host without
PEs, as from a login node, and Open MPI's mpirun reaches the hosts through a stand-in for ssh, which like ssh carries
no environment.

    hosts.py [--hosts COUNT] [--time-limit SECONDS] [--mpirun] [-x NAME=VALUE]... [-n PES] PROGRAM [ARGUMENTS]

-n and -x are those of oshrun, or with --mpirun those of Open MPI's mpirun, which then starts the job without oshrun.
OSHRUN names the launcher.  Exits with the job's code; 77 (skipped) where namespaces, ip or mpirun are not to be had.
A host that cannot be made for another reason is a failure.
"""
import argparse
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
HEAD = "atoll-head"
UNSHARED = ["--net", "--uts", "--mount", "--ipc"]


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIPPED)


# What tools say where the system does not let one make hosts, or cannot.
REFUSALS = ("Operation not permitted", "Permission denied", "Operation not supported", "Unknown device type",
            # No more namespaces (user.max_net_namespaces), and a kernel without them.
            "unshare failed: No space left on device", "unshare failed: Invalid argument")
TOOLS_ENVIRONMENT = {**os.environ, "LC_ALL": "C"}  # so that they say it in these words


def no_hosts(what, said):
    """Ends the test: skipped where hosts are not to be had, else failed."""
    if any(refusal in said for refusal in REFUSALS):
        skip(f"{what}: {said.strip()}")
    sys.exit(f"{what}: {said.strip()}")


def wait_for(condition, what, seconds=10):
    """What the condition is, once it is true."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise SystemExit(f"not within {seconds} s: {what}")
        time.sleep(0.02)


def send(number, pids):
    """The signal of this number, to those that are still there."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def end_with_the_test():
    """In a child."""
    import ctypes
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Host:
    """Namespaces, alive as long as the process that holds them."""

    def __init__(self, name, number, own_processes=True):
        self.name = name
        self.number = number
        self.address = f"10.77.0.{number}"
        self.own_processes = own_processes
        flags = [*UNSHARED, *(["--pid", "--fork", "--kill-child"] if own_processes else [])]
        self.maker = subprocess.Popen(["unshare", *flags, "sleep", "3600"], stdin=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, text=True, env=TOOLS_ENVIRONMENT,
                                      preexec_fn=end_with_the_test)
        wait_for(lambda: self._sleeper() or self.maker.poll() is not None, f"the namespaces of {name} are there")
        if self.maker.poll() is not None:
            no_hosts("unshare", self.maker.communicate()[1])
        self.pid = self._sleeper()

    def _sleeper(self):
        """The process that holds the namespaces, once it has called exec: then all of them exist."""
        with contextlib.suppress(OSError, ValueError):
            pid = self.maker.pid
            if self.own_processes:
                pid = int(pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text())
            if pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "sleep":
                return pid
        return None

    def enter(self):
        """Words before a command that shall run there."""
        return ["nsenter", "--target", str(self.pid), *UNSHARED, *(["--pid"] if self.own_processes else []), "--"]

    def run(self, *command):
        done = subprocess.run([*self.enter(), *command], stderr=subprocess.PIPE, text=True, env=TOOLS_ENVIRONMENT)
        if done.returncode != 0:
            no_hosts(" ".join(command), done.stderr)

    def cut(self):
        """Takes the cable off, without a word on either side."""
        self.run("ip", "link", "set", "cable", "down")

    def close(self):
        self.maker.kill()
        self.maker.communicate()


class Network:
    """A head and hosts on one switch."""

    def __init__(self, names, folder):
        self.folder = folder
        self.hosts = []
        self._all = []
        self.switch = self._add(Host("atoll-switch", 254, own_processes=False))
        self.head = self._add(Host(HEAD, 253, own_processes=False))
        for number, name in enumerate(names, 1):
            self.hosts.append(self._add(Host(name, number)))

    def _add(self, host):
        self._all.append(host)
        return host

    def connect(self):
        """Cables, addresses, names and a private /dev/shm and /proc on each host."""
        joined = [self.head, *self.hosts]
        names = self.folder / "hosts"
        names.write_text("127.0.0.1 localhost\n" + "".join(f"{h.address} {h.name}\n" for h in joined))
        for host in joined:
            own = ["mount -t proc proc /proc"] if host.own_processes else []
            self._shell(host, f"hostname {host.name}", f"mount --bind {names} /etc/hosts", *own,
                        "mount -t tmpfs -o mode=1777,size=64m tmpfs /dev/shm", "mount -t sysfs sysfs /sys || true",
                        "ip link set lo up")
        self._wire("switch", "cable", joined, lambda host: host.address)

    def connect_again(self):
        """A second network between the hosts, on an interface `second` with the address 10.78.0.NUMBER."""
        self._wire("switch2", "second", self.hosts, lambda host: f"10.78.0.{host.number}")

    def _wire(self, switch, cable, joined, address):
        self._shell(self.switch, "ip link set lo up", f"ip link add {switch} type bridge", f"ip link set {switch} up",
                    *(f"ip link add {switch}-{i} type veth peer name {cable} netns {host.pid}; "
                      f"ip link set {switch}-{i} master {switch}; ip link set {switch}-{i} up" for i, host in enumerate(joined)))
        for host in joined:
            self._shell(host, f"ip address add {address(host)}/24 dev {cable}", f"ip link set {cable} up")
        for host in joined:
            wait_for(lambda: self._up(host, cable), f"the cable of {host.name} is up")

    @staticmethod
    def _shell(host, *commands):
        host.run("sh", "-e", "-c", "; ".join(commands))

    @staticmethod
    def _up(host, cable):
        """The kernel brings a cable up some time after both of its ends."""
        state = subprocess.run([*host.enter(), "ip", "-oneline", "link", "show", cable], check=True,
                               stdout=subprocess.PIPE, text=True).stdout
        return "state UP" in state and "NO-CARRIER" not in state

    def part(self, one, other):
        """Frames between two hosts go to nobody from now on, without a word; others arrive."""
        for host, peer in ((one, other), (other, one)):
            host.run("ip", "neighbour", "replace", peer.address, "lladdr", "02:00:00:00:00:01", "dev", "cable",
                     "nud", "permanent")

    def remote_shell(self):
        """What mpirun uses in the place of ssh: HOST COMMAND..., with the environment and the folder of a login."""
        script = self.folder / "remote-shell"
        lines = ["#!/bin/sh", "host=$1", "shift", "cd /", "case $host in"]
        lines += [f"  {h.name}) set -- {' '.join(h.enter())} env -i HOME=/ PATH=/usr/local/bin:/usr/bin:/bin "
                  "sh -c \"$*\" ;;" for h in self.hosts]
        lines += ["  *) echo \"unknown host $host\" >&2; exit 1 ;;", "esac", 'exec "$@"']
        script.write_text("\n".join(lines) + "\n")
        script.chmod(0o755)
        return script

    def environment(self, **variables):
        """For what runs on the head; without what a job around the test has set."""
        mine = {name: value for name, value in os.environ.items() if not name.startswith(("PMIX_", "SLURM_"))}
        return {**mine, "OMPI_MCA_plm_rsh_agent": str(self.folder / "remote-shell"),
                "OMPI_MCA_plm_rsh_no_tree_spawn": "1", "ATOLL_TEST_HOSTS": str(len(self.hosts)), **variables}

    def names(self, places=""):
        """What follows -H."""
        return ",".join(host.name + places for host in self.hosts)

    def oshrun(self, *words, hosts=None):
        """The command, from the head, on all hosts."""
        return [*self.head.enter(), "env", "-C", os.getcwd(), os.environ.get("OSHRUN", "oshrun"), "-H", hosts or self.names(),
                *map(str, words)]

    def mpirun(self, pes, *words):
        """The same without oshrun."""
        places = -(-int(pes) // len(self.hosts))
        return [*self.head.enter(), "env", "-C", os.getcwd(), "mpirun", "--allow-run-as-root", "--bind-to", "none", "--host",
                self.names(f":{places}"), "-n", str(pes), *map(str, words)]

    def processes(self, program=None, hosts=None):
        """Those on these hosts, all or those that run the program.  They are processes of this machine, too."""
        networks = {os.readlink(f"/proc/{host.pid}/ns/net") for host in (self.hosts if hosts is None else hosts)}
        found = []
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if entry.isdigit() and os.readlink(f"/proc/{entry}/ns/net") in networks and \
                        (program is None or os.readlink(f"/proc/{entry}/exe") == str(program)):
                    found.append(int(entry))
        return found

    def close(self):
        for host in reversed(self._all):
            host.close()


def on_hosts(count, run, names=()):
    """What run(network) returns; the hosts are atoll-h0, atoll-h1, ... if they are not named."""
    for tool in ("unshare", "nsenter", "ip", "mpirun", "hostname"):
        if not shutil.which(tool):
            skip(f"{tool} is not installed")
    if os.geteuid() != 0:
        skip("making hosts needs root")
    with tempfile.TemporaryDirectory(prefix="atoll-hosts.", dir="/tmp", ignore_cleanup_errors=True) as folder:
        network = Network(names or [f"atoll-h{i}" for i in range(count)], pathlib.Path(folder))
        try:
            network.connect()
            network.remote_shell()
            return run(network)
        finally:
            network.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--time-limit", type=int, default=120)
    parser.add_argument("--mpirun", action="store_true")
    parser.add_argument("-n", default=4)
    parser.add_argument("-x", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("program")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()

    def run(network):
        settings = [word for setting in options.x for word in ("-x", setting)]
        program = [*settings, options.program, *options.arguments]
        command = network.mpirun(options.n, *program) if options.mpirun else network.oshrun("-n", options.n, *program)
        # mpirun does not end by itself when its hosts have gone, as they do if this script is killed.
        return subprocess.run(command, env=network.environment(), stdin=subprocess.DEVNULL, timeout=options.time_limit,
                              preexec_fn=end_with_the_test).returncode

    return on_hosts(options.hosts, run)


if __name__ == "__main__":
    sys.exit(main())
