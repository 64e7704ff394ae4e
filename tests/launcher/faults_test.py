#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What oshrun does when a call that it needs fails. FAILING_CALLS names the library that makes it fail; arguments choose
classes."""
import os
import shutil
import signal
import unittest

from launcher import HELLO, NEVER_KILL, Launcher, alive, children, poll_until, stopped

FAILING_CALLS = os.environ["FAILING_CALLS"]


class Faults(Launcher):
    def setUp(self):
        super().setUp()
        self.env["LD_PRELOAD"] = FAILING_CALLS
        self.env["ASAN_OPTIONS"] += ":verify_asan_link_order=0"

    def fails(self, call, code, *patterns, words=("-n", 3, "echo", "started")):
        """The job's output, when `call` fails and the launcher says one line for each pattern."""
        self.env["FAIL_CALL"] = call
        with self.subTest(call):
            out, err = self.run_job(code, *NEVER_KILL, *words)
            self.assertEqual(len(err.splitlines()), len(patterns), err)
            for pattern, line in zip(patterns, err.splitlines()):
                self.assertRegex(line, pattern)
            return out

    def test_a_pe_that_cannot_be_made_ends_the_job(self):
        refusal = r"^oshrun: cannot start 3 PEs: %s; .*\(ulimit -%s.*\); use fewer, or raise the limit$"
        for call in range(1, 5):  # the janitor's, and one for each PE
            self.assertEqual(self.fails("fork:%d" % call, 1, refusal % ("Resource temporarily unavailable", "u")), "")
        for call in range(1, 12):  # the janitor's, that of failures, three for each PE
            self.assertEqual(self.fails("pipe2:%d" % call, 1, refusal % ("Too many open files", "n")), "")
        self.assertEqual(self.fails("pipe2:12", 0), "started\n" * 3, "there is no further pipe")

    def test_an_engine_that_cannot_be_started(self):
        words = ("--run-within", 1000, 1000, "true")
        for call, why in (("fork:1", r"Resource temporarily unavailable; .*\(ulimit -u.*\)"), ("fork:2", r"Resource .*"),
                          ("pipe2:1", r"Too many open files; .*\(ulimit -n\)")):
            self.env["FAIL_CALL"] = call
            out, err = self.run_job(1, *words)
            self.assertRegex(err, r"^oshrun: cannot start 'true': " + why + r"; end other programs, or raise the limit\n$")

    def test_a_pe_that_cannot_be_let_go_ends_the_job(self):
        out = self.fails("write:2", 1, r"^oshrun: cannot start PE 1: Input/output error$")
        self.assertIn(out, ("", "started\n"))  # PE 0 has been let go

    def test_a_server_that_fails_ends_the_job(self):
        for call, what in (("PMIx_server_init:1", r"cannot start the PMIx server: ERROR \(-1\)"),
                           ("PMIx_generate_regex:1", "PMIx cannot describe the job"),
                           ("PMIx_generate_ppn:1", "PMIx cannot describe the job"),
                           ("PMIx_server_register_nspace:1", r"the PMIx server does not take the job: ERROR \(-1\)"),
                           ("PMIx_server_register_client:2", r"the PMIx server does not take a process: ERROR \(-1\)"),
                           ("PMIx_server_setup_fork:3", r"the PMIx server has no settings for a process: ERROR \(-1\)")):
            self.assertEqual(self.fails(call, 1, "^oshrun: %s; is the loopback network interface .* up\\?$" % what), "")

    def test_a_pe_that_cannot_be_bound_runs_unbound(self):
        words = ("-n", 1, "--bind", "core", "--report-bindings", "echo", "started")
        out = self.fails("sched_setaffinity:1", 0, "^oshrun: PE 0 could not be bound: Invalid argument$", words=words)
        self.assertEqual(out, "started\n")

    def test_without_a_socket_nobody_is_asked_what_he_waits_for(self):
        self.env["FAIL_CALL"] = "bind:1"
        process = self.start(*NEVER_KILL, "-n", 2, HELLO, "wait")
        self.ready_pids(process, 2)
        process.send_signal(signal.SIGURG)
        process.send_signal(signal.SIGINT)
        self.assertRegex(self.finish(process, 130)[1], r"^oshrun: caught [^\n]*; the job ends\n$")

    def started_so_far(self, pes, *words):
        """A launcher that has forked its PEs, and waits; the janitor and the PEs in order."""
        self.env["STOP_CALL"] = "PMIx_server_init:1"
        process = self.start(*NEVER_KILL, "-n", pes, *(words or ("echo", "started")))
        poll_until(lambda: stopped(process.pid), "the launcher has forked its PEs")
        return process, children(process.pid)

    def test_a_pe_that_is_killed_before_it_is_let_go(self):
        process, pids = self.started_so_far(3)
        os.kill(pids[2], signal.SIGKILL)
        process.send_signal(signal.SIGCONT)
        err = self.finish(process, 137)[1]
        self.assertRegex(err, r"^oshrun: PE 1 \(pid %d, host [^)]+\) was killed by signal 9[^\n]*\n$" % pids[2])

    def test_what_a_pe_needs_goes_before_it_is_let_go(self):
        place = os.path.join(self.tmp.name, "place")
        for code, what, words in ((126, "go to the directory", ("--wdir", place, "echo")),
                                  (127, "execute", (place + "/program",))):
            with self.subTest(what):
                os.mkdir(place)
                os.symlink("/bin/true", place + "/program")
                process, _ = self.started_so_far(2, *words)
                shutil.rmtree(place)
                process.send_signal(signal.SIGCONT)
                name = words[1] if code == 126 else words[0]
                self.assertEqual(self.finish(process, code)[1],
                                 "oshrun: cannot %s '%s': No such file or directory\n" % (what, name))

    def test_a_launcher_that_is_killed_before_it_lets_pes_go(self):
        process, pids = self.started_so_far(3)
        self.assertEqual(len(pids), 4)
        process.kill()
        poll_until(lambda: not any(map(alive, pids)), "PEs and janitor gone")
        self.assertEqual(os.listdir(self.tmp.name), [])
        self.assertEqual(process.communicate()[0], "")


class Upcalls(Launcher):
    """What the PMIx server asks of a launcher, beyond what jobs of the library make it ask."""

    def test_events_that_programs_register_and_send(self):
        out, err = self.run_job(0, "-n", 2, HELLO, "events")
        self.assertEqual((sorted(out.splitlines()), err), (["PE 0 has seen it", "PE 1 has seen it"], ""))

    def test_data_of_a_job_that_there_is_not(self):
        out, err = self.run_job(0, "-n", 2, HELLO, "strangers")
        self.assertEqual((out, err), ("no such data\n" * 2, ""))


if __name__ == "__main__":
    unittest.main(failfast=True)  # a launcher that hangs does so in many tests
