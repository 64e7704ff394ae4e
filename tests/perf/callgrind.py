# SPDX-License-Identifier: BSD-3-Clause
"""Jobs whose PE 0 runs under valgrind --tool=callgrind, which counts its instructions in user mode: those of the
program, the library, libfabric and libc, but not the kernel's, and not those of other PEs."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

# $1: file for the profile, $2: options of callgrind.  valgrind runs one thread at a time; fair, else a polling one
# starves the others.
WRAPPER = """file=$1; options=$2; shift 2
[ "$PMIX_RANK" = 0 ] || exec "$@"
exec valgrind --tool=callgrind --fair-sched=yes --callgrind-out-file="$file" --log-file="$file.log" $options "$@"
"""


def is_missing():
    """Says so, too."""
    if shutil.which("valgrind") is None:
        print(f"{pathlib.Path(sys.argv[0]).name}: needs valgrind (Debian: valgrind)", file=sys.stderr)
        return True
    return False


def run(oshrun, program, profile, options, timeout, **variables):
    """What the job prints.  oshrun and program: each with its arguments; options: callgrind's.  The profiles, whose
    names begin with that of `profile`, are new."""
    for old in profile.parent.glob(f"{profile.name}*"):
        old.unlink()
    command = [*oshrun, "--timeout", timeout, "sh", "-c", WRAPPER, "sh", profile, " ".join(options), *program]
    result = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=dict(os.environ, **variables), timeout=timeout + 30, check=False)
    if result.returncode != 0:
        log = pathlib.Path(f"{profile}.log")
        said = result.stderr + (log.read_text(encoding="utf-8") if log.exists() else "")
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {' '.join(map(str, program))}: exit code {result.returncode}:\n{said}")
    return result.stdout


def total(path):
    """Instructions in a profile."""
    found = re.search(r"^(?:totals|summary): (\d+)", path.read_text(encoding="utf-8", errors="replace"), re.MULTILINE)
    return int(found.group(1)) if found else 0
