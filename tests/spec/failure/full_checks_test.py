#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: full_checks_test.py OSHRUN PROGRAM

With SHMEM_CHECKS=full the lines behind a refused call begin where the program makes it, whoever has refused it."""
import os
import re
import subprocess
import sys

oshrun, program = sys.argv[1:]
for case, said in (("put_past_variable", "dest 0x"), ("wrong_pe", "pe is 77; allowed is 0 to 1")):
    for trace in ({}, {"SHMEM_STATS": "1"}):
        env = {key: value for key, value in os.environ.items() if key != "SHMEM_BACKTRACE"}
        done = subprocess.run([oshrun, "-n", "2", "--timeout", "30", program, case], env={**env, "SHMEM_CHECKS": "full", **trace},
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1, done
        lines = [line for line in done.stderr.splitlines() if line.startswith("atoll: PE 0 of 2")]
        assert f"shmem_long_put: {said}" in lines[0], lines
        assert re.search(rf":   #0 {case} at \S*full_checks_job\.c:\d+$", lines[1]), lines
