#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How oshrun keeps the time limit of a job that an engine starts (docs/running.md); arguments choose classes.  A script
that prints the signals it gets stands for the engine.  Real ones: tests/multi_host/engines_test.py."""
import contextlib
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest

from launcher import FOREVER, LIMIT, Launcher, alive, children, end, end_with_the_test, poll_until, stopped

# Prints each signal and goes on, until one whose name is among the arguments.
HEARD = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGALRM,
         signal.SIGURG]
ENGINE = f"""#!{sys.executable}
import os, signal, sys
heard = {list(map(int, HEARD))}
signal.pthread_sigmask(signal.SIG_BLOCK, heard)
print("ready", os.getpid(), os.getppid(), os.getpgrp(), flush=True)
while True:
    name = signal.Signals(signal.sigwait(heard)).name
    print(name, flush=True)
    if name in sys.argv: sys.exit(7)
"""


def prepare_child():
    """The engine hears signals from its first moment on, and the launcher may be stopped: its group has a parent."""
    signal.pthread_sigmask(signal.SIG_BLOCK, HEARD)
    os.setpgrp()


class TimeLimit(Launcher):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="oshrun-engine.")
        self.addCleanup(folder.cleanup)
        self.engine = pathlib.Path(folder.name, "engine")
        self.engine.write_text(ENGINE)
        self.engine.chmod(0o755)

    def start_engine(self, *last, limit=FOREVER):
        """The launcher and its engine, which has started."""
        process = self.start("--run-within", limit, FOREVER, self.engine, *last, preexec_fn=prepare_child)
        ready, pid, *who = process.stdout.readline().split()
        self.addCleanup(end, int(pid))
        self.assertEqual((ready, *map(int, who)), ("ready", process.pid, process.pid), "its parent, and its group")
        return process, int(pid)

    def test_codes_are_those_of_the_engine(self):
        for code, script in ((0, "exit 0"), (7, "exit 7"), (137, "kill -9 $$"), (143, "kill $$")):
            self.run_job(code, "--run-within", FOREVER, FOREVER, "sh", "-c", script)
        self.assertEqual(self.run_job(127, "--run-within", FOREVER, FOREVER, "no/such"),
                         ("", "oshrun: cannot execute 'no/such': No such file or directory\n"))

    def test_words_that_are_not_understood_are_one_line(self):
        self.assertRegex(self.run_job(2, "--run-within", 1, "true")[1], r"^oshrun: --run-within: [^\n]+\n$")

    def test_an_ignored_sigchld(self):
        self.run_job(3, "--run-within", FOREVER, FOREVER, "sh", "-c", "exit 3",
                     preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))

    def test_standard_input_is_the_engines(self):
        self.assertEqual(self.run_job(0, "--run-within", FOREVER, FOREVER, "cat", input="typed\n"), ("typed\n", ""))

    def test_signals_of_processes_are_passed_on(self):
        process, _ = self.start_engine("SIGTERM")
        for name in ("SIGUSR1", "SIGUSR2", "SIGINT", "SIGHUP", "SIGQUIT", "SIGALRM", "SIGINT"):
            process.send_signal(signal.Signals[name])
            self.assertEqual(process.stdout.readline(), name + "\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process, 7), ("SIGTERM\n", ""))

    def test_signals_of_the_group_arrive_once(self):
        process, _ = self.start_engine("SIGALRM")
        for name in ("SIGHUP", "SIGINT", "SIGQUIT", "SIGUSR1", "SIGTERM"):
            # Of pending signals the launcher takes the one with the lowest number first: SIGURG is passed on last.
            os.killpg(process.pid, signal.Signals[name])
            process.send_signal(signal.SIGURG)
            self.assertEqual([process.stdout.readline() for _ in range(2)], [name + "\n", "SIGURG\n"])
            process.send_signal(signal.Signals[name])
            self.assertEqual(process.stdout.readline(), name + "\n")
        process.send_signal(signal.SIGALRM)
        self.assertEqual(self.finish(process, 7), ("SIGALRM\n", ""))

    def test_under_timeout_a_signal_arrives_once(self):
        process, _ = self.start_engine("SIGURG")
        # As timeout(1) does: its child, and then its group.
        process.send_signal(signal.SIGSTOP)
        poll_until(lambda: stopped(process.pid), "the launcher is stopped")
        process.send_signal(signal.SIGTERM)
        os.killpg(process.pid, signal.SIGTERM)
        process.send_signal(signal.SIGCONT)
        self.assertEqual(process.stdout.readline(), "SIGTERM\n")
        process.send_signal(signal.SIGURG)
        self.assertEqual(self.finish(process, 7), ("SIGURG\n", ""))

    def test_timeout_ends_an_engine(self):
        # A signal that comes before the engine waits for it.
        process = subprocess.Popen(["timeout", "1", self.launcher, "--run-within", str(FOREVER), str(FOREVER), self.engine, "SIGURG"],
                                   stdout=subprocess.PIPE, env=self.env, text=True, preexec_fn=prepare_child)
        self.addCleanup(self.stop, process)
        ready, pid, launcher, _ = process.stdout.readline().split()
        self.addCleanup(end, int(pid))
        self.assertEqual((ready, process.stdout.readline()), ("ready", "SIGTERM\n"))
        os.kill(int(launcher), signal.SIGURG)
        self.assertTrue(process.communicate(timeout=LIMIT)[0].endswith("SIGURG\n"))

    def test_the_limit_is_said_and_the_engine_is_told_to_end(self):
        process, _ = self.start_engine("SIGTERM", limit=0.2)
        self.assertEqual(process.stdout.readline(), "SIGTERM\n")
        self.assertEqual(self.finish(process, 124),
                         ("", "oshrun: the job has not ended within 0.2 s (--timeout); the job ends\n"))

    def test_an_engine_that_does_not_listen_is_killed(self):
        _, err = self.run_job(124, "--run-within", 0.1, 0.1, "sleep", FOREVER,
                              preexec_fn=lambda: signal.signal(signal.SIGTERM, signal.SIG_IGN))
        self.assertEqual(err, "oshrun: the job has not ended within 0.1 s (--timeout); the job ends\n")

    def test_an_engine_has_its_time_to_end_after_a_limit_that_was_slept_through(self):
        limit, kill_after = 0.5, 3
        ends = ("import signal, time; print('ready', flush=True); signal.sigwait([signal.SIGTERM]); "
                "print('told', flush=True); time.sleep(0.2); print('ended')")
        process = self.start("--run-within", limit, kill_after, sys.executable, "-c", ends, preexec_fn=prepare_child)
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.send_signal(signal.SIGSTOP)
        time.sleep(limit + kill_after)  # this time itself is meant
        process.send_signal(signal.SIGCONT)
        self.assertEqual(self.finish(process, 124)[0], "told\nended\n")

    def test_a_job_ends_where_nobody_reads(self):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, writer)
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"x" * 4096)
        os.set_blocking(writer, True)
        process = subprocess.Popen([self.launcher, "--run-within", "0.1", str(FOREVER), "sleep", str(FOREVER)], stderr=writer,
                                   env=self.env, preexec_fn=end_with_the_test)
        self.addCleanup(self.stop, process)
        self.assertEqual(process.wait(LIMIT), 124)

    def test_an_engine_that_is_stopped_ends_at_the_limit(self):
        self.run_job(124, "--run-within", 0.2, FOREVER, "sh", "-c", "kill -STOP $$; exit 7")

    def test_an_engine_ends_with_its_launcher(self):
        process, pid = self.start_engine("SIGTERM")
        [witness] = [child for child in children(process.pid) if child != pid]
        process.kill()
        self.assertEqual(process.stdout.readline(), "SIGTERM\n")
        poll_until(lambda: not alive(pid) and not alive(witness), "the engine has ended, and who hears signals for the launcher")

    def test_the_job_is_stopped_and_continued(self):
        process, pid = self.start_engine("SIGTERM")
        process.send_signal(signal.SIGTSTP)
        poll_until(lambda: stopped(process.pid) and stopped(pid), "both are stopped")
        process.send_signal(signal.SIGCONT)
        poll_until(lambda: not stopped(process.pid) and not stopped(pid), "both go on")
        process.send_signal(signal.SIGTERM)
        self.finish(process, 7)

    def terminal_of(self, command):
        """A process whose terminal it is, and who types there and reads: the process id and the open terminal."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(command[0], command, self.env)
        file = open(terminal, "r+b", buffering=0)
        self.addCleanup(file.close)
        self.addCleanup(os.waitpid, pid, 0)
        self.addCleanup(end, pid)
        return pid, file

    def read_until(self, terminal, pattern):
        """All up to it, and what the pattern's groups are."""
        seen = b""
        while not (found := re.search(pattern, seen)):
            self.assertTrue(select.select([terminal], [], [], LIMIT)[0], seen)
            seen += terminal.read(4096)
        return seen, found.groups()

    def line(self, limit=FOREVER):
        """For a shell: the launcher, with an engine that SIGTERM ends."""
        return f"'{self.launcher}' --run-within {limit} {FOREVER} '{self.engine}' SIGTERM"

    def read_ready(self, terminal):
        """The process ids of the launcher and its engine."""
        _, (engine, launcher) = self.read_until(terminal, rb"ready (\d+) (\d+) \d+\r\n")
        self.addCleanup(end, int(engine))
        return int(launcher), int(engine)

    def test_keys_arrive_once(self):
        pid, terminal = self.terminal_of(["/bin/sh", "-c", "exec " + self.line()])
        self.read_ready(terminal)
        seen = b""
        for key, name in ((b"\x03", b"SIGINT"), (b"\x1c", b"SIGQUIT")):
            terminal.write(key)
            seen += self.read_until(terminal, name)[0]
        # Whatever the launcher has made of the keys, it has done before this.
        os.kill(pid, signal.SIGUSR1)
        seen += self.read_until(terminal, b"SIGUSR1")[0]
        os.kill(pid, signal.SIGTERM)
        seen += self.read_until(terminal, b"SIGTERM")[0]
        self.assertEqual([seen.count(name) for name in (b"SIGINT", b"SIGQUIT", b"SIGUSR1")], [1, 1, 1], seen)

    def test_an_engine_hears_that_its_terminal_has_gone(self):
        said = pathlib.Path(self.engine.parent, "said")
        # The kernel tells nobody but the leader of the session, which the launcher is here.
        _, terminal = self.terminal_of(["/bin/sh", "-c", f"exec {self.line()} SIGHUP >'{said}'"])
        poll_until(lambda: said.exists() and "ready" in said.read_text(), "the engine is there")
        terminal.close()
        poll_until(lambda: said.read_text().endswith("SIGHUP\n"), "the engine has heard it")

    def test_a_job_in_the_background_of_a_terminal_ends_at_its_limit(self):
        script = f"stty tostop; set -m; {self.line(0.2)} >/dev/null & wait $!; echo code $?"
        _, terminal = self.terminal_of(["/bin/sh", "-c", script])
        seen, (code,) = self.read_until(terminal, rb"code (\d+)\r")
        self.assertEqual(code, b"124", seen)

    def test_a_shell_stops_it_and_goes_on_with_it(self):
        _, terminal = self.terminal_of(["/bin/sh", "-c", f"set -m; {self.line()}; echo back; fg; echo code $?"])
        launcher, engine = self.read_ready(terminal)
        terminal.write(b"\x1a")
        self.read_until(terminal, b"back")
        poll_until(lambda: not stopped(launcher) and not stopped(engine), "fg continues both")
        terminal.write(b"\x03")  # the terminal is theirs again
        self.read_until(terminal, b"SIGINT")
        os.kill(launcher, signal.SIGTERM)
        self.read_until(terminal, b"code 7")


if __name__ == "__main__":
    unittest.main()
