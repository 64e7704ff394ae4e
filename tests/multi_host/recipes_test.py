#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: recipes_test.py slurm|hosts <folder of oshrun> <hello>

Runs what docs/running.md shows, from its text: each block behind <!-- run: KIND -->, in a folder with ./hello.
    slurm   kind batch: a script for sbatch; kind salloc: lines of a shell inside an allocation of two nodes
    hosts   kind hosts: lines of a shell beside hosts that are called node1 and node2; and the command of the MPIJob
Each oshrun, srun and mpirun must start one job of four PEs."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parent))
import hosts  # noqa: E402
import slurm_job  # noqa: E402

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "running.md"
STARTS = re.compile(r"^(?:oshrun|srun|mpirun) ", re.MULTILINE)
HELLO = re.compile(r"^hello from PE (\d) of 4, ", re.MULTILINE)
LIMIT = 60
case, tools, hello = sys.argv[1:]


def recipes(kind):
    found = re.findall(rf"<!-- run: {kind} -->\n```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    if not found:
        sys.exit(f"{PAGE.name} has no recipe of kind {kind}")
    return found


def kubernetes_command():
    words = re.search(r'command: \[("oshrun".*?)\]', PAGE.read_text())
    if not words:
        sys.exit(f"{PAGE.name} has no MPIJob that executes oshrun")
    return re.findall(r'"(.*?)"', words[1])


def expect_jobs(recipe, count, code, output):
    ranks = sorted(HELLO.findall(output))
    if code != 0 or count == 0 or ranks != sorted("0123" * count):
        sys.exit(f"this recipe ended with code {code}, and PEs {ranks} of {count} jobs of 4 said hello:\n{recipe}\n{output}")
    print(f"{count} jobs:\n{recipe}")


def run(recipe, command, environment, folder, count):
    done = subprocess.run(command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
    expect_jobs(recipe, count, done.returncode, done.stdout)


def with_tools(environment):
    return {**environment, "PATH": f"{tools}:{environment['PATH']}"}


def in_slurm(environment, folder):
    environment = with_tools(environment)
    # A machine with few cores has less than the recipes ask for.
    few = ["--overcommit"] if os.cpu_count() < 2 else []
    for recipe in recipes("batch"):
        script = pathlib.Path(folder, "job.sh")
        script.write_text(recipe)
        output = pathlib.Path(folder, "output")
        done = subprocess.run(["sbatch", "--wait", f"--output={output}", *few, str(script)], env=environment, cwd=folder,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT)
        expect_jobs(recipe, len(STARTS.findall(recipe)), done.returncode, done.stdout + output.read_text())
    for recipe in recipes("salloc"):
        run(recipe, ["salloc", "--quiet", "--nodes=2", "--ntasks=4", *few, "sh", "-e", "-c", recipe], environment, folder,
            len(STARTS.findall(recipe)))


def on_hosts(network, folder):
    environment = with_tools(network.environment())
    enter = [*network.head.enter(), "env", "-C", folder]
    for recipe in recipes("hosts"):
        run(recipe, [*enter, "sh", "-e", "-c", recipe], environment, folder, len(STARTS.findall(recipe)))
    hostfile = pathlib.Path(folder, "hostfile")
    hostfile.write_text("".join(f"{host.name} slots=2\n" for host in network.hosts))
    command = kubernetes_command()
    if "/etc/mpi/hostfile" not in command:
        sys.exit("the MPIJob does not name the operator's hostfile")
    run(" ".join(command), [*enter, *(str(hostfile) if word == "/etc/mpi/hostfile" else word for word in command)],
        environment, folder, 1)


with tempfile.TemporaryDirectory(prefix="atoll-recipes.", dir="/tmp") as place:
    shutil.copy(hello, pathlib.Path(place, "hello"))
    if case == "slurm":
        slurm_job.on_slurm(lambda environment: in_slurm(environment, place))
    else:
        hosts.on_hosts(2, lambda network: on_hosts(network, place), ["node1", "node2"])
