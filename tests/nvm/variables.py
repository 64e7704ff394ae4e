#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: variables.py <oshrun> <program>

Values that are of no use end the job with one line, which says what is allowed."""
import re
import subprocess
import sys

oshrun, program = sys.argv[1:3]
CASES = [
    (["SHMEM_HEAP=disk"], "SHMEM_HEAP is 'disk'; allowed are dram and nvm:<folder>"),
    (["SHMEM_HEAP=nvm:"], "the folder for the files is missing"),
    (["SHMEM_HEAP=nvm:/no/such/folder"], "SHMEM_HEAP: /no/such/folder: No such file or directory"),
    (["SHMEM_NVM_DIR=/dev/null"], "SHMEM_NVM_DIR: /dev/null is not a folder"),
    (["SHMEM_NVM_DIR=/tmp", "SHMEM_NVM_PAGE=5k"], "SHMEM_NVM_PAGE is 5120 bytes; allowed are powers of two from 4096 to 64m"),
    (["SHMEM_NVM_ENGINE=fast"], "SHMEM_NVM_ENGINE"),
]
for settings, expected in CASES:
    arguments = [part for setting in settings for part in ("-x", setting)]
    done = subprocess.run([oshrun, "-n", "2", *arguments, program, "leave"], capture_output=True, text=True, timeout=30)
    lines = re.findall(r"^atoll: .*" + re.escape(expected) + ".*$", done.stderr, re.MULTILINE)
    if done.returncode != 1 or len(lines) != 1:
        sys.exit(f"{settings}: exit code {done.returncode}\n{done.stderr}")
