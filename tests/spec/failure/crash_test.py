#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: crash_test.py CRASH [a part of a test's name]

What a PE says that crashes (crash.c): the signal, the call of the API, the argument, the lines that led there, once; and
that it ends as it would have without all that. OSHRUN names the launcher, FOLDER a place for an NVM heap."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

CRASH = sys.argv.pop(1)
SOURCE = pathlib.Path(__file__).with_name("crash.c").read_text().splitlines()
SEGV, ABRT, FPE, ILL, BUS, KILL, REFUSED = 139, 134, 136, 132, 135, 137, 1
NOWHERE = "nothing can be %s at 0x0"


def line_of(mark):
    return next(i for i, line in enumerate(SOURCE, 1) if f"/* line: {mark} */" in line)


class Crash(unittest.TestCase):
    options = ()
    heap = {}

    def job(self, code, *words, pes=2, **variables):
        environment = {**os.environ, "SHMEM_SYMMETRIC_SIZE": "16m", **self.heap, **variables}
        done = subprocess.run([os.environ["OSHRUN"], "-n", str(pes), "--timeout", "50", *self.options, CRASH, *words],
                              capture_output=True, text=True, timeout=60, env=environment, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertLessEqual(len(re.findall("^oshrun: .* the job ends$", done.stderr, re.M)), 1, done.stderr)
        return done

    def crashes(self, how, code, head, marks=None, frames=(), **variables):
        """The head once, and frames in order: those of `marks`, lines of crash.c, and main's."""
        said = self.job(code, how, **variables).stderr
        self.assertEqual(len(re.findall(rf"^atoll: PE 1 of 2 on \S+: {head}", said, re.M)), 1, said)
        found = [line for line in re.findall(r"^atoll: PE 1 of 2 on \S+:   #\d+ (.*)$", said, re.M) if "crash.c:" in line]
        expected = [f"{'crash' if mark != 'thread' else 'crash_in_a_thread'} at .*crash.c:{line_of(mark)}" for mark in marks or [how]]
        self.assertEqual(len([line for line in found if not line.startswith("main at ")]), len(expected), said)
        for line, pattern in zip(found, expected):
            self.assertRegex(line, f"^{pattern}$")
        return said

    def test_a_store_to_nowhere(self):
        self.crashes("store", SEGV, "SIGSEGV: " + NOWHERE % "written")

    def test_the_source_of_a_put(self):
        for how, call in (("put", "shmem_long_put"), ("put_nbi", "shmem_putmem_nbi"), ("put_large", "shmem_long_put")):
            self.crashes(how, SEGV, f"SIGSEGV in {call}: source is NULL, or close to it: nothing can be read at 0x")

    def test_the_destination_of_a_get(self):
        for how in ("get", "get_nbi", "iget"):
            self.crashes(how, SEGV, f"SIGSEGV in shmem_long_{how}: dest is NULL, or close to it: nothing can be written at 0x")

    def test_a_refused_call(self):
        self.crashes("pe", REFUSED, "shmem_long_p: pe is 99; allowed is 0 to 1$")

    def test_other_signals(self):
        self.crashes("abort", ABRT, "SIGABRT: the program has called abort")
        self.crashes("divide", FPE, "SIGFPE: a division of integers by zero")
        self.crashes("illegal", ILL, "SIGILL: no instruction is at 0x")
        self.crashes("bus", BUS, "SIGBUS: no memory is behind 0x")
        self.crashes("raise", SEGV, "SIGSEGV: sent by process ")

    # Wherever it is then.
    def test_a_signal_from_outside(self):
        self.assertRegex(self.job(ABRT, "outside").stderr, r"(?m)^atoll: PE 1 of 2 on \S+: SIGABRT: sent by process \d+$")

    def test_a_function_that_is_not_there(self):
        self.crashes("call", SEGV, "SIGSEGV: " + NOWHERE % "executed")

    def test_a_stack_without_room(self):
        said = self.job(SEGV, "stack").stderr
        self.assertEqual(len(re.findall("SIGSEGV: nothing can be written at 0x", said)), 1, said)
        self.assertRegex(said, rf"#1 overflow at .*crash.c:{line_of('stack')}\n")
        self.assertRegex(said, r"\(the same \d+ times more\)\n")
        self.assertLess(len(said.splitlines()), 8)

    # The report crashes itself: what it has is a line.
    def test_a_stack_that_is_lost(self):
        said = self.job(SEGV, "lost_stack").stderr
        self.assertRegex(said, r"(?m)^atoll: PE 1 of 2 on \S+: SIGSEGV: nothing can be written at 0x\w+\n"
                         r"atoll: PE 1 of 2 on \S+:   \(its stack cannot be read\)$")
        self.assertTrue(said.endswith("\n"), said)
        for line in said.splitlines():
            self.assertLessEqual(line.count("atoll: ") + line.count("oshrun: "), 1, line)

    def test_another_thread(self):
        self.crashes("thread", SEGV, "SIGSEGV: " + NOWHERE % "written")

    def test_a_damaged_heap(self):
        self.crashes("free", ABRT, "SIGABRT: the program has called abort")

    def test_all_crash(self):
        said = self.job(SEGV, "store", pes=4, ALL_CRASH="1").stderr
        self.assertEqual(len(re.findall(r"SIGSEGV: nothing", said)), 1, said)
        self.assertEqual(len(re.findall(rf"crash at .*crash.c:{line_of('store')}", said)), 1, said)

    def test_the_programs_handler(self):
        for when in ("OWN_HANDLER", "LATE_HANDLER"):
            done = self.job(7, "store", **{when: "1"})
            self.assertEqual((done.stdout, "SIGSEGV" in done.stderr), ("the program's handler\n", False))

    def test_off(self):
        for word in ("0", "none"):
            for how, code in (("put", SEGV), ("abort", ABRT)):
                self.assertNotIn("atoll:", self.job(code, how, SHMEM_BACKTRACE=word).stderr)
            self.assertNotIn("#0", self.job(REFUSED, "pe", SHMEM_BACKTRACE=word).stderr)


class Bounded(unittest.TestCase):
    """Reports that cannot be finished."""
    job = Crash.job
    options = ()
    heap = {}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.pipe = folder.name + "/pipe"
        os.mkfifo(self.pipe)

    def test_a_thread_has_the_loaders_lock(self):
        said = self.job(SEGV, "loader", PIPE=self.pipe).stderr
        self.assertRegex(said, r"(?m)^atoll: PE 1 of 2 on \S+: SIGSEGV: nothing can be written at 0x0 \(NULL\)\n"
                         r"atoll: PE 1 of 2 on \S+:   \(calls that are missing were not found in time: .*\)$")

    def test_a_thread_has_the_loaders_lock_and_a_call_is_refused(self):
        self.assertRegex(self.job(KILL, "refused_loader", PIPE=self.pipe).stderr,
                         r"(?m)^atoll: PE 1 of 2 on \S+: shmem_long_p: pe is 99; allowed is 0 to 1$")

    # Whoever waited for it without an end would be ended by the clock of its own report, which says so.
    def test_another_report_of_the_node_does_not_end(self):
        said = self.job(SEGV, "behind", PIPE=self.pipe, ALL_CRASH="1").stderr
        self.assertRegex(said, r"(?m)^atoll: PE 1 of 2 on \S+: SIGSEGV: nothing can be written at 0x0 \(NULL\)$")
        self.assertNotRegex(said, "#0|not found in time")
        self.assertRegex(said, r"(?m)^oshrun: PE 1 .* was killed by signal 11 ")


class CrashOnTwoNodes(Crash):
    options = ("--virtual-nodes", "2")


class CrashWithNvm(Crash):
    heap = {"SHMEM_NVM_PAGE": "16k", "SHMEM_NVM_CACHE": "256k"}

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=os.environ.get("FOLDER"))
        self.addCleanup(folder.cleanup)
        self.heap = {**self.heap, "SHMEM_HEAP": "nvm:" + folder.name}

    # The heap's own handler sees the fault first, and passes it on.
    def test_beyond_the_heap(self):
        self.crashes("beyond", SEGV, "SIGSEGV: nothing can be read at 0x")


if __name__ == "__main__":
    unittest.main()
