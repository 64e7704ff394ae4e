#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Who waits for whom: what oshrun and the library say about jobs that hang. OSHRUN and BLOCKED name the programs; arguments
choose classes.

A job is asked (SIGURG to oshrun) until its answer is the expected one, as nobody knows how long its PEs need to get stuck.
"""
import os
import re
import signal
import subprocess
import tempfile
import threading
import time
import unittest

OSHRUN = os.environ["OSHRUN"]
BLOCKED = os.environ["BLOCKED"]
LIMIT = 60  # seconds for anything


class Job:
    """A job of blocked programs, whose standard error is collected."""

    def __init__(self, case, pes, *words, env=None):
        self.tmp = tempfile.TemporaryDirectory(prefix="waits-test.")
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PMIX_", "SHMEM_"))}
        environment.update(env or {}, TMPDIR=self.tmp.name)
        environment["ASAN_OPTIONS"] = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        self.process = subprocess.Popen([OSHRUN, "-n", str(pes), *words, BLOCKED, case], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
        self.text = ""
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        for line in self.process.stderr:
            self.text += line

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stderr.close()
        self.tmp.cleanup()

    def expect(self, *patterns, ask=True):
        """Asks until one answer, or all that was said if nobody asks, has a line for each pattern."""
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            start = len(self.text) if ask else 0
            if ask:
                self.process.send_signal(signal.SIGURG)
            patience = time.monotonic() + 1.5
            while time.monotonic() < min(patience, deadline):
                said = self.text[start:]
                if all(re.search(pattern, said, re.MULTILINE) for pattern in patterns):
                    return said
                time.sleep(0.02)
        missing = [pattern for pattern in patterns if not re.search(pattern, self.text, re.MULTILINE)]
        raise AssertionError("missing: %s\n%s" % (missing, self.text))


class OnBothPlaces(unittest.TestCase):
    places = ([], ["--virtual-nodes", "2"])

    def jobs(self, case, pes=4, *words, **options):
        """The job on one node, then on two."""
        for place in self.places:
            with self.subTest(place=place):
                job = Job(case, pes, *place, *words, **options)
                try:
                    yield job
                finally:
                    job.end()


class Waits(OnBothPlaces):
    def test_one_pe_misses_a_barrier(self):
        for job in self.jobs("barrier"):
            job.expect(r"^oshrun: PE 0-2 wait in shmem_barrier_all for PE 3; PE 3 is computing \(in no waiting call\)$",
                       r"^oshrun: PE .*2: shmem_barrier_all waits for PE 3, which has not come as far")

    def test_who_sleeps_is_not_woken_by_the_question(self):
        for job in self.jobs("nap"):
            for _ in range(2):
                job.expect(r"^oshrun: PE 1-3 wait in shmem_barrier_all for PE 0; PE 0 is computing")
            self.assertNotIn("cut short", job.text)

    def test_one_pe_misses_a_reduction(self):
        for job in self.jobs("reduce"):
            job.expect(r"^oshrun: PE 1-3 wait in shmem_int_sum_reduce for PE 0; PE 0 is computing")

    def test_one_pe_misses_an_allocation(self):
        for job in self.jobs("malloc"):
            job.expect(r"^oshrun: PE 0, 2, 3 wait in shmem_malloc for PE 1; PE 1 is computing")

    def test_a_word_that_nobody_sets(self):
        for job in self.jobs("word", 2):
            job.expect(r"^oshrun: PE 0: shmem_long_wait_until waits until ivar at heap\+0 is == 1; it is 0 ",
                       r"^oshrun: PE 1: shmem_long_wait_until waits until ivar at heap\+0x8 is == 2; it is 0 ",
                       r"^oshrun: PE 0, 1 wait in shmem_long_wait_until$")

    def test_each_thread_is_heard(self):
        for job in self.jobs("threads", 2):
            job.expect(r"^oshrun: PE 0, 1: shmem_long_wait_until .* is > 7; it is 0 ",
                       r"^oshrun: PE 0, 1: shmem_long_wait_until .* is < -5; it is 0 ")

    def test_a_lock_held_for_ever(self):
        for job in self.jobs("lock"):
            job.expect(r"^oshrun: PE . ?: shmem_set_lock waits behind PE 0 for the lock at variables\+0x",
                       r"^oshrun: PE 1-3 wait in shmem_set_lock for PE 0; PE 0 is computing")

    def test_locks_in_a_circle(self):
        for job in self.jobs("circle"):
            job.expect(r"^oshrun: a deadlock: PE 0 in shmem_set_lock waits for PE 1 in shmem_set_lock waits for PE 0$")

    def test_collectives_of_different_teams(self):
        for job in self.jobs("mismatch"):
            job.expect(r"^oshrun: a deadlock: PE 0 in shmem_team_sync waits for PE 1 in shmem_barrier_all waits for PE 0: "
                       r"they have called different collective operations, or in different orders$")

    def test_a_stopped_pe_is_silent(self):
        for job in self.jobs("stopped"):
            job.expect(r"; PE 3 is silent")

    def test_operations_towards_a_stopped_pe(self):
        job = Job("stopped", 4, "--virtual-nodes", "2")
        self.addCleanup(job.end)
        job.expect(r"^oshrun: PE 0.*: shmem_long_get waits for PE 3 to answer|^oshrun: PE .* for room to send to PE 3",
                   r"^oshrun: PE .*1: shmem_quiet waits for PE 3 to apply operations|^oshrun: PE .*1: .* for room to send to PE 3")

    def test_a_session_towards_a_stopped_pe(self):
        job = Job("session", 2, "--virtual-nodes", "2")
        self.addCleanup(job.end)
        job.expect(r"^oshrun: PE 0: .* waits for PE 1 to apply what was sent before")


class Ends(OnBothPlaces):
    def test_a_pe_that_returns_from_main(self):
        for job in self.jobs("leave"):
            job.expect(r"^oshrun: PE 0-2 wait in shmem_long_wait_until; PE 3 waits in the implied shmem_finalize",
                       r"PE 3 returned from main without shmem_finalize$",
                       r"^oshrun: nothing can go on", ask=False)

    def test_a_pe_that_returns_from_main_before_a_barrier(self):
        for job in self.jobs("leave_before_a_barrier"):
            job.expect(r"^oshrun: PE 3: the implied shmem_finalize waits for other PEs to call it too",
                       r"PE 3 returned from main without shmem_finalize$",
                       r"^oshrun: nothing can go on", ask=False)

    def test_timeout_tells(self):
        for job in self.jobs("barrier", 2, "--timeout", "8"):
            job.expect(r"^oshrun: the job has not ended within 8 s",
                       r"^oshrun: PE 0 waits in shmem_barrier_all for PE 1; PE 1 is computing", ask=False)
            self.assertEqual(job.process.wait(LIMIT), 124)

    def test_interrupt_tells_what_waits_for_long(self):
        for job in self.jobs("barrier", 2):
            job.expect(r"^oshrun: PE 0: shmem_barrier_all waits .* \((\d\d|[2-9])\.\d s\)$")
            told = len(job.text)
            job.process.send_signal(signal.SIGTERM)
            self.assertEqual(job.process.wait(LIMIT), 128 + signal.SIGTERM)
            job.reader.join()
            self.assertIn("oshrun: PE 0 waits in shmem_barrier_all for PE 1", job.text[told:])

    def test_a_computing_job_says_nothing_when_it_is_interrupted(self):
        job = Job("compute", 2)
        self.addCleanup(job.end)
        job.expect(r"^oshrun: no PE waits in a call of the library; PE 0, 1 are computing \(in no waiting call\)$")
        told = len(job.text)
        job.process.send_signal(signal.SIGINT)
        self.assertEqual(job.process.wait(LIMIT), 130)
        job.reader.join()
        self.assertEqual(job.text[told:].count("\n"), 1, job.text)

    def test_wait_report(self):
        for job in self.jobs("barrier", 2, env={"SHMEM_WAIT_REPORT": "1"}):
            said = job.expect(r"^atoll: PE 0 of 2 on \S+: shmem_barrier_all waits for PE 1, .*; since \d+\.\d s, in thread \d+$",
                              ask=False)
            self.assertNotIn("atoll: PE 1", said)

    def test_without_oshrun_pes_tell_on_standard_error(self):
        environment = {key: value for key, value in os.environ.items() if not key.startswith(("PMIX_", "ATOLL_"))}
        process = subprocess.Popen([BLOCKED, "threads"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment,
                                   text=True)
        self.assertEqual(process.stdout.readline(), "started\n")
        waits = set()
        deadline = time.monotonic() + LIMIT
        while len(waits) < 2 and time.monotonic() < deadline:
            process.send_signal(signal.SIGURG)
            line = process.stderr.readline()
            if "no thread waits" not in line:
                waits.add(re.search(r"shmem_long_wait_until waits until ivar at \S+ is (.) ", line).group(1))
        process.kill()
        process.communicate()
        self.assertEqual(waits, {"<", ">"})


if __name__ == "__main__":
    unittest.main()
