#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: checkers_test.py valgrind|asan OSHCC

valgrind and AddressSanitizer find what blocks.c does wrong, and nothing where it is right, whatever the size of the heap;
and valgrind's leak check does not read the heap. OSHRUN names the launcher. 77: there is no such tool."""
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile

tool, oshcc = sys.argv[1:]
here = pathlib.Path(__file__).parent
FOUND = 9  # valgrind's exit code, if we say so
MOST_KIB = 3 << 20  # that one process may have; the default heap, which is half the machine's, was read
environment = {key: value for key, value in os.environ.items() if not key.endswith("SAN_OPTIONS") and key != "VALGRIND_OPTS"}


def job(program, what, nodes, size):
    options = ["-x", f"SHMEM_SYMMETRIC_SIZE={size}"] if size else []
    checker = ["valgrind", "-q", f"--error-exitcode={FOUND}"] if tool == "valgrind" else []
    return subprocess.run([os.environ["OSHRUN"], "-n", "2", "--virtual-nodes", str(nodes), "--timeout", "200", *options, *checker,
                           program, what], capture_output=True, text=True, timeout=220, env=environment, stdin=subprocess.DEVNULL)


with tempfile.TemporaryDirectory(prefix="atoll-checkers.") as folder:
    program = f"{folder}/blocks"
    flags = ["-fsanitize=address"] if tool == "asan" else []
    if subprocess.run([oshcc, "-g", *flags, here / "blocks.c", "-o", program], stderr=subprocess.DEVNULL).returncode or \
            (tool == "valgrind" and not (shutil.which("valgrind") and pathlib.Path("/usr/include/valgrind/memcheck.h").exists())):
        sys.exit(77)
    for what, nodes, size, said in (("right", 1, None, ""), ("right", 2, "64m", ""),
                                    ("over", 1, "64m", ("Invalid write", "WRITE of size 1 ")),
                                    ("put", 1, "64m", ("Invalid write", "WRITE of size 104 ")),
                                    ("read", 1, "64m", ("Invalid read", "READ of size 1 ")),
                                    ("freed", 1, "64m", ("Invalid read", "READ of size 1 "))):
        done = job(program, what, nodes, size)
        if not said and (done.returncode != 0 or done.stderr):
            sys.exit(f"{what} on {nodes} nodes: nothing is wrong, but {done.returncode}: {done.stderr}")
        pattern = said and said[tool == "asan"]
        if said and (done.returncode == 0 or pattern not in done.stderr):
            sys.exit(f"{what}: '{pattern}' should be found, not {done.returncode}: {done.stderr}")
    if tool == "valgrind":
        used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        print(f"the largest process had {used >> 10} MiB")
        if used > MOST_KIB:
            sys.exit("the heap should not have been read")
