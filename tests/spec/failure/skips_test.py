#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: skips_test.py

Tests that need a compiler's sanitizers are skipped where it has none, and fail where it has them and oshcc fails."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

here = pathlib.Path(__file__).parent
OSHCC = """#!/bin/sh
[ "$1" = -showme:command ] && { echo "%s"; exit; }
echo "oshcc: broken" >&2
exit 1
"""
TESTS = {"sanitized.sh": lambda oshcc: [here / "sanitized.sh", "false", oshcc, here / "blocks.c"],
         "checkers_test.py asan": lambda oshcc: [sys.executable, here / "checkers_test.py", "asan", oshcc],
         "checkers_test.py valgrind": lambda oshcc: [sys.executable, here / "checkers_test.py", "valgrind", oshcc]}


def is_there(name, folder):
    if "valgrind" in name:
        return shutil.which("valgrind") and os.path.exists("/usr/include/valgrind/memcheck.h")
    plain = pathlib.Path(folder, "plain.c")
    plain.write_text("int main(void) { return 0; }\n")
    return all(subprocess.run(["cc", f"-fsanitize={sanitizer}", plain, "-o", f"{folder}/plain"], capture_output=True).returncode == 0
               and subprocess.run([f"{folder}/plain"], capture_output=True).returncode == 0 for sanitizer in ("address", "thread"))


with tempfile.TemporaryDirectory(prefix="atoll-skips.") as folder:
    wrapper = pathlib.Path(folder, "oshcc")
    for name, command in TESTS.items():
        for compiler, code in (("cc", 1 if is_there(name, folder) else 77), ("false", 77)):
            wrapper.write_text(OSHCC % compiler)
            wrapper.chmod(0o755)
            done = subprocess.run(command(wrapper), env={**os.environ, "OSHRUN": "false"}, capture_output=True, text=True,
                                  timeout=60)
            said = done.stdout + done.stderr
            if done.returncode != code or (code == 1 and "oshcc fails" not in said):
                sys.exit(f"{name}, {compiler}: exit code {done.returncode} instead of {code}: {said}")
