# SPDX-License-Identifier: BSD-3-Clause
"""Jobs of phases.c: which there are, and what oshrun needs for them."""
PES = 4
PHASES = ("finalize", "start", "connect", "put", "get", "atomic", "collective", "lock", "wait", "allocate", "fault", "persist",
          "remote", "kv", "compute", "small", "kv_later", "kv_wait")
WAYS = ("9", "11", "_exit3", "_exit0", "exit3")
NVM = ["-x", "SHMEM_NVM_PAGE=16k", "-x", "SHMEM_NVM_CACHE=512k"]
SERVERS = ["--memory-servers", "2", "--memory-per-server", "64m", "-x", "SHMEM_REMOTE_PAGE=64k", "-x", "SHMEM_REMOTE_LOCAL=2m"]


def options(phase, folder):
    """The folder is for what is on NVM."""
    if phase in ("fault", "persist"):
        return [*NVM, "-x", f"SHMEM_HEAP=nvm:{folder}"]
    return SERVERS if phase == "remote" else []


def row(phase, times, ways=WAYS):
    """Of a table: milliseconds for each way to end, those of each job that ended so."""
    cells = [", ".join(f"{1000 * time:.0f}" for time in times.get(way, ())) or "-" for way in ways]
    return f"| {' | '.join([phase, *cells])} |"
