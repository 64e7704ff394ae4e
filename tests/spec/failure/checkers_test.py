#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: checkers_test.py valgrind|asan OSHCC

valgrind and AddressSanitizer find what blocks.c does wrong, and nothing where it is right, whatever the size of the heap;
and valgrind's leak check does not read the heap, and finds what a program has lost, and nothing else. OSHRUN names the
launcher. 77: there is no such tool, or it does not work on a plain program that the compiler makes without Atoll."""
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
CHECKER = ["valgrind", "-q", f"--error-exitcode={FOUND}"] if tool == "valgrind" else []
LEAKS = ["--leak-check=full", "--errors-for-leak-kinds=definite,possible"]
FLAGS = ["-g"] + (["-fsanitize=address"] if tool == "asan" else [])
SMALL, LARGE = "64m", "3g"
MORE_KIB = 16 << 10  # that a process may have with LARGE than with SMALL; a leak check that read the heap would take GiB
environment = {key: value for key, value in os.environ.items() if not key.endswith("SAN_OPTIONS") and key != "VALGRIND_OPTS"}


def compiled(compiler, source, program):
    return subprocess.run([*compiler, *FLAGS, source, "-o", program], capture_output=True, text=True)


def tool_works(folder):
    """With what the compiler makes by itself: so that a wrapper which fails is no reason to skip."""
    compiler = subprocess.run([oshcc, "-showme:command"], capture_output=True, text=True, check=True).stdout.split()
    plain = pathlib.Path(folder, "plain.c")
    plain.write_text("int main(void) { return 0; }\n")
    if tool == "valgrind" and not (shutil.which("valgrind") and pathlib.Path("/usr/include/valgrind/memcheck.h").exists()):
        return False
    return compiled(compiler, plain, f"{folder}/plain").returncode == 0 and \
        subprocess.run([*CHECKER, f"{folder}/plain"], capture_output=True, env=environment).returncode == 0


def job(program, what, nodes, size, more=()):
    options = ["-x", f"SHMEM_SYMMETRIC_SIZE={size}"] if size else []
    return subprocess.run([os.environ["OSHRUN"], "-n", "2", "--virtual-nodes", str(nodes), "--timeout", "200", *options, *CHECKER,
                           *more, program, what], capture_output=True, text=True, timeout=220, env=environment,
                          stdin=subprocess.DEVNULL)


def expect_right(done, what):
    if done.returncode != 0 or done.stderr:
        sys.exit(f"{what}: nothing is wrong, but {done.returncode}: {done.stderr}")


def expect_found(done, what, pattern):
    if done.returncode == 0 or pattern not in done.stderr:
        sys.exit(f"{what}: '{pattern}' should be found, not {done.returncode}: {done.stderr}")


def largest(program, size):
    """KiB of the largest process of a job with a heap of this size.  In a child, as the figure is that of all children."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            expect_right(job(program, "right", 1, size, LEAKS), f"right, with a heap of {size}")
            os.write(write, str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss).encode())
        except SystemExit as end:
            print(end.code, file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    os.close(write)
    used = os.read(read, 100)
    if os.waitpid(child, 0)[1] != 0:
        sys.exit(1)
    return int(used)


with tempfile.TemporaryDirectory(prefix="atoll-checkers.") as folder:
    if not tool_works(folder):
        print(f"no {tool} that works here")
        sys.exit(77)
    program = f"{folder}/blocks"
    done = compiled([oshcc], here / "blocks.c", program)
    if done.returncode != 0:
        sys.exit(f"oshcc fails: {done.stderr}")
    expect_right(job(program, "right", 1, None), "right, with the default heap")
    leaks = LEAKS if tool == "valgrind" else ()
    expect_right(job(program, "right", 2, SMALL, leaks), "right, on two nodes")
    for what, said in (("over", ("Invalid write", "WRITE of size 1 ")), ("put", ("Invalid write", "WRITE of size 104 ")),
                       ("read", ("Invalid read", "READ of size 1 ")), ("freed", ("Invalid read", "READ of size 1 "))):
        expect_found(job(program, what, 1, SMALL), what, said[tool == "asan"])
    if tool == "valgrind":
        expect_found(job(program, "lost", 1, SMALL, LEAKS), "lost", "100 bytes in 1 blocks are definitely lost")
        small, large = (largest(program, size) for size in (SMALL, LARGE))
        print(f"the largest process had {small >> 10} MiB with a heap of {SMALL}, {large >> 10} MiB with one of {LARGE}")
        if large > small + MORE_KIB:
            sys.exit("the heap should not have been read")
