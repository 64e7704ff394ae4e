#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: OSHRUN=<oshrun> ends_test.py <phases> <phase> [memory | fault]

The kill matrix of docs/reliability.md: a PE of 4 comes to an end in the middle of a phase (phases.c), in each way, on
one node and on two.  The four take turns: PE 0, the root of the job and leader of its node; on two nodes PE 2, the leader
of the other; PEs 1 and 3, which lead nobody.  Most jobs must end within two seconds, all with the right code and one line
that names the PE, and leave nothing behind.  The last line is a row of the table in docs/reliability.md.

With `memory` the ends are those that the kernel's OOM killer makes: the job is in a cgroup with little memory, and the
victim takes it all.  77 (skipped) where such a cgroup cannot be made.  With `fault` the victim stores to nowhere, and says so
before the line, with its calls, as users see it.  ATOLL_TEST_SEED repeats the instants."""
import contextlib
import functools
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parents[1] / "launcher"))
from ended_job import AT_LATEST, EndedJob, in_time, objects_of, processes_of  # noqa: E402
from launcher import OSHRUN, environment  # noqa: E402
from phase_options import PES, PHASES, WAYS, options, row  # noqa: E402
from small_cgroup import small_cgroup  # noqa: E402

program, phase, *kind = sys.argv[1:]
seed = int(os.environ.get("ATOLL_TEST_SEED", random.randrange(1 << 31)))
print(f"ATOLL_TEST_SEED={seed}")
dice = random.Random(seed)

MEMORY = 512 << 20  # in a small cgroup
TAKES_MEMORY = 20  # seconds, at most, from the first byte of it to the OOM killer, which first tries for a while to do without
NEVER_KILL = ["--kill-after", "1000"]  # the PEs must end of themselves when they are told to

KILLED = r"was killed by signal {} \({}\)(, core dumped)?; the job ends"
EXITED_3 = (3, r"exited with code 3; the job ends")
ENDS = {
    "memory": (137, r"was killed by signal 9 \(SIGKILL, Killed\), and since the job began the kernel's OOM killer has killed "
               r"{} of oshrun's cgroup: memory ran out \(/\S+ allows 512 MiB\); the job ends"),
    "fault": (139, KILLED.format(11, "SIGSEGV, Segmentation fault")),
    "9": (137, KILLED.format(9, "SIGKILL, Killed")),
    "11": (139, KILLED.format(11, "SIGSEGV, Segmentation fault")),
    "_exit3": EXITED_3,
    "exit3": EXITED_3,
    "_exit0": (1, r"exited with code 0 without having called shmem_(finalize|init, which other PEs did); the job ends"),
}

# Of all processes of the job the OOM killer may choose the victim alone (phases.c): else it takes another one as well, when
# the first one's memory is not free yet.  Who may not forbid that expects it.
SPARE = "echo -1000 >/proc/$$/oom_score_adj"
spares = kind != ["memory"] or subprocess.run(["sh", "-c", SPARE], stderr=subprocess.DEVNULL).returncode == 0


def check(end, nodes, victim):
    code, pattern = ENDS[end]
    if end == "memory":
        pattern = pattern.format("1 process" if spares else r"\d process(?:es)?")
    after = dice.randrange(30_000 if phase in ("start", "connect") else 5_000)
    layout = ["--virtual-nodes", str(nodes)] if nodes > 1 else []
    group = small_cgroup(MEMORY) if end == "memory" else contextlib.nullcontext()
    with group as group, tempfile.TemporaryDirectory(prefix="atoll-ends.") as folder:
        os.mkdir(f"{folder}/tmp")
        os.mkdir(f"{folder}/heap")
        command = [OSHRUN, "-n", str(PES), *layout, *NEVER_KILL, *options(phase, f"{folder}/heap"), program, phase, end, str(after),
                   str(victim)]
        if group:
            spare = f"{SPARE} || exit 1;" if spares else ""
            command = ["sh", "-c", f'echo $$ >{group}/cgroup.procs || exit 1; {spare} exec "$@"', "sh", *command]
        settings = environment(f"{folder}/tmp")
        if end == "fault":
            settings["SHMEM_BACKTRACE"] = "auto"
        job = EndedJob(command, settings)
        said = job.said().splitlines()
        problems = job.problems(code, AT_LATEST + (TAKES_MEMORY if end == "memory" else 0))
        if end == "fault":
            report, said = said[:-1], said[-1:]
            if not report or not all(re.match(rf"atoll: PE {victim} of {PES} on \S+: ", line) for line in report) or \
                    "SIGSEGV: nothing can be written at" not in report[0]:
                problems.append(f"PE {victim} should have said first what has happened, and nobody else anything")
        killed = victim if spares else "[0-3]"
        if len(said) != 1 or not re.search(rf"^oshrun: PE {killed} \(pid \d+, host \S+\) (" + pattern + ")$", said[0]):
            problems.append(f"one line should have been said, that PE {victim} {pattern}")
        if left := processes_of(job.name) + objects_of(job.name, f"{folder}/tmp"):
            problems.append("left behind: " + ", ".join(left))
    job.report(f"{phase}, {end}, PE {victim}, {nodes} nodes, after {after} us", problems)
    return job.lasted if not problems else None


# Whoever has called shmem_finalize may exit with 0.
ways = kind or [end for end in WAYS if (phase, end) != ("finalize", "_exit0")]
# Each phase begins the round of victims with another one, so that over all phases each of them meets each end as well.
first = PHASES.index(phase)
jobs = {end: [functools.partial(check, end, nodes, (first + turn + 2 * (nodes - 1)) % PES) for nodes in (1, 2)]
        for turn, end in enumerate(ways)}
lasted = {end: [job() if end == "memory" else in_time(job) for job in of] for end, of in jobs.items()}
if None in sum(lasted.values(), []):
    sys.exit(1)
print(row(phase, lasted, kind or WAYS))
