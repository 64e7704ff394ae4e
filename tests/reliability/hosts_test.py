#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: hosts_test.py <phases> <test> [slurm] [tcp | sockets] [4hosts] [alone] [phase of phases.c]

Hosts of their own (tests/multi_host/hosts.py) under mpirun, or Slurm, of which one is lost, in the middle of a phase, by default
of collective operations, or, under Slurm, of calls of the kv store:
    cut        the cable of one of two, or four, without a word on either side
    noticed    the same, and mpirun is told to look for it as docs/reliability.md says
    late       the same, but it is told to look for so long that the PEs end before; whether it ends is said, and no more
    frozen     one of two, and all that runs on it, until no PE is left on the other
    killed     all PEs of one of them
    partition  of three, two no longer reach each other, and the third reaches both
With tcp or sockets PEs speak libfabric's provider of that name (tcp has rxm in libfabric 1.17).  With alone each host has one
PE, else two, and the second one begins to count when the first one has gone, for ten seconds.  OSHRUN names the launcher.
77 (skipped) where hosts cannot be made."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "multi_host"))
import hosts as made  # noqa: E402
import slurm_job  # noqa: E402
from ended_job import has_lost_its_words  # noqa: E402
from phase_options import PHASES, options  # noqa: E402

program, test, *how = sys.argv[1:]
engine = "slurm" in how
provider = {"SHMEM_PROVIDER": name for name in ("tcp", "sockets") if name in how}
HOSTS = 3 if test == "partition" else 4 if "4hosts" in how else 2
EACH = 1 if test == "partition" or "alone" in how else 2
PES = EACH * HOSTS
PHASE = ([phase for phase in how if phase in PHASES] or ["kv" if engine else "collective"])[0]
TIMEOUT = 20 if test == "noticed" else 3  # SHMEM_PEER_TIMEOUT
KEEPALIVE = {"OMPI_MCA_oob_tcp_keepalive_time": "2", "OMPI_MCA_oob_tcp_keepalive_intvl": "1",
             "OMPI_MCA_oob_tcp_keepalive_probes": "10" if test == "late" else "3"}
# Seconds until no PE is left.  On a host that Slurm has lost each PE that gives up takes 5 s more, and its neighbour
# begins to count when it has gone.
AT_MOST = 15 if test == "noticed" else TIMEOUT + (35 if engine else 20)


def lose_a_host(network):
    if test in ("cut", "noticed", "late"):
        network.hosts[1].cut()
    elif test == "partition":
        network.part(*network.hosts[1:])
    elif test == "frozen":
        made.send(signal.SIGSTOP, network.processes(hosts=network.hosts[1:]))
    else:
        made.send(signal.SIGKILL, network.processes(program, network.hosts[1:]))


SILENT = (r"has not answered for \d+ s \(SHMEM_PEER_TIMEOUT\), and "
          r"(?:shmemx?_\w+|an operation on the NVM heap|a (?:load|store)) waits ")


def reach_each_other(host, other):
    if test == "partition":
        return {host, other} != {1, 2}
    return (host == 1) == (other == 1)


def accusations(said):
    """Of these lines, those that name a PE that cannot be reached, as pairs of PEs; and ends if one says of another PE that it does
    not answer, but of one that has itself said a line before, and so has ended."""
    pairs, ended = [], set()
    for pe, host, line in re.findall(rf"^atoll: PE (\d+) of {PES} on atoll-h(\d): (.*)$", said, re.MULTILINE):
        if named := re.match(r"PE (\d+) on host atoll-h(\d) " + SILENT, line):
            other, its_host = named.groups()
            if int(its_host) != int(other) // EACH:
                sys.exit(f"PE {other} is not on host atoll-h{its_host}")
            if not reach_each_other(int(host), int(its_host)):
                pairs.append((int(pe), int(other)))
            elif other not in ended:
                sys.exit(f"PE {pe} names PE {other}, which it can reach")
        ended.add(pe)
    return pairs


def check(said):
    """Who has noticed says whom it waits for, and where that one is, and nobody else."""
    pairs = accusations(said)
    if test in ("cut", "frozen") and not any(pe // EACH != 1 for pe, _ in pairs):
        sys.exit("no line names a PE of the host that was lost")
    if test == "noticed" and not re.search(r"lost communication with a remote daemon\.\s+HNP.*\s+Remote daemon: .* atoll-h1$", said,
                                           re.MULTILINE):
        sys.exit("mpirun does not name the host that was lost")
    if test == "partition" and not pairs:
        sys.exit("no line names a PE that could not be reached")
    # A PE that has lost a peer may end the job before mpirun hears of the signal.
    if test == "killed" and not has_lost_its_words(said) and not re.search(
            r"signal 9|atoll-h1: tasks? [23-]+: Killed|^atoll: PE \d of \d on atoll-h[023]: .*PE [23] ", said, re.MULTILINE):
        sys.exit("neither the engine nor a PE has said who died")


def words(network):
    """What oshrun is given."""
    heap = network.folder / "heap"
    heap.mkdir()
    return [*options(PHASE, heap), program, PHASE, "none"]


def run_with_mpirun(network):
    extra = KEEPALIVE if test in ("noticed", "late") else {}
    run(network, network.oshrun("-n", PES, *words(network)), {**network.environment(), **extra, **provider})


def run_with_slurm(network):
    command = slurm_job.allocation(network, PES, words(network))
    own = {**network.environment(), **provider}
    slurm_job.on_slurm(lambda environment: run(network, command, {**own, **environment}), network)


def run(network, command, environment):
    out, err = network.folder / "out", network.folder / "err"
    with open(out, "w") as stdout, open(err, "w") as stderr:
        job = subprocess.Popen(command, env={**environment, "SHMEM_PEER_TIMEOUT": str(TIMEOUT)}, start_new_session=True,
                               stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
    try:
        made.wait_for(lambda: out.read_text().count("under way") == PES or job.poll() is not None,
                      "all PEs are in the middle of it", 60)
        if job.poll() is not None:
            sys.exit("the job ended by itself")
        lose_a_host(network)
        before = time.monotonic()
        others = network.hosts[:1] if test == "frozen" else network.hosts
        made.wait_for(lambda: "has not answered" in err.read_text() or not network.processes(program, others), "somebody notices",
                      AT_MOST)
        if "has not answered" in err.read_text():
            print(f"the first line came {time.monotonic() - before:.1f} s after the host was lost")
        made.wait_for(lambda: not network.processes(program, others), "no PE is left", AT_MOST)
        print(f"no PE was left {time.monotonic() - before:.1f} s after the host was lost")
        if test == "frozen":
            made.send(signal.SIGCONT, network.processes(hosts=network.hosts[1:]))
            made.wait_for(lambda: not network.processes(program), "no PE is left on the host that was frozen", AT_MOST)
            print(f"nor on it {time.monotonic() - before:.1f} s after the host was lost")
        if test == "late":
            with contextlib.suppress(subprocess.TimeoutExpired):
                job.wait(timeout=60)
            print(f"mpirun {'has ended' if job.poll() is not None else 'is still there'} "
                  f"{time.monotonic() - before:.0f} s after the host was lost")
        elif test != "cut" or engine:  # mpirun waits for the daemon of the host that was lost
            job.wait(timeout=30)
            print(f"the job had ended {time.monotonic() - before:.1f} s after the host was lost")
            if job.returncode == 0:
                sys.exit("the job ended with code 0")
    finally:
        print(out.read_text() + err.read_text())
        made.send(signal.SIGCONT, network.processes())
        made.send(signal.SIGKILL, network.processes(program))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)
        job.wait()
    check(err.read_text())


sys.exit(made.on_hosts(HOSTS, run_with_slurm if engine else run_with_mpirun))
