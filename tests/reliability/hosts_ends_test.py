#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: OSHRUN=<oshrun> hosts_ends_test.py <phases> mpirun|slurm

Four PEs on two hosts of their own (tests/multi_host/hosts.py), of which one is killed, faults, or leaves: on both
hosts all must end, within two seconds, the engine must name the PE and the signal with its host, or the code, and nothing may
be left on any host.  Two jobs run side by side: they mostly wait for the engine.  77 (skipped) where hosts cannot be made."""
import concurrent.futures
import pathlib
import re
import sys

for folder in ("launcher", "multi_host"):
    sys.path.append(str(pathlib.Path(__file__).parents[1] / folder))
import hosts as made  # noqa: E402
import slurm_job  # noqa: E402
from ended_job import AT_MOST, EndedJob, has_lost_its_words, in_time, objects_of, only_blames  # noqa: E402
from phase_options import PES, options  # noqa: E402

program, engine = sys.argv[1:]
AT_A_TIME = 2
# PEs 0 and 1 are on the first host, 2 and 3 on the second.
CASES = (("connect", "9", 2), ("put", "9", 3), ("collective", "11", 0), ("lock", "9", 1), ("kv", "9", 2), ("kv", "11", 0),
         ("persist", "9", 3), ("fault", "11", 1), ("get", "_exit3", 2), ("atomic", "exit3", 0))
# What the engine says, and its exit code.
CODE_3 = {"mpirun": (r"Process name: \[\[\d+,1\],{pe}\]\s+Exit code: +3\n", 3),
          "slurm": (r"srun: error: {host}: task {pe}: Exited with exit code 3", 143)}
ENDS = {"mpirun": {"9": (r"process rank {pe} with PID \d+ on node {host} exited on signal 9 ", 137),
                   "11": (r"process rank {pe} with PID \d+ on node {host} exited on signal 11 ", 139)},
        "slurm": {"9": (r"srun: error: {host}: task {pe}: Killed", 143),
                  "11": (r"srun: error: {host}: task {pe}: Segmentation fault", 143)}}
# mpirun waits a second before SIGTERM, by which PEs end, and now and then another one for SIGKILL.
TAKES_AT_MOST = {"mpirun": AT_MOST + 1, "slurm": AT_MOST}[engine]
lost_words = []  # jobs of which mpirun has not said who failed


def check(network, surroundings, phase, end, victim):
    heap = network.folder / f"{phase}-{end}"
    heap.mkdir(exist_ok=True)
    words = [*options(phase, heap), program, phase, end, 2000, victim]
    pattern, code = ENDS[engine].get(end, CODE_3[engine])
    if engine == "slurm":
        command = slurm_job.allocation(network, PES, words)
    else:
        command = network.oshrun("-n", PES, *words)
    job = EndedJob(command, {**network.environment(SHMEM_BACKTRACE="0"), **surroundings})
    left = job.processes_left() + objects_of(job.name, "/tmp")
    left += [found for host in network.hosts for found in objects_of(job.name, of=host.pid)]
    said = job.said()
    if engine == "mpirun" and only_blames(said, victim):
        # mpirun's SIGTERM, a second after the death, has come later than 0.3 s after that: so PEs have said whom they have
        # lost, and mpirun's code may be that of one of them.
        said, code = "", job.code if job.code == 1 else code
    problems = job.problems(code)
    if left:
        problems.append("left behind: " + ", ".join(left))
    pattern = pattern.format(pe=victim, host=network.hosts[victim // 2].name)
    if engine == "mpirun" and has_lost_its_words(job.err):
        lost_words.append(phase)
    elif not re.search(pattern, job.err):
        problems.append(f"the engine has not said {pattern}")
    if said:
        problems.append("a PE has said something")
    job.report(f"{phase}, {end}, PE {victim}", problems)
    return None if problems else job.lasted


def check_all(network, surroundings):
    with concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        lasted = list(pool.map(lambda case: in_time(lambda: check(network, surroundings, *case), TAKES_AT_MOST), CASES))
    print(f"mpirun has not said who, {len(lost_words)} times")
    return int(None in lasted or len(lost_words) > len(CASES) / 2)


def on_network(network):
    if engine == "slurm":
        return slurm_job.on_slurm(lambda environment: check_all(network, environment), network)
    return check_all(network, {})


sys.exit(made.on_hosts(2, on_network))
