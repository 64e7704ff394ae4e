#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: no_room.py <oshrun> <program>

Runs the program with its heap on a file system of 16 MiB, mounted in a namespace of its own.  Exit code 77: the
system permits no such namespace."""
import os
import re
import subprocess
import sys

oshrun, program = sys.argv[1:3]
script = """
set -e
folder=$(mktemp -d)
mount -t tmpfs -o size=16m none "$folder" || exit 77
cd /
SHMEM_HEAP=nvm:"$folder" "$@" && test -z "$(ls -A "$folder")"
"""
namespace = ["unshare", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
if subprocess.run([*namespace, "true"], capture_output=True, timeout=30).returncode != 0:
    sys.exit(77)
done = subprocess.run([*namespace, "sh", "-c", script, "sh", oshrun, "-n", "2", "-x", "SHMEM_NVM_CACHE=1m", "-x",
                       "SHMEM_NVM_PAGE=16k", "-x", "SHMEM_SYMMETRIC_SIZE=1g", program],
                      capture_output=True, text=True, timeout=50)
print(done.stdout, done.stderr, sep="")
if done.returncode != 0:
    sys.exit(done.returncode)
if not re.search(r"^atoll: PE \d of 2 on \S+: .*cannot make room for \d+ bytes .*: No space left on device, \d+ bytes are free; ",
                 done.stderr, re.MULTILINE):
    sys.exit("no line says that there is no room")
