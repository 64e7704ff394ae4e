#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: OSHRUN=<oshrun> limits_test.py <stress_mixed> <big> <test>

Resources that run out are named, with the limit; soft limits are raised."""
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "launcher"))
from launcher import OSHRUN, environment  # noqa: E402

program, big, test = sys.argv[1:]
LIMIT = 60
SKIPPED = 77
SOMEBODY = 100_000 + os.getpid() % 100_000  # a user without processes


def run(options, what=program, soft=None, hard=None, kind=None, user=None, before=()):
    """The exit code, and the lines that are not the program's."""
    def in_child():
        if kind is not None:
            resource.setrlimit(kind, (soft if soft is not None else hard, hard if hard is not None else resource.getrlimit(kind)[1]))
        if user is not None:
            os.setgroups([])
            os.setgid(user)
            os.setuid(user)

    with tempfile.TemporaryDirectory(prefix="atoll-limits.") as folder:
        os.chmod(folder, 0o777)
        job = subprocess.run([*before, OSHRUN, "--timeout", str(LIMIT - 20), *options, what], stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=LIMIT, preexec_fn=in_child,
                             env=dict(environment(folder), ATOLL_STRESS_SECONDS="0.5"), cwd="/")
    said = [line for line in job.stderr.splitlines() if line.startswith(("oshrun:", "atoll:"))]
    said = [line for line in said if "said the same as" not in line]
    print(f"{test}: code {job.returncode}: {' | '.join(said) or 'nothing was said'}")
    return job.returncode, said


def expect_failure(result, *patterns):
    code, said = result
    if code == 0 or len(said) != len(patterns) or not all(re.search(p, line) for p, line in zip(patterns, said)):
        sys.exit(f"expected to be said, and nothing else: {patterns}")


def expect_success(result):
    if result[0] != 0 or result[1]:
        sys.exit("the job should have ended well, without a word")


def open_files():
    """A low soft limit is raised, in PEs as in the launcher."""
    files = resource.RLIMIT_NOFILE
    expect_success(run(["-n", "3"], kind=files, soft=12))
    expect_success(run(["-n", "8", "--virtual-nodes", "8"], kind=files, soft=20))
    expect_failure(run(["-n", "4"], kind=files, hard=30),
                   r"^oshrun: needs 40 open files to start 4 PEs, and may have 30; use fewer, or raise the limit \(ulimit -n\)$")
    # Of a PE alone.
    shell = ["sh", "-c", f"ulimit -n 20; exec {program}"]
    expect_failure(run(["-n", "2", *shell[:2]], what=shell[2]),
                   r"^atoll: .*a PE needs at least 24 open files; this process may have 20 open files \(ulimit -n\)", "^oshrun: PE ")
    # Where connections find none: at once, or when somebody has waited for them.
    none_left = r"(Too many open files|all open files of this process are in use.*); this process may have {} open files"
    for files in (24, 28):
        code, said = run(["-n", "8", "--virtual-nodes", "8", "-x", "SHMEM_PEER_TIMEOUT=3", "sh", "-c"],
                         what=f"ulimit -n {files}; exec {program}")
        if not re.search(rf"connections to 7 PEs .* may need 46 open files; this process may have {files} open", said[0]):
            sys.exit("the limit should be named first")
        if code != 0 and not any(re.search(none_left.format(files), line) for line in said[1:]):
            sys.exit("the limit should be named by who runs into it")


def threads():
    """RLIMIT_NPROC does not hold for root."""
    if os.geteuid() != 0 or subprocess.run(["test", "-x", program], user=SOMEBODY, group=SOMEBODY, extra_groups=[]).returncode:
        sys.exit(SKIPPED)
    named = r"no more processes and threads are allowed \(ulimit -u: {}; in a container its pids limit\)"
    # The launcher, its janitor, and so on.
    for allowed in range(2, 18):
        code, said = run(["-n", "2", "--virtual-nodes", "2"], kind=resource.RLIMIT_NPROC, hard=allowed, user=SOMEBODY)
        if code == 0:
            break
        if not any(re.search(named.format(allowed), line) for line in said):
            sys.exit("the limit should be named")
        if len([line for line in said if re.search("terminate called|signal", line)]):
            sys.exit("the job should end without a signal")
    if allowed == 2 or code != 0:
        sys.exit("the job should begin to run with some number of threads between 3 and 17")


def address_space():
    expect_success(run(["-n", "2"], kind=resource.RLIMIT_AS, hard=4 << 30))
    expect_failure(run(["-n", "2", "-x", "SHMEM_SYMMETRIC_SIZE=2g"], kind=resource.RLIMIT_AS, hard=4 << 30),
                   r"^atoll: PE \d of 2 .*cannot map the symmetric heaps of this node .*: Cannot allocate memory; this process may "
                   r"map 4 GiB \(ulimit -v\)$")


def shared_memory():
    """/dev/shm without room, where SHMEM_MAPPER=posix needs it."""
    before = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o size=8m tmpfs /dev/shm && exec "$@"', "sh"]
    if subprocess.run([*before, "true"], stderr=subprocess.DEVNULL).returncode:
        sys.exit(SKIPPED)
    expect_success(run(["-n", "2"], what=big, before=before))
    expect_failure(run(["-n", "2", "-x", "SHMEM_MAPPER=posix"], what=big, before=before),
                   r"^atoll: PE \d of 2 on \S+: /dev/shm is full \(8 MiB\), where SHMEM_MAPPER=posix keeps the symmetric heaps: ")


{"open_files": open_files, "threads": threads, "address_space": address_space, "shared_memory": shared_memory}[test]()
