#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: tests/remote/servers_test.py OSHRUN PROGRAM

What becomes of a job whose memory servers are too small, or slow, or whose PEs are killed; and what wrong settings say.
"""
import os
import re
import signal
import subprocess
import sys
import time
import unittest

from server_jobs import children, servers_of

OSHRUN, PROGRAM = sys.argv[1:3]
FEW = {"SHMEM_REMOTE_PAGE": "64k", "SHMEM_REMOTE_LOCAL": "1m", "SHMEM_MEMORY_PER_SERVER": "128m"}
DEADLINE = 60  # seconds: for a job that hangs


def command(*words, servers=2, pes=1, **variables):
    """The command line and its environment."""
    environment = {**os.environ, **FEW, **variables}
    line = [OSHRUN, "-n", str(pes), "--memory-servers", str(servers), "--timeout", str(DEADLINE), PROGRAM, *words]
    return line, environment


def run(*words, **settings):
    line, environment = command(*words, **settings)
    return subprocess.run(line, env=environment, capture_output=True, text=True, timeout=2 * DEADLINE, check=False)


class Servers(unittest.TestCase):
    def start(self, *words, **variables):
        line, environment = command(*words, **variables)
        job = subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(job.stdout.close)
        self.addCleanup(job.stderr.close)
        return job

    def test_too_much_is_refused_in_a_line_and_the_job_goes_on(self):
        done = run("too_much")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stderr.splitlines()
        self.assertEqual(len(lines), 2, done.stderr)
        for line in lines:
            self.assertRegex(line, r"^atoll: PE 0 of 1 on \S+: shmemx_remote_alloc: .* of remote memory: .*; returns NULL$")

    def test_what_the_servers_lack_is_said(self):
        done = run("data", SHMEM_MEMORY_PER_SERVER="16m", servers=1)
        self.assertRegex(done.stderr, r"64 MiB of remote memory: the memory servers .*")
        self.assertNotEqual(done.returncode, 0)

    def test_without_servers_there_is_none(self):
        environment = {**os.environ, **FEW}
        done = subprocess.run([OSHRUN, "-n", "1", PROGRAM, "too_much"], env=environment, capture_output=True, text=True,
                              timeout=DEADLINE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"shmemx_remote_alloc: the job has no memory servers; start it with oshrun --memory-servers 1")

    def test_wrong_settings_are_refused_in_a_line(self):
        for name, value, says in [
            ("SHMEM_REMOTE_PAGE", "3000", r"SHMEM_REMOTE_PAGE is 3000 bytes; allowed are powers of two from 4k to 64m"),
            ("SHMEM_REMOTE_PAGE", "2k", r"SHMEM_REMOTE_PAGE is 2048 bytes; allowed are powers"),
            ("SHMEM_REMOTE_LOCAL", "100k", r"SHMEM_REMOTE_LOCAL is 100 KiB; allowed is from 256 KiB on"),
            ("SHMEM_REMOTE_READS", "0", r"SHMEM_REMOTE_READS is 0; allowed are 1 to 64"),
            ("SHMEM_REMOTE_READS", "65", r"SHMEM_REMOTE_READS is 65; allowed are 1 to 64"),
            ("SHMEM_MEMORY_PER_SERVER", "8000g", r"cannot lend .* of memory: the host has .* left; lower"),
            ("SHMEM_HEAP", "remot", r"SHMEM_HEAP is 'remot'; allowed are dram, nvm:<folder> and remote"),
        ]:
            with self.subTest(name=name, value=value):
                done = run("too_much", **{name: value})
                self.assertNotEqual(done.returncode, 0)
                self.assertRegex(done.stderr, says)

    def test_a_heap_on_servers_needs_some(self):
        done = subprocess.run([OSHRUN, "-n", "1", PROGRAM, "too_much"], env={**os.environ, "SHMEM_HEAP": "remote"},
                              capture_output=True, text=True, timeout=DEADLINE, check=False)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"SHMEM_HEAP is 'remote', but the job has no memory servers; start it with oshrun")

    def test_statistics_say_what_each_server_had_to_do(self):
        done = run("pins", pes=2, SHMEM_STATS="1")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = [line.split() for line in done.stderr.splitlines()]
        begin = lines.index("memory server lent reads read_bytes writes write_bytes".split())
        rows = [list(map(int, line)) for line in lines[begin + 1:begin + 3]]
        self.assertEqual([row[0] for row in rows], [0, 1], done.stderr)
        for _, lent, *counts in rows:
            self.assertEqual(lent, 2 * 4 << 20, "of 8 MiB of each PE")
            self.assertNotIn(0, counts)
        # The same bytes as in the columns of the PEs.
        totals = {}
        for number, line in enumerate(lines):
            if line[:1] == ["PE"] and len(line) > 1 and line[1].isidentifier():
                totals.update(zip(line, lines[number + 3]))
        for column, name in ((3, "remote_read_bytes"), (5, "remote_write_bytes")):
            self.assertEqual(sum(row[column] for row in rows), int(totals[name]), done.stderr)

    def test_a_server_that_is_slow_loses_nothing(self):
        job = self.start("data")
        victim = servers_of(job, 2, DEADLINE)[0]
        for _ in range(5):
            time.sleep(0.1)
            try:
                os.kill(victim, signal.SIGSTOP)
                time.sleep(0.1)
                os.kill(victim, signal.SIGCONT)
            except ProcessLookupError:
                break
        out, err = job.communicate(timeout=2 * DEADLINE)
        self.assertEqual(job.returncode, 0, out + err)

    def test_nothing_is_left_of_a_job_whose_pes_are_killed(self):
        job = self.start("endless")
        servers = servers_of(job, 2, DEADLINE)
        self.assertEqual(job.stdout.readline(), "running\n")
        for pid, line in children(job.pid).items():
            if line.startswith(PROGRAM):
                os.kill(pid, signal.SIGKILL)
        out, err = job.communicate(timeout=DEADLINE)
        self.assertNotEqual(job.returncode, 0, out + err)
        self.assertTrue(re.search(r"PE 0 .*was killed by signal 9", err), err)
        for server in servers:
            self.assertFalse(os.path.exists(f"/proc/{server}/exe"))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
