# SPDX-License-Identifier: BSD-3-Clause
"""The processes of a job with memory servers, for tests that stop or kill some."""
import os
import time


def children(pid):
    """All processes whose parent is `pid`, with their command lines."""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as stat:
                parent = int(stat.read().rsplit(")", 1)[1].split()[1])
            with open(f"/proc/{entry}/cmdline", "rb") as line:
                found[int(entry)] = (parent, line.read().decode(errors="replace"))
        except (OSError, IndexError):
            continue
    return {child: line for child, (parent, line) in found.items() if parent == pid}


def servers_of(job, count, deadline):
    """Process ids of the memory servers, in order, once they are there."""
    until = time.monotonic() + deadline
    while time.monotonic() < until:
        servers = sorted(pid for pid, line in children(job.pid).items() if "shmem_memory" in line)
        if len(servers) == count:
            return servers
        time.sleep(0.01)
    raise AssertionError("the memory servers did not start")
