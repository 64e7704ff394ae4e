#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: hosts_test.py <phases> <test>

Two hosts under mpirun, as tests/multi_host/two_hosts.py makes them, of which one is lost: its cable is cut, without a
word on either side, or all its PEs are killed.  77 (skipped) where hosts cannot be made."""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

sys.path.append(str(pathlib.Path(__file__).parents[1] / "multi_host"))
import two_hosts  # noqa: E402

program, test = sys.argv[1:]
PES = 4
TIMEOUT = 3  # SHMEM_PEER_TIMEOUT
AT_MOST = TIMEOUT + 20  # seconds until no PE is left


def pes(hosts):
    """Processes on these hosts that run the program.  They are this host's processes, too."""
    networks = {os.readlink(f"/proc/{host.holder.pid}/ns/net") for host in hosts}
    found = []
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError):
            if entry.isdigit() and os.readlink(f"/proc/{entry}/exe") == program and \
                    os.readlink(f"/proc/{entry}/ns/net") in networks:
                found.append(int(entry))
    return found


def wait_for(condition, what, seconds):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"not within {seconds} s: {what}")
        time.sleep(0.02)


def lose_a_host(hosts):
    if test == "cut":
        hosts[1].run("ip", "link", "set", "cable", "down")
        return
    for pid in pes(hosts[1:]):
        os.kill(pid, signal.SIGKILL)


def run(hosts, folder):
    command = two_hosts.mpirun(hosts, folder, PES, [program, "collective", "none"])
    out, err = folder / "out", folder / "err"
    with open(out, "w") as stdout, open(err, "w") as stderr:
        job = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True)
    try:
        wait_for(lambda: out.read_text().count("process ") == PES, "all PEs have started", 60)
        time.sleep(0.5)  # in the middle of collective operations
        lose_a_host(hosts)
        before = time.monotonic()
        wait_for(lambda: not pes(hosts), "no PE is left", AT_MOST)
        print(f"no PE was left {time.monotonic() - before:.1f} s after the host was lost")
        if test == "killed":
            job.wait(timeout=30)
    finally:
        print(out.read_text() + err.read_text())
        for pid in pes(hosts):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(job.pid, signal.SIGKILL)
        job.wait()
    said = err.read_text()
    if test == "cut" and not re.search(r"^atoll: PE [01] of 4 on atoll-h0: PE [23] on host atoll-h1 has not answered for "
                                       rf"{TIMEOUT} s \(SHMEM_PEER_TIMEOUT\), and shmem_\w+ waits ", said, re.MULTILINE):
        sys.exit("no line names a PE of the host that was lost")
    # A PE that has lost a peer may end the job before mpirun hears of the signal.
    if test == "killed" and not re.search(r"signal 9|^atoll: PE [01] of 4 on atoll-h0: .*PE [23] ", said, re.MULTILINE):
        sys.exit("neither mpirun nor a PE has said who died")


os.environ["SHMEM_PEER_TIMEOUT"] = str(TIMEOUT)
sys.exit(two_hosts.on_two_hosts(run))
