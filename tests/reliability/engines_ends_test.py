#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: OSHRUN=<oshrun> engines_ends_test.py <phases> mpirun|srun [all]

The kill matrix where another launcher has started the job: a PE of 4 comes to an end in the middle of each phase, in two
or three of the five ways, with `all` in each of them; ways and victims take turns.  Each job must end within two seconds (mpirun
itself within three), the engine must name the PE and its end, and nobody else may say anything but that he has lost it; no
process, file, socket or shared memory may be left.  Two jobs run side by side: they mostly wait for the engine.  The last lines are
rows of a table as in docs/reliability.md."""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

for folder in ("launcher", "multi_host"):
    sys.path.append(str(pathlib.Path(__file__).parents[1] / folder))
import slurm_job  # noqa: E402
from ended_job import AT_MOST, EndedJob, has_lost_its_words, in_time, objects_of, only_blames  # noqa: E402
from launcher import OSHRUN, environment  # noqa: E402
from phase_options import PES, PHASES, WAYS, options, row  # noqa: E402

program, engine, *how_many = sys.argv[1:]
SKIPPED = 77
INSIDE = "ATOLL_TEST_IN_ALLOCATION"
AT_A_TIME = 2
# mpirun waits a second before SIGTERM, by which PEs end, and now and then another one for SIGKILL.
TAKES_AT_MOST = {"mpirun": AT_MOST + 1, "srun": AT_MOST}[engine]
# Open MPI's mpirun hangs at its own end, after that of all PEs, when a process has died while it connected to its PMIx
# server, and neither engine knows that who leaves with code 0 before that was waited for.
UNDER_OSHRUN_ALONE = ("start",)

# What the engine says of a PE, and its exit code: of srun the highest, and PEs that it ends count with 143 (SIGTERM) or 137.
# Who leaves with code 0 has failed for the PMIx server alone, which ends the job with SIGKILL.
CODE_3 = {"mpirun": (r"Process name: \[\[\d+,1\],{}\]\s+Exit code: +3$", 3),
          "srun": (r"srun: error: n\d: task {}: Exited with exit code 3", 143)}[engine]
ENDS = {
    "mpirun": {"9": (r"process rank {} with PID \d+ on node \S+ exited on signal 9 ", 137),
               "11": (r"process rank {} with PID \d+ on node \S+ exited on signal 11 ", 139),
               "_exit0": (r"mpirun has exited due to process rank {} with PID \d+ on\s+node \S+ exiting improperly", 1)},
    "srun": {"9": (r"srun: error: n\d: task {}: Killed", 143),
             "11": (r"srun: error: n\d: task {}: Segmentation fault", 143),
             "_exit0": (r"slurmstepd-n\d: error: .*Error handler invoked: status = -61, source = \[slurm\.pmix\.\S+:{}\]", 137)},
}
lost_words = []  # jobs of which mpirun has not said who failed


def check(phase, end, victim, surroundings):
    """How long it lasted; nothing if something was wrong."""
    pattern, code = ENDS[engine].get(end, CODE_3)
    # Two hosts have places for four processes, of which two are memory servers here.
    pes = 2 if phase == "remote" else PES
    victim %= pes
    with tempfile.TemporaryDirectory(prefix="atoll-ends.", ignore_cleanup_errors=True) as folder:
        os.mkdir(f"{folder}/tmp")
        os.mkdir(f"{folder}/heap")
        command = [OSHRUN, "--launcher", engine, "-n", str(pes), *options(phase, f"{folder}/heap"), program, phase, end, "2000",
                   str(victim)]
        job = EndedJob(command, {**environment(f"{folder}/tmp"), **surroundings})
        said = job.said()
        if engine == "srun" and end == "_exit0":
            if only_blames(said, victim):
                # Others have noticed, and have waited for Slurm to end them for as long as they do.
                said, code = "", job.code or code
            elif job.code == 143:
                # The SIGKILL has reached one host, of which srun has heard and told the other, before it came there.
                code = 143
        if engine == "mpirun" and only_blames(said, victim):
            # mpirun's SIGTERM, a second after the death, has come later than 0.3 s after that.
            said, code = "", job.code if job.code == 1 else code
        if engine == "srun" and phase == "remote" and re.fullmatch(r"atoll: PE \d .* (get from|put to) memory server .*\n", said):
            # Of two servers that Slurm has ended: a PE in the middle of a page fault takes no SIGTERM before that.
            said, code = "", 1
        problems = job.problems(code)
        if not re.search(pattern.format(victim), job.err, re.MULTILINE):
            # Of who leaves with code 0 while PEs connect mpirun says nothing at all at times, but ends the job.
            silent = (phase, end) == ("connect", "_exit0") and not job.err.strip()
            if engine == "mpirun" and (silent or has_lost_its_words(job.err)):
                lost_words.append(f"{phase}, {end}")
            else:
                problems.append(f"the engine has not said {pattern.format(victim)}")
        if said:
            problems.append("a PE has said something")
        ours = [name for name in os.listdir(f"{folder}/tmp") if name.startswith("atoll")]
        if left := job.processes_left() + objects_of(job.name) + ours:
            problems.append("left behind: " + ", ".join(left))
    job.report(f"{phase}, {end}, PE {victim}", problems)
    return None if problems else job.lasted


def check_in_time(*case):
    return in_time(lambda: check(*case), TAKES_AT_MOST)


def check_all(surroundings):
    jobs = {phase: {} for phase in PHASES if phase not in UNDER_OSHRUN_ALONE}
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        for turn, phase in enumerate(jobs):
            for end, way in enumerate(WAYS):
                # Whoever has called shmem_finalize may exit with 0.
                if (how_many or (turn + end) % 2 == 0) and (phase, way) != ("finalize", "_exit0"):
                    jobs[phase][way] = pool.submit(check_in_time, phase, way, (turn + end) % PES, surroundings)
    times = {phase: {way: [job.result()] for way, job in of.items()} for phase, of in jobs.items()}
    if any([None] in of.values() for of in times.values()):
        return 1
    if lost_words:
        print(f"mpirun has not said who: {lost_words}")
        if len(lost_words) > sum(map(len, times.values())) / 10:
            return 1
    print("\n".join(row(phase, of) for phase, of in times.items()))
    return 0


def in_an_allocation(environment):
    """Steps start sooner than jobs."""
    command = ["salloc", "--quiet", "--nodes=2", f"--ntasks={PES}", "--overcommit", sys.executable, *sys.argv]
    return subprocess.run(command, env={**environment, "SLURM_OVERLAP": "1", INSIDE: "yes"}).returncode


if engine == "srun" and INSIDE in os.environ:
    sys.exit(check_all({name: value for name, value in os.environ.items() if name.startswith("SLURM_")}))
if engine == "srun":
    sys.exit(slurm_job.on_slurm(in_an_allocation))
if not shutil.which("mpirun"):
    sys.exit(SKIPPED)
sys.exit(check_all({}))
