#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: interfaces_test.py <phases>

Hosts with two networks, `cable` and `second`: PEs listen on the one that SHMEM_INTERFACE names, and what they send to
other hosts goes there.  OSHRUN names the launcher."""
import contextlib
import os
import pathlib
import re
import signal
import socket
import struct
import subprocess
import sys
import unittest

sys.path.append(str(pathlib.Path(__file__).parent))
import hosts  # noqa: E402

program = sys.argv[1]
PES = 4
LIMIT = 60
LISTENS, CONNECTED = "0A", "01"
network = None


def addresses(pid, state):
    """This end's addresses of the process's TCP sockets in a state, but for those of connections within its host."""
    own, found = set(), set()
    for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            own.update(re.findall(r"^socket:\[(\d+)\]$", os.readlink(entry)))
    for table in "tcp", "tcp6":
        for row in map(str.split, pathlib.Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]):
            here, there = row[1].split(":")[0], row[2].split(":")[0]
            if row[3] == state and row[9] in own and (state == LISTENS or here != there):
                found.add(socket.inet_ntoa(struct.pack("=I", int(here, 16))) if table == "tcp" else here)
    return found


class Interfaces(unittest.TestCase):
    def start(self, *settings):
        output = open(network.folder / "output", "w+")
        self.addCleanup(output.close)
        job = subprocess.Popen(network.oshrun("-n", PES, *settings, program, "collective", "none"),
                               env=network.environment(), stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                               preexec_fn=hosts.end_with_the_test)
        self.addCleanup(job.wait)
        self.addCleanup(job.send_signal, signal.SIGTERM)
        read = pathlib.Path(output.name).read_text
        hosts.wait_for(lambda: read().count("under way") == PES or job.poll() is not None, "all PEs are under way", LIMIT)
        self.assertIsNone(job.poll(), read())

    def check(self, net, *settings):
        """All that the PEs have is on this network."""
        self.start(*settings)
        for host in network.hosts:
            pes = network.processes(program, [host])
            self.assertEqual(len(pes), PES // len(network.hosts))
            own = {f"{net}.{host.number}"}
            for pid in pes:
                self.assertEqual(addresses(pid, LISTENS), own)
            # Not each PE needs a connection to the other host.
            self.assertEqual(set().union(*(addresses(pid, CONNECTED) for pid in pes)), own)

    def test_the_second(self):
        self.check("10.78.0", "-x", "SHMEM_INTERFACE=second")

    def test_the_first(self):
        self.check("10.77.0", "-x", "SHMEM_INTERFACE=cable")

    def test_a_name_that_no_host_has(self):
        job = subprocess.run(network.oshrun("-n", PES, "-x", "SHMEM_INTERFACE=third", program, "collective", "none"),
                             env=network.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT)
        self.assertNotIn(job.returncode, (0, 124))
        said = [line for line in job.stderr.splitlines() if line.startswith("atoll:")]
        self.assertEqual(len(said), len(set(said)), "a PE says it once")
        self.assertTrue(said, job.stderr)
        for line in said:
            self.assertRegex(line, r"^atoll: PE \d of 4 on atoll-h\d: SHMEM_INTERFACE is 'third', which libfabric \(\S+\) does not "
                             "have here; allowed are ")
            self.assertRegex(line, r" cable \(10\.77\.0\.\d\),")
            self.assertRegex(line, r" second \(10\.78\.0\.\d\),")


def run(made):
    global network
    network = made
    network.connect_again()
    return 0 if unittest.main(argv=sys.argv[:1], exit=False, verbosity=2).result.wasSuccessful() else 1


sys.exit(hosts.on_hosts(2, run))
