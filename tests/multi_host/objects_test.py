#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: objects_test.py <nvm_named>

A named object on NVM whose PEs are on two hosts.  All PEs of one host are killed while the job persists it again and
again; the next job finds an epoch that is whole (nvm_named checks each word), and none before the last that was reported."""
import pathlib
import re
import signal
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).parent))
import hosts  # noqa: E402

program = sys.argv[1]
PES = 4
LIMIT = 60


def run(network):
    settings = ["-n", PES, "-x", f"SHMEM_NVM_DIR={network.folder}"]
    output = network.folder / "output"
    with open(output, "w") as stdout:
        job = subprocess.Popen(network.oshrun(*settings, program, -1), env=network.environment(), stdin=subprocess.DEVNULL,
                               stdout=stdout, stderr=stdout, preexec_fn=hosts.end_with_the_test)
    try:
        hosts.wait_for(lambda: "epoch 5\n" in output.read_text() or job.poll() is not None, "five epochs", LIMIT)
        victims = network.processes(program, network.hosts[1:])
        hosts.send(signal.SIGKILL, victims)
        job.wait(LIMIT)
    finally:
        print(output.read_text())
        if job.poll() is None:
            job.kill()
            job.wait()
    if len(victims) != PES // 2 or job.returncode == 0:
        sys.exit(f"{len(victims)} PEs were killed, and the job ended with code {job.returncode}")
    hosts.wait_for(lambda: not network.processes(program), "no PE is left", LIMIT)
    told = max(int(epoch) for epoch in re.findall(r"^epoch (\d+)$", output.read_text(), re.MULTILINE))
    again = subprocess.run(network.oshrun(*settings, program, 0), env=network.environment(), stdin=subprocess.DEVNULL,
                           capture_output=True, text=True, timeout=LIMIT)
    found = re.search(r"^found (\d+)$", again.stdout, re.MULTILINE)
    if again.returncode != 0 or not found or int(found[1]) < told:
        sys.exit(f"epoch {told} had been reported, and the next job says: {again.stdout}{again.stderr}")
    print(f"epoch {told} had been reported, and epoch {found[1]} was found")


hosts.on_hosts(2, run)
