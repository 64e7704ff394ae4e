#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: take_names.py memfd|posix PROGRAM [ARGUMENTS...]

What PEs of a job of four on two virtual nodes execute in the place of PROGRAM.  Another user takes the names under
which the nodes could share their memory first: those without a token, and for the second node that with the token of
the first one, which anybody sees.  Only then each process is PROGRAM.
"""
import contextlib
import ctypes
import os
import re
import signal
import socket
import sys
import time

NOBODY = 65534
PR_SET_PDEATHSIG = 1
kind, program = sys.argv[1], sys.argv[2:]
rank = int(os.environ["PMIX_RANK"])
start = f"atoll.{os.environ['ATOLL_JOB_ID']}.{os.geteuid()}."


def names():
    if kind == "posix":
        return os.listdir("/dev/shm")
    with open("/proc/net/unix") as file:
        return [row[7][1:] for row in map(str.split, file) if len(row) > 7 and row[7].startswith("@")]


def wait_for_name(pattern):
    """The match of a name that exists, once there is one.  Nobody waits longer than oshrun lets the job run."""
    while True:
        for name in names():
            match = re.fullmatch(re.escape(start) + pattern, name)
            if match:
                return match
        time.sleep(0.001)


def take(name):
    """Returns what holds it; another process of this program may have it."""
    with contextlib.suppress(FileExistsError):
        if kind == "posix":
            return open("/dev/shm/" + start + name, "x")
        held = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            held.bind("\0" + start + name)
            held.listen()
        except OSError:
            assert start + name in names()
        return held


ready, told = os.pipe()
owner = os.getpid()
if os.fork() == 0:
    os.setgroups([])
    os.setgid(NOBODY)
    os.setuid(NOBODY)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    held = [take(str(pe)) for pe in range(4)]
    if rank == 2:
        held.append(take("2." + wait_for_name(r"0\.(\w+)")[1]))
    os.write(told, b"1")
    while os.getppid() == owner:
        signal.pause()
    os._exit(0)
os.close(told)
assert os.read(ready, 1) == b"1"
if rank == 1:  # without it the first node keeps its name
    wait_for_name(r"2\.\w+")
os.execvp(program[0], program)
