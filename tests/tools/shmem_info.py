#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: shmem_info.py <shmem_info> <version> <build type> <compiler> [all]

What shmem_info says of this machine is what Python finds here.  all: with a limit of addresses, which a sanitizer has not
enough of."""
import ctypes
import os
import re
import resource
import subprocess
import sys

tool, version, build_type, compiler = sys.argv[1:5]
KIB, GIB = 1 << 10, 1 << 30
CAP_IPC_LOCK = 14


def human(number):
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if number < 1024 or unit == "TiB":
            return f"{number:.4g} {unit}"
        number /= 1024


def expect(found, expected, what):
    if found != expected:
        sys.exit(f"{what}: found {found!r}, expected {expected!r}")


def limits(soft):
    """Of the process that becomes shmem_info."""
    for kind, most in soft.items():
        resource.setrlimit(kind, most)


def rows(soft):
    """Name and value of each row, and lines without a value."""
    done = subprocess.run([tool], capture_output=True, text=True, timeout=30, check=True, preexec_fn=lambda: limits(soft))
    expect(done.stderr, "", "on stderr")
    before = done.stdout.split("\n\nEnvironment variables, with the values in force here\n  SHMEM_")[0]
    return [tuple(re.split("  +", line.strip(), maxsplit=1)) if line.startswith("  ") else line
            for line in before.splitlines()]


def version_of(library, function, kind):
    call = getattr(ctypes.CDLL(library), function)
    call.restype = kind
    return call()


def main():
    soft = {resource.RLIMIT_NOFILE: (100, 200), resource.RLIMIT_MEMLOCK: (48 * KIB, 48 * KIB)}
    if sys.argv[5:] == ["all"]:
        soft[resource.RLIMIT_AS] = (3 * GIB, resource.RLIM_INFINITY)
    said = rows(soft)
    table = dict(row for row in said if isinstance(row, tuple))
    shared = os.statvfs("/dev/shm")
    free, total = re.fullmatch(r"(.*) free of (.*) \(used by SHMEM_MAPPER=posix only\)", table.pop("/dev/shm")).groups()
    expect(total, human(shared.f_blocks * shared.f_frsize), "all of /dev/shm")
    expect(re.fullmatch(r"[0-9.]+ (bytes|[KMGT]iB)", free) is not None, True, f"free of /dev/shm: {free}")
    with open("/proc/self/status", encoding="ascii") as status:
        capabilities = int(re.search(r"^CapEff:\s*([0-9a-f]+)$", status.read(), re.MULTILINE).group(1), 16)
    locks_all = capabilities >> CAP_IPC_LOCK & 1 == 1
    pinned = re.fullmatch(r"[0-9.]+ [KMGT]iB if it is alone on this host and the provider pins \(InfiniBand and its like\); (.*)",
                          table.pop("pinned by a PE")).group(1)
    expect(re.fullmatch("that may be" if locks_all else "too much: a process may lock 48 KiB; .*", pinned) is not None, True,
           f"pinned by a PE: {pinned}")
    fabric, hwloc = (version_of(*what, ctypes.c_uint32) for what in
                     (("libfabric.so.1", "fi_version"), ("libhwloc.so.15", "hwloc_get_api_version")))
    pmix = version_of("libpmix.so.2", "PMIx_Get_version", ctypes.c_char_p).decode().split("(")[0].strip()
    expect(said[0], f"Atoll OpenSHMEM {version}", "the first line")
    expect([row for row in said if isinstance(row, str)][1:], ["", "Libraries", "", "This machine"], "headings")
    expect(table, {
        "specification": "OpenSHMEM 1.6", "compiled with": compiler, "build type": build_type, "PMIx": pmix,
        "libfabric": f"{fabric >> 16}.{fabric & 0xffff} (loaded only for PEs on several nodes)",
        "hwloc": f"{hwloc >> 16}.{hwloc >> 8 & 0xff}.{hwloc & 0xff}", "cores": str(os.sysconf("SC_NPROCESSORS_ONLN")),
        "memory": human(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")),
        "locked memory": "48 KiB, " + ("without a limit for this process" if locks_all else "at most 48 KiB"),
        "address space": "3 GiB" if resource.RLIMIT_AS in soft else "unlimited", "open files": "100, at most 200"}, "rows")
    for word, code in (("--help", 0), ("-h", 0), ("--nonsense", 2)):
        done = subprocess.run([tool, word], capture_output=True, text=True, timeout=30, check=False)
        said, other = (done.stdout, done.stderr) if code == 0 else (done.stderr, done.stdout)
        expect((done.returncode, other, said.splitlines()[0]), (code, "", "usage: shmem_info [--providers]"), word)


main()
