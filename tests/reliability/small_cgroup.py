# SPDX-License-Identifier: BSD-3-Clause
"""A cgroup whose memory has a limit, for a test of the kernel's OOM killer."""
import contextlib
import os
import pathlib
import re
import sys

SKIPPED = 77


def places():
    """Folders in which one may be made, and the name of the limit there: below the memory cgroup of this process in
    version 1; in version 2 below the root, as a cgroup with processes of its own can have none with a limit below it."""
    groups = pathlib.Path("/proc/self/cgroup").read_text()
    own = re.search(r"^\d+:(?:\S+,)?memory(?:,\S+)?:(.*)$", groups, re.MULTILINE)
    for line in pathlib.Path("/proc/self/mountinfo").read_text().splitlines():
        mount, _, kind = line.partition(" - ")
        place, kind = mount.split()[4], kind.split()
        if kind[0] == "cgroup" and "memory" in kind[2].split(",") and own:
            yield place + own[1], "memory.limit_in_bytes"
        elif kind[0] == "cgroup2" and not own:
            with contextlib.suppress(OSError):
                pathlib.Path(place, "cgroup.subtree_control").write_text("+memory")
            yield place, "memory.max"


@contextlib.contextmanager
def small_cgroup(limit):
    """Its folder, whose cgroup.procs takes processes; skipped where none can be made."""
    why = "no cgroups of memory are mounted"
    for place, name in places():
        folder = pathlib.Path(place, f"atoll-test-{os.getpid()}")
        try:
            folder.mkdir()
        except OSError as error:
            why = error
            continue
        try:
            file = folder / name
            if not file.exists():
                why = f"{place} does not limit memory"
                continue
            file.write_text(str(limit))
            for swap, most in (("memory.swap.max", 0), ("memory.memsw.limit_in_bytes", limit)):
                if (folder / swap).exists():
                    (folder / swap).write_text(str(most))
            yield folder
            return
        finally:
            try:
                folder.rmdir()
            except OSError as error:  # beside what has gone wrong with the job
                print(f"{folder} is left: {error}")
    print(f"skipped: {why}")
    sys.exit(SKIPPED)
