#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: core_file_test.py PROGRAM

A core file has what the PE has touched of its own heap, nothing of its peers', and is small however large the heap is
(core_file.c). OSHRUN names the launcher. 77: this machine writes no core files where a program runs."""
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile

program = pathlib.Path(sys.argv[1]).resolve()
MOST = 160 << 20  # bytes, of libraries, stacks and what the launcher's library keeps; a heap has 3 GiB


def core_of(number, *settings, size="3g"):
    """The core file's size, and whose heaps are in it."""
    with tempfile.TemporaryDirectory(prefix="atoll-core.") as folder:
        pathlib.Path(folder, "heap").mkdir()
        settings = [setting.replace("FOLDER", folder) for setting in settings]
        options = [word for setting in (f"SHMEM_SYMMETRIC_SIZE={size}", *settings) for word in ("-x", setting)]
        done = subprocess.run([os.environ["OSHRUN"], "-n", "2", "--timeout", "50", *options, program, str(int(number))], cwd=folder,
                              capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
        assert done.returncode == 128 + number, f"exit code {done.returncode}: {done.stderr}"
        cores = list(pathlib.Path(folder).glob("core*"))
        assert len(cores) == 1, f"one core file should be there: {cores}, {done.stderr}"
        content = cores[0].read_bytes()
        return len(content), [pe for pe in (0, 1) if f"the heap of PE {pe}\0".encode() in content]


if not pathlib.Path("/proc/sys/kernel/core_pattern").read_text().startswith("core"):
    print("core files are given to a program, or lie elsewhere")
    sys.exit(77)
most = resource.getrlimit(resource.RLIMIT_CORE)[1]
if most != resource.RLIM_INFINITY:
    print("core files are limited")
    sys.exit(77)
resource.setrlimit(resource.RLIMIT_CORE, (most, most))
NVM = ("SHMEM_HEAP=nvm:FOLDER/heap", "SHMEM_NVM_CACHE=512m")
for case, expected in (((signal.SIGSEGV,), [1]),
                       ((signal.SIGQUIT,), [1]),
                       ((signal.SIGABRT, "SHMEM_BACKTRACE=0"), [1]),
                       ((signal.SIGSEGV, "SHMEM_CORE=none"), []),
                       ((signal.SIGSEGV, *NVM), [])):
    size, heaps = core_of(*case)
    print(f"{case}: {size >> 20} MiB, with the heaps of {heaps}")
    assert size < MOST, "it should be small"
    assert heaps == expected, f"it should have the heaps of {expected}"
size, heaps = core_of(signal.SIGSEGV, "SHMEM_CORE=all", size="300m")
assert heaps == [0, 1] and size > 2 * (300 << 20), f"all of {size} bytes should be there, not {heaps} alone"
