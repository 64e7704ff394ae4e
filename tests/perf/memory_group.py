# SPDX-License-Identifier: BSD-3-Clause
"""A limit for all memory that a program uses, what the page cache has of its files included: a control group."""
import contextlib
import os
import pathlib
import tempfile
import time

# Of each version: where it is mounted, and the file for the limit.
VERSIONS = (("/sys/fs/cgroup/memory", "memory.limit_in_bytes"), ("/sys/fs/cgroup", "memory.max"))


@contextlib.contextmanager
def memory_group(limit):
    """Yields words to put before a command, whose process is then in a new group with `limit` bytes.  Raises OSError where
    this user may not make one."""
    for place, of_limit in VERSIONS:
        if os.path.exists(os.path.join(place, "cgroup.procs")):
            break
    group = pathlib.Path(tempfile.mkdtemp(prefix="atoll.", dir=place))
    try:
        (group / of_limit).write_text(str(limit))
        yield ["sh", "-c", f"echo $$ > {group}/cgroup.procs && exec \"$@\"", "sh"]
    finally:
        remove(group)


def remove(group):
    """What is charged to it goes to its parent; a process that has just ended may be in it for a moment."""
    for _ in range(100):
        with contextlib.suppress(OSError):
            return group.rmdir()
        time.sleep(0.01)
    group.rmdir()
