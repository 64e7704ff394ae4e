#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Who waits for whom: what oshrun and the library say about jobs that hang. OSHRUN and BLOCKED name the programs; arguments
choose tests (Waits.test_...).

A job is asked (SIGURG to oshrun) again and again until its answer is the expected one, as nobody knows how long its PEs need
to get stuck.
"""
import os
import re
import select
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from launcher import LIMIT, OSHRUN, Launcher, end_with_the_test, environment

BLOCKED = os.environ["BLOCKED"]
# The last line of each answer.
END_OF_ANSWER = re.compile(r"^oshrun: (PE [0-9, -]+ waits? in .*|no PE waits in .*)\n", re.MULTILINE)


class Job:
    """A job of blocked programs, whose standard error is collected. PE 0 has started when it is made, or has ended."""

    def __init__(self, case, pes, *words, env=None):
        self.tmp = tempfile.TemporaryDirectory(prefix="waits-test.")
        # Silent PEs are soon given up; who answers late is asked again.
        command = [OSHRUN, "-n", str(pes), "--answer-within", "0.2", "--kill-after", "1000", *words, BLOCKED, case]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, env={**environment(self.tmp.name), **(env or {})},
                                        preexec_fn=end_with_the_test)
        self.text = ""
        self.news = threading.Condition()  # of self.text
        self.reader = threading.Thread(target=self.read)
        self.reader.start()
        self.process.stdout.readline()  # "started"

    def read(self):
        for line in self.process.stderr:
            with self.news:
                self.text += line
                self.news.notify_all()
        with self.news:
            self.news.notify_all()

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        self.tmp.cleanup()

    def told(self, code):
        """All that was said, when the job has ended with the code."""
        assert self.process.wait(LIMIT) == code, self.process.returncode
        self.reader.join()
        return self.text

    @staticmethod
    def has(text, patterns):
        return all(re.search(pattern, text, re.MULTILINE) for pattern in patterns)

    def expect(self, *patterns):
        """Waits until all that was said has a line for each pattern."""
        with self.news:
            self.news.wait_for(lambda: self.has(self.text, patterns) or not self.reader.is_alive(), LIMIT)
        return self.check(self.text, patterns)

    def ask_until(self, *patterns):
        """Asks until one answer has a line for each pattern."""
        deadline = time.monotonic() + LIMIT
        said = ""
        while time.monotonic() < deadline and not self.has(said, patterns):
            with self.news:
                start = len(self.text)
                self.process.send_signal(signal.SIGURG)
                # No answer comes while no PE has joined the job.
                self.news.wait_for(lambda: END_OF_ANSWER.search(self.text, start), 1)
                said = self.text[start:]
            time.sleep(0.02)  # for PEs that are still on their way
        return self.check(said, patterns)

    def check(self, said, patterns):
        missing = [pattern for pattern in patterns if not re.search(pattern, said, re.MULTILINE)]
        if missing:
            raise AssertionError("missing: %s\n%s" % (missing, self.text))
        return said


class OnBothPlaces(unittest.TestCase):
    places = ([], ["--virtual-nodes", "2"])

    def jobs(self, case, pes=4, *words, **options):
        """The job on one node, then on two."""
        for place in self.places:
            with self.subTest(place=place):
                job = Job(case, pes, *place, *words, **options)
                self.addCleanup(job.end)  # of a test that fails
                yield job
                job.end()


class Waits(OnBothPlaces):
    def test_one_pe_misses_a_barrier(self):
        for job in self.jobs("barrier"):
            job.ask_until(r"^oshrun: PE 0-2 wait in shmem_barrier_all for PE 3; PE 3 is computing \(in no waiting call\)$",
                       r"^oshrun: PE .*2: shmem_barrier_all waits for PE 3, which has not come as far")

    def test_who_sleeps_is_not_woken_by_the_question(self):
        for job in self.jobs("nap"):
            for _ in range(2):
                job.ask_until(r"^oshrun: PE 1-3 wait in shmem_barrier_all for PE 0; PE 0 is computing")
            self.assertNotIn("cut short", job.text)

    def test_one_pe_misses_a_reduction(self):
        for job in self.jobs("reduce"):
            job.ask_until(r"^oshrun: PE 1-3 wait in shmem_int_sum_reduce for PE 0; PE 0 is computing")

    def test_one_pe_misses_an_allocation(self):
        for job in self.jobs("malloc"):
            job.ask_until(r"^oshrun: PE 0, 2, 3 wait in shmem_malloc for PE 1; PE 1 is computing")

    def test_one_pe_misses_a_barrier_of_an_active_set_of_all(self):
        for job in self.jobs("active_set_of_all"):
            job.ask_until(r"^oshrun: PE 0-2 wait in shmem_barrier for PE 3; PE 3 is computing")

    def test_one_pe_misses_a_barrier_of_some(self):
        for job in self.jobs("active_set"):
            job.ask_until(r"^oshrun: PE 0, 1 wait in shmem_barrier for PE 2; PE 2, 3 are computing")

    def test_one_pe_misses_the_end_of_a_team(self):
        for job in self.jobs("destroy"):
            job.ask_until(r"^oshrun: PE 0-2 wait in shmem_team_destroy for PE 3; PE 3 is computing")

    def test_a_word_that_nobody_sets(self):
        for job in self.jobs("word", 2):
            job.ask_until(r"^oshrun: PE 0: shmem_long_wait_until waits until ivar at heap\+0 is == 1; it is 0 ",
                       r"^oshrun: PE 1: shmem_long_wait_until waits until ivar at heap\+0x8 is == 2; it is 0 ",
                       r"^oshrun: PE 0, 1 wait in shmem_long_wait_until$")

    def test_words_of_which_one_is_there(self):
        for job in self.jobs("words", 2):
            job.ask_until(r"^oshrun: PE 0: shmem_long_wait_until_all_vector waits until ivars at variables\+0x\w+ is >= 8; it is 0 ",
                       r"^oshrun: PE 1: shmem_long_wait_until_any waits until one of 3 words at variables\+0x\w+ compares as asked ")

    def test_each_thread_is_heard(self):
        for job in self.jobs("threads", 2):
            job.ask_until(r"^oshrun: PE 0, 1: shmem_long_wait_until .* is > 7; it is 0 ",
                       r"^oshrun: PE 0, 1: shmem_long_wait_until .* is < -5; it is 0 ")

    def test_a_lock_held_for_ever(self):
        for job in self.jobs("lock"):
            job.ask_until(r"^oshrun: PE . ?: shmem_set_lock waits behind PE 0 for the lock at variables\+0x",
                       r"^oshrun: PE 1-3 wait in shmem_set_lock for PE 0; PE 0 is computing")

    def test_locks_in_a_circle(self):
        for job in self.jobs("circle"):
            job.ask_until(r"^oshrun: a deadlock: PE 0 in shmem_set_lock waits for PE 1 in shmem_set_lock waits for PE 0$")

    def test_collectives_of_different_teams(self):
        for job in self.jobs("mismatch"):
            job.ask_until(r"^oshrun: a deadlock: PE 0 in shmem_team_sync waits for PE 1 in shmem_barrier_all waits for PE 0: "
                       r"they have called different collective operations, or in different orders$")

    def test_a_collective_that_one_has_called_once_more(self):
        # On one node others see that PE 0 has come further, and do not wait for it.
        job = Job("once_too_often", 4, "--virtual-nodes", "4")
        self.addCleanup(job.end)
        job.ask_until(r"^oshrun: a deadlock: PE . in shmem_alltoallmem waits for PE .*: some have made more collective calls of "
                      r"this team than others: PE . has made \d+, PE . has made \d+")

    def test_a_key_that_nobody_inserts(self):
        for job in self.jobs("key"):
            job.ask_until(r"^oshrun: PE .*3: shmemx_kv_get_wait waits for a key of 5 bytes to be inserted on PE 3 ",
                       r"^oshrun: PE 0-3 wait in shmemx_kv_get_wait for PE 3$")

    def test_a_stopped_pe_is_silent(self):
        for job in self.jobs("stopped"):
            job.ask_until(r"; PE 3 is silent")

    def test_operations_towards_a_stopped_pe(self):
        job = Job("stopped", 4, "--virtual-nodes", "2")
        self.addCleanup(job.end)
        job.ask_until(r"^oshrun: PE 0.*: shmem_long_get waits for PE 3 to answer|^oshrun: PE .* for room to send to PE 3",
                   r"^oshrun: PE .*1: shmem_quiet waits for PE 3 to apply operations|^oshrun: PE .*1: .* for room to send to PE 3")

    def test_what_completes_operations_towards_a_stopped_pe(self):
        job = Job("quiets", 5, "--virtual-nodes", "5")
        self.addCleanup(job.end)
        calls = ("shmem_ctx_quiet", "shmem_barrier_all", "shmem_barrier", "shmem_pe_quiet")
        job.ask_until(*(r"^oshrun: PE %d: %s waits for PE 4 to apply operations " % row for row in enumerate(calls)))

    def test_a_session_towards_a_stopped_pe(self):
        job = Job("session", 2, "--virtual-nodes", "2")
        self.addCleanup(job.end)
        job.ask_until(r"^oshrun: PE 0: .* waits for PE 1 to apply what was sent before")

    def test_elements_and_pages_of_a_stopped_pe(self):
        with tempfile.TemporaryDirectory(prefix="waits-test.") as folder:
            job = Job("far_away", 5, "--virtual-nodes", "5", env={"SHMEM_NVM_DIR": folder, "SHMEM_NVM_SIZE": "16m",
                                                                  "SHMEM_NVM_PAGE": "16k", "SHMEM_NVM_CACHE": "1m"})
            self.addCleanup(job.end)
            job.ask_until(r"^oshrun: PE 0: shmemx_kv_get waits for an answer ",
                          r"^oshrun: PE 1: shmemx_kv_quiet waits for 3 answers ",
                          r"^oshrun: PE 2: an operation on the NVM heap waits for page \d+ of PE 4 to be loaded, which is not here ",
                          r"^oshrun: PE 3: an operation on the NVM heap waits for PE 4 to have it applied ",
                          r"^oshrun: PE 2, 3 wait in an operation on the NVM heap for PE 4; PE 0 waits in shmemx_kv_get for PE 4; "
                          r"PE 1 waits in shmemx_kv_quiet; PE 4 is silent")


class Ends(OnBothPlaces):
    def test_a_pe_that_returns_from_main(self):
        for job in self.jobs("leave", 4, "--stuck-after", "0.2"):
            job.expect(r"^oshrun: PE 0-2 wait in shmem_long_wait_until; PE 3 waits in the implied shmem_finalize",
                       r"PE 3 returned from main without shmem_finalize$",
                       r"^oshrun: a PE has gone, and all that remain have waited for [\d.]+ s; if none of them has a thread that works, "
                       r"nothing can go on: end the job")

    def test_a_pe_that_returns_from_main_before_a_barrier(self):
        for job in self.jobs("leave_before_a_barrier", 4, "--stuck-after", "0.2"):
            job.expect(r"^oshrun: PE 3: the implied shmem_finalize waits for other PEs to call it too",
                       r"PE 3 returned from main without shmem_finalize$",
                       r"^oshrun: a PE has gone, and all that remain have waited for [\d.]+ s; if none of them has a thread that works, "
                       r"nothing can go on: end the job")

    def test_a_pe_that_has_gone_while_another_computes(self):
        job = Job("leave_and_compute", 3, "--stuck-after", "0.05")
        self.addCleanup(job.end)
        self.assertNotIn("nothing can go on", job.told(0))

    def test_a_job_that_gets_stuck_later(self):
        job = Job("leave_and_get_stuck", 3, "--stuck-after", "0.05")
        self.addCleanup(job.end)
        job.expect(r"^oshrun: PE 0, 1 wait in shmem_long_wait_until", r"^oshrun: a PE has gone, and all that remain have waited for [\d.]+ s; if none of them has a thread that works, "
                       r"nothing can go on: end the job")

    def test_timeout_tells(self):
        seconds, said = 0.5, ""
        # Until it is time enough for both to come so far.
        while "PE 1 is computing" not in said and seconds < LIMIT:
            job = Job("barrier", 2, "--timeout", str(seconds))
            self.addCleanup(job.end)
            said = job.told(124)
            job.check(said, [r"^oshrun: the job has not ended within %g s" % seconds])
            seconds *= 2
        job.check(said, [r"^oshrun: PE 0 waits in shmem_barrier_all for PE 1; PE 1 is computing"])

    def test_interrupt_tells_what_waits_for_long(self):
        job = Job("barrier", 2, "--answer-within", "2")
        self.addCleanup(job.end)
        job.ask_until(r"^oshrun: PE 0: shmem_barrier_all waits .* \((1\.[1-9]|[2-9]\.\d|\d\d\.\d) s\)$")
        asked = len(job.text)
        job.process.send_signal(signal.SIGTERM)
        self.assertIn("oshrun: PE 0 waits in shmem_barrier_all for PE 1", job.told(128 + signal.SIGTERM)[asked:])

    def test_a_computing_job_says_nothing_when_it_is_interrupted(self):
        job = Job("compute", 2)
        self.addCleanup(job.end)
        job.ask_until(r"^oshrun: no PE waits in a call of the library; PE 0, 1 are computing \(in no waiting call\)$")
        asked = len(job.text)
        job.process.send_signal(signal.SIGINT)
        self.assertEqual(job.told(130)[asked:].count("\n"), 1, job.text)

    def test_wait_report(self):
        for job in self.jobs("barrier", 2, env={"SHMEM_WAIT_REPORT": "1"}):
            said = job.expect(r"^atoll: PE 0 of 2 on \S+: shmem_barrier_all waits for PE 1, .*; since \d+\.\d s, in thread \d+$")
            self.assertNotIn("atoll: PE 1", said)

    def test_without_oshrun_pes_tell_on_standard_error(self):
        process = subprocess.Popen([BLOCKED, "threads"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment(tempfile.gettempdir()), text=True, preexec_fn=end_with_the_test)
        self.addCleanup(Launcher.stop, process)
        self.assertEqual(process.stdout.readline(), "started\n")
        waits = set()
        deadline = time.monotonic() + LIMIT
        while len(waits) < 2 and time.monotonic() < deadline:
            process.send_signal(signal.SIGURG)
            line = process.stderr.readline()
            if "no thread waits" in line:
                self.assertEqual(waits, set(), "threads that wait went unnoticed")
            else:
                waits.add(re.search(r"shmem_long_wait_until waits until ivar at \S+ is (.) ", line).group(1))
        for _ in range(8):
            process.send_signal(signal.SIGURG)
            self.assertNotIn("no thread waits", process.stderr.readline())
        process.kill()
        process.communicate()
        self.assertEqual(waits, {"<", ">"})

    def test_without_oshrun_a_pe_that_computes_says_so(self):
        process = subprocess.Popen([BLOCKED, "compute"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment(tempfile.gettempdir()), text=True, preexec_fn=end_with_the_test)
        self.addCleanup(Launcher.stop, process)
        self.assertEqual(process.stdout.readline(), "started\n")
        process.send_signal(signal.SIGURG)
        self.assertTrue(select.select([process.stderr], [], [], LIMIT)[0], "no answer")
        self.assertEqual(process.stderr.readline(), "atoll: PE 0 of 1: no thread waits in a call\n")
        process.kill()
        process.communicate()


if __name__ == "__main__":
    unittest.main()
