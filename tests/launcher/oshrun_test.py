#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""End-to-end tests of oshrun; arguments choose classes."""
import fcntl
import os
import pty
import random
import re
import resource
import select
import signal
import socket
import subprocess
import sys
import tempfile
import termios
import time
import unittest

from launcher import (FOREVER, HELLO, LIMIT, NEVER_KILL, OSHRUN, Launcher, alive, children, end, job_files, poll_until,
                      process_state, stopped, wait_status)


class CommandLine(Launcher):
    def test_help_and_version(self):
        out, err = self.run_job(0, "--help")
        self.assertIn("--virtual-nodes", out)
        self.assertIn("examples:", out)
        self.assertEqual(err, "")
        self.assertRegex(self.run_job(0, "--version")[0], r"^oshrun \(Atoll \d+\.\d+[^)]*\), OpenSHMEM 1\.6\n$")

    def test_wrong_usage_is_one_line_and_code_2(self):
        for words in (["-n", "0", "true"], ["-n", "x", "true"], ["-n"], [], ["--nope", "true"], ["-n", "2"],
                      ["--virtual-nodes", "3", "-n", "2", "true"], ["--virtual-nodes", "0", "true"],
                      ["--bind", "x", "true"], ["--timeout", "-1", "true"], ["--kill-after", "0", "true"],
                      ["--wdir", "/nonexistent", "true"], ["true", ":"]):
            with self.subTest(words):
                err = self.run_job(2, *words)[1]
                self.assertRegex(err, r"^oshrun: [^\n]+\n$")

    def test_program_that_cannot_run(self):
        for code, words, reason in (
                (127, ["no"], "'no': No such file or directory in PATH; write ./no for a program in this directory"),
                (127, ["-n", 2, "./no"], "'./no': No such file or directory"),
                (127, ["true", ":", "no/program"], "'no/program': No such file or directory"),
                (127, ["/etc/passwd/no"], "'/etc/passwd/no': Not a directory"),
                (126, ["/etc/passwd"], "'/etc/passwd': Permission denied"),
                (126, ["/"], "'/': Is a directory")):
            with self.subTest(words):
                self.assertEqual(self.run_job(code, *words), ("", "oshrun: cannot execute %s\n" % reason))

    def test_directory_that_cannot_be_entered(self):
        for words, reason in ((["--wdir", "/no", "true"], "'/no': No such file or directory"),
                              (["true", ":", "--wdir", "/no", "true"], "'/no': No such file or directory"),
                              (["--wdir", OSHRUN, "true"], "'%s': Not a directory" % OSHRUN)):
            with self.subTest(words):
                self.assertEqual(self.run_job(2, *words),
                                 ("", "oshrun: --wdir %s; give a directory that you may enter\n" % reason))

    def test_script_without_interpreter_line_runs_like_in_a_shell(self):
        with tempfile.TemporaryDirectory() as directory:
            script = os.path.join(directory, "script")
            with open(script, "w") as file:
                file.write("echo from $1\n")
            os.chmod(script, 0o755)
            self.assertEqual(self.run_job(0, script, "script")[0], "from script\n")
            self.assertEqual(self.run_job(0, "--wdir", directory, "./script", "here")[0], "from here\n")
            self.assertEqual(self.run_job(0, "-x", "PATH=" + directory, "script", "path")[0], "from path\n")


class Jobs(Launcher):
    def test_hello(self):
        out, err = self.run_job(0, "-n", 4, HELLO, "hello")
        self.assertEqual(sorted(out.splitlines()),
                         ["PE %d of 4 after PE %d" % (pe, (pe + 1) % 4) for pe in range(4)])
        self.assertEqual(err, "")

    def test_many_pes(self):
        out, _ = self.run_job(0, "-np", 64, HELLO, "hello")
        self.assertEqual(len(out.splitlines()), 64)

    def test_plain_programs(self):
        self.assertEqual(self.run_job(0, "-n", 3, "/bin/echo", "x")[0], "x\n" * 3)
        self.assertEqual(self.run_job(0, "-n3", "/bin/echo", "x")[0], "x\n" * 3)

    def test_a_colon_as_an_argument(self):
        self.assertEqual(self.run_job(0, "/bin/echo", "a", "\\:", "b")[0], "a : b\n")
        self.assertEqual(self.run_job(0, "/bin/echo", "a:", ":b", "\\\\:")[0], "a: :b \\:\n")
        two = self.run_job(0, "/bin/echo", "a", ":", "/bin/echo", "b")[0]
        self.assertEqual(sorted(two.split()), ["a", "b"])

    def test_several_programs(self):
        out, _ = self.run_job(0, "-n", 1, HELLO, "hello", ":", "-n", 2, "-x", "A=b", HELLO, "hello")
        self.assertIn("PE 2 of 3 after PE 0\n", out)
        out, _ = self.run_job(0, "--tag-output", "-n", 1, "-x", "A=1", "sh", "-c", "echo $A", ":", "-x", "A=2", "sh",
                              "-c", "echo $A")
        self.assertEqual(sorted(out.splitlines()), ["[0] 1", "[1] 2"])
        out, _ = self.run_job(0, HELLO, "program", ":", "-n", 2, HELLO, "program")
        self.assertEqual(sorted(out.splitlines()), ["PE 0 is 0 of program 0 of 2", "PE 1 is 0 of program 1 of 2",
                                                    "PE 2 is 1 of program 1 of 2"])

    def test_environment(self):
        self.env["GLIBC_TUNABLES"] = "glibc.malloc.check=0"
        self.env["PMIX_NAMESPACE"] = "outer"
        self.env["PMIX_SERVER_URI2"] = "outer;tcp4://127.0.0.1:1"
        self.env["NOTED"] = "kept"
        out, _ = self.run_job(0, "-n", 2, "--virtual-nodes", 2, "-x", "NOTED", "-x", "GIVEN=a b=c", "sh", "-c",
                              "[ $PMIX_RANK = 1 ] || env")
        lines = out.splitlines()
        self.assertIn("GLIBC_TUNABLES=glibc.malloc.check=0:glibc.rtld.optional_static_tls=8192", lines)
        self.assertIn("SHMEM_VIRTUAL_NODES=2", lines)
        self.assertIn("JSM_JSRUN_PORT=0", lines)  # Open MPI joins the job
        self.assertIn("NOTED=kept", lines)
        self.assertIn("GIVEN=a b=c", lines)
        self.assertRegex(out, r"(?m)^ATOLL_JOB_ID=atoll-\d+-[0-9a-f]{16}$")
        self.assertNotIn("outer", out)
        self.assertNotIn("HWLOC_", out)

    def test_a_variable_to_pass_on_that_is_not_there(self):
        out, err = self.run_job(0, "-n", 2, "-x", "NOT_THERE", "echo", "started")
        self.assertEqual((out, err), ("started\n" * 2,
                                      "oshrun: -x NOT_THERE: there is no such variable to pass on; ignored\n"))

    def test_wdir(self):
        self.assertEqual(self.run_job(0, "--wdir", "/usr/bin", "pwd", "-P")[0],
                         os.path.realpath("/usr/bin") + "\n")

    def test_binding_respects_the_mask(self):
        allowed = sorted(os.sched_getaffinity(0))
        show = "grep Cpus_allowed_list /proc/self/status"
        one = {"preexec_fn": lambda: os.sched_setaffinity(0, allowed[:1])}
        out, err = self.run_job(0, "-n", 2, "--bind", "core", "--report-bindings", "sh", "-c", show, **one)
        self.assertEqual(err, "oshrun: no PE is bound: 2 PEs are more than the 1 core this job may use\n")
        out, _ = self.run_job(0, "-n", 1, "--bind", "core", "sh", "-c", show, **one)
        self.assertEqual(out.split()[1], str(allowed[0]))
        out, _ = self.run_job(0, "-n", 2, "--bind", "none", "sh", "-c", show)
        self.assertEqual(len(set(out.splitlines())), 1)

    def test_bindings_are_those_that_are_reported(self):
        count = len(os.sched_getaffinity(0))
        for kind in ("core", "numa", "auto"):
            with self.subTest(kind):
                out, err = self.run_job(0, "-n", count, "--bind", kind, "--report-bindings", "--tag-output", "grep",
                                        "Cpus_allowed_list", "/proc/self/status")
                bound = dict(re.findall(r"^\[(\d+)\] Cpus_allowed_list:\s*(\S+)$", out, re.M))
                if count == 1 and kind == "auto":
                    self.assertIn("no PE is bound", err)
                    continue
                self.assertEqual(err, "".join("oshrun: PE %d is bound to processors %s\n" % (pe, bound[str(pe)])
                                              for pe in range(count)))

    def test_bindings_are_reported_in_one_wording(self):
        count = len(os.sched_getaffinity(0))
        for words, reason in ((["-n", 2, "--bind", "none"], "--bind none"), (["-n", 1], "a single PE may use all"),
                              (["-n", count + 1], "%d PEs are more than" % (count + 1))):
            with self.subTest(words):
                err = self.run_job(0, *words, "--report-bindings", "true")[1]
                self.assertRegex(err, r"^oshrun: no PE is bound: %s[^\n]*\n$" % reason)
        # A wish that cannot be met is told without being asked, and once.
        err = self.run_job(0, "-n", count + 1, "--bind", "core", "true")[1]
        self.assertRegex(err, r"^oshrun: no PE is bound: \d+ PEs are more than the \d+ cores? this job may use\n$")
        self.assertEqual(self.run_job(0, "-n", count + 1, "true")[1], "")

    def test_limits_come_back(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        low = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))}
        self.assertEqual(self.run_job(0, "-n", 2, "sh", "-c", "ulimit -n", **low)[0], "100\n100\n")

    def test_a_job_has_more_pipes_than_a_process_may_have_files(self):
        hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        low = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (32, hard))}
        self.assertEqual(self.run_job(0, "-n", 32, "sh", "-c", "ulimit -Sn", **low)[0], "32\n" * 32)

    def test_what_a_pmix_client_is_told(self):
        out, _ = self.run_job(0, HELLO, "place", ":", "-n", 2, HELLO, "place")
        self.assertEqual(sorted(out.splitlines()),
                         ["PE %d: local %d, on node %d, global %d, of %d here, of 3, at most 3, node 0 of 1, leader 0, host %s"
                          % (pe, pe, pe, pe, 3, socket.gethostname()) for pe in range(3)])

    def test_pes_inherit_no_descriptors(self):
        extra = os.open("/dev/null", os.O_RDONLY)  # as a library leaves one open in the launcher
        self.addCleanup(os.close, extra)
        for passed in ((), (extra,)):
            out, _ = self.run_job(0, "-n", 8, "--tag-output", "ls", "/proc/self/fd", pass_fds=passed)
            # Three standard ones, and the directory that ls reads.
            self.assertEqual(sorted(out.splitlines()),
                             sorted("[%d] %d" % (pe, fd) for pe in range(8) for fd in range(4)))


class Failures(Launcher):
    def failing(self, code, pattern, *words):
        """The others end because they are told to, not because they are killed."""
        out, err = self.run_job(code, *NEVER_KILL, *words)
        self.assertRegex(err, pattern)
        self.assertEqual(len(err.splitlines()), 1 if pattern != r"^$" else 0, err)
        return out

    def test_exit_code(self):
        self.failing(3, r"^oshrun: PE 2 \(pid \d+, host %s\) exited with code 3; the job ends$" %
                     re.escape(socket.gethostname()), "-n", 4, HELLO, "exit", 2, 3)
        self.failing(9, r"PE 1 .* exited with code 9", "-n", 2, HELLO, "finalize-exit", 1, 9)
        self.failing(5, r"PE 0 .* exited with code 5", "sh", "-c", "exit 5")

    def test_signal(self):
        self.failing(139, r"PE 1 .* was killed by signal 11 \(SIGSEGV, Segmentation fault\).*; the job ends",
                     "-n", 3, HELLO, "signal", 1, 11)
        self.failing(137, r"PE 0 .* signal 9 \(SIGKILL, Killed\)", "-n", 3, HELLO, "signal", 0, 9)

    def test_abort(self):
        self.failing(13, r"PE 1 .* ended the job with code 13: out of luck; the job ends",
                     "-n", 3, HELLO, "abort", 1, 13, "out of luck")
        self.failing(13, r"^$", "-n", 3, HELLO, "abort", 1, 13, "quiet: said already")
        self.failing(0, r"^$", "-n", 3, HELLO, "abort", 2, 0, "")
        self.failing(1, r"^$", "-n", 3, HELLO, "abort", 2, 256, "")

    def test_a_pe_that_lost_another_is_believed_if_none_has_died(self):
        self.failing(1, r"^atoll: PE 2 of 3 on n1: put to PE 1 failed$",
                     "-n", 3, HELLO, "abort", 2, 1, "suspicion: atoll: PE 2 of 3 on n1: put to PE 1 failed")

    def test_exit_without_finalize(self):
        self.failing(1, r"PE 1 .* without having called shmem_finalize", "-n", 3, HELLO, "exit", 1, 0)
        self.run_job(0, HELLO, "exit", 0, 0)

    def test_exit_without_init(self):
        for delay in (0, 200):
            with self.subTest(delay):
                self.failing(1, r"PE 1 .* without having called shmem_init",
                             "-n", 3, HELLO, "never-connect", 1, delay)

    def test_one_program_after_the_other_in_a_pe(self):
        # With several PEs libpmix mixes the end of one program with the start of the next (fence: PARTIAL SUCCESS).
        out, _ = self.run_job(0, "sh", "-c", "%s hello && %s hello" % (HELLO, HELLO))
        self.assertEqual(len(out.splitlines()), 2)

    def test_stubborn_pes_are_killed(self):
        self.run_job(4, "--kill-after", 0.1, "-n", 2, "sh", "-c",
                     "trap '' TERM; [ $PMIX_RANK = 0 ] && exit 4; while :; do sleep 1; done")

    def test_pes_have_time_to_end(self):
        script = ("trap 'echo saved; exit 0' TERM; echo $PMIX_RANK $$; "
                  "[ $PMIX_RANK = 0 ] || while :; do sleep 0.01; done; read x; exit 4")
        process = self.start(*NEVER_KILL, "-n", 2, "sh", "-c", script, stdin=subprocess.PIPE)
        self.pids_by_pe(process, 2)
        self.assertEqual(self.finish(process, 4, input="go\n")[0], "saved\n")

    def test_a_stopped_pe_ends_too(self):
        script = "echo $PMIX_RANK $$; [ $PMIX_RANK = 0 ] || exec sleep 1000; read x; exit 4"
        process = self.start(*NEVER_KILL, "-n", 2, "sh", "-c", script, stdin=subprocess.PIPE)
        pid = self.pids_by_pe(process, 2)[1]
        os.kill(pid, signal.SIGSTOP)
        poll_until(lambda: stopped(pid), "PE 1 is stopped")
        self.finish(process, 4, input="go\n")
        self.assertFalse(alive(pid))

    def test_last_words_come_before_the_verdict(self):
        err = self.run_job(7, "sh", "-c", "echo last words >&2; printf unfinished >&2; exit 7")[1]
        self.assertRegex(err, r"^last words\nunfinished\noshrun: PE 0 ")

    def test_last_words_are_read_even_if_the_death_is_heard_of_first(self):
        script = "echo $PMIX_RANK $$; read x && { echo last words >&2; exit 7; }; sleep 1000"
        process = self.start("-n", 2, "sh", "-c", script, stdin=subprocess.PIPE)
        pid = self.pids_by_pe(process, 2)[0]
        process.send_signal(signal.SIGSTOP)
        poll_until(lambda: stopped(process.pid), "the launcher is stopped")
        process.send_signal(signal.SIGURG)  # from here on signals are what it will look at first
        process.stdin.write("go\n")
        process.stdin.flush()
        poll_until(lambda: process_state(pid) == "Z", "PE 0 has ended")
        process.send_signal(signal.SIGCONT)
        self.assertRegex(self.finish(process, 7)[1], r"^last words\noshrun: PE 0 ")

    def test_timeout(self):
        err = self.run_job(124, *NEVER_KILL, "--answer-within", FOREVER, "-n", 2, "--timeout", "0.3", HELLO, "wait")[1]
        self.assertIn("0.3 s (--timeout)", err)
        self.run_job(0, "--timeout", FOREVER, "true")


class Signals(Launcher):
    # PEs that do not hear the question what they wait for are not waited for.
    patient = (*NEVER_KILL, "--answer-within", FOREVER)

    def end_by(self, number, code):
        process = self.start(*self.patient, "-n", 2, HELLO, "wait")
        pids = self.ready_pids(process, 2)
        process.send_signal(number)
        self.finish(process, code)
        self.assertFalse(any(map(alive, pids)))

    def test_interrupt_terminate_hangup_quit(self):
        for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129), (signal.SIGQUIT, 131)):
            with self.subTest(number):
                self.end_by(number, code)

    def test_second_interrupt_kills(self):
        process = self.start(*self.patient, "-n", 2, HELLO, "stubborn")
        pids = self.ready_pids(process, 2)
        process.send_signal(signal.SIGINT)
        self.assertIn("SIGINT", process.stderr.readline())
        process.send_signal(signal.SIGINT)
        self.finish(process, 130)
        self.assertFalse(any(map(alive, pids)))

    def test_first_interrupt_kills_a_job_that_ends_already(self):
        script = "trap '' TERM; echo $PMIX_RANK $$; [ $PMIX_RANK = 0 ] || while :; do sleep 1; done; read x; exit 4"
        process = self.start(*self.patient, "-n", 2, "sh", "-c", script, stdin=subprocess.PIPE)
        pids = self.pids_by_pe(process, 2)
        process.stdin.write("go\n")
        process.stdin.flush()
        self.assertIn("exited with code 4", process.stderr.readline())
        process.send_signal(signal.SIGINT)
        self.finish(process, 4)
        self.assertFalse(any(map(alive, pids)))

    def test_pes_have_the_signals_that_the_launcher_was_given(self):
        def blocked_and_ignored(**options):
            out, _ = self.run_job(0, "grep", "-E", "Sig(Blk|Ign)", "/proc/self/status", **options)
            return [int(line.split()[1], 16) for line in out.splitlines()]

        def bit(number):
            return 1 << (number - 1)

        self.assertEqual(blocked_and_ignored(), [0, 0])
        mask = {"preexec_fn": lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])}
        self.assertEqual(blocked_and_ignored(**mask), [bit(signal.SIGUSR2), 0])
        ignore = {"preexec_fn": lambda: signal.signal(signal.SIGPIPE, signal.SIG_IGN)}
        self.assertEqual(blocked_and_ignored(**ignore), [0, bit(signal.SIGPIPE)])

    def test_exit_codes_are_known_where_the_caller_ignores_the_ends_of_children(self):
        ignore = {"preexec_fn": lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)}
        self.run_job(3, "sh", "-c", "exit 3", **ignore)

    def test_nohup(self):
        ignore = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}
        process = self.start("sh", "-c", "echo up; read x; exit 3", stdin=subprocess.PIPE, **ignore)
        self.assertEqual(process.stdout.readline(), "up\n")
        process.send_signal(signal.SIGHUP)
        self.finish(process, 3, input="go\n")

    def test_user_signals_reach_every_pe(self):
        script = "trap 'echo got 1' USR1; trap 'echo got 2; exit 0' USR2; echo up; while :; do sleep 0.01; done"
        process = self.start("-n", 2, "sh", "-c", script)
        for _ in range(2):
            self.assertEqual(process.stdout.readline(), "up\n")
        process.send_signal(signal.SIGUSR1)
        for _ in range(2):
            self.assertEqual(process.stdout.readline(), "got 1\n")
        process.send_signal(signal.SIGUSR2)
        self.assertEqual(self.finish(process, 0)[0], "got 2\n" * 2)

    def test_stop_and_continue(self):
        process = self.start("-n", 2, HELLO, "wait")
        pids = self.ready_pids(process, 2)
        process.send_signal(signal.SIGTSTP)
        poll_until(lambda: all(map(stopped, pids + [process.pid])), "all stopped")
        process.send_signal(signal.SIGCONT)
        poll_until(lambda: not any(map(stopped, pids)), "all continued")
        process.send_signal(signal.SIGINT)
        self.finish(process, 130)


class Streams(Launcher):
    def test_standard_input_goes_to_pe_0(self):
        text = "line\n" * 100000
        out, _ = self.run_job(0, "-n", 3, "--tag-output", "sh", "-c", "wc -c", input=text)
        self.assertEqual(sorted(out.split()), sorted(["[0]", str(len(text)), "[1]", "0", "[2]", "0"]))
        with tempfile.TemporaryFile("w+") as file:
            file.write(text)
            file.seek(0)
            self.assertEqual(self.run_job(0, "wc", "-c", stdin=file)[0], "%d\n" % len(text))

    def test_closed_standard_input(self):
        out, _ = self.run_job(0, "-n", 2, "wc", "-c", preexec_fn=lambda: os.close(0), stdin=None)
        self.assertEqual(out, "0\n0\n")

    def test_closed_output(self):
        self.assertEqual(self.run_job(0, "-n", 2, "echo", "lost", preexec_fn=lambda: os.close(1)), ("", ""))
        out, err = self.run_job(0, "-n", 2, "sh", "-c", "echo lost >&2; echo out", preexec_fn=lambda: os.close(2))
        self.assertEqual((out, err), ("out\n" * 2, ""))

    def test_tags(self):
        out, err = self.run_job(0, "-n", 3, "--tag-output", "sh", "-c",
                                "echo a $PMIX_RANK; printf end; echo b $PMIX_RANK >&2")
        self.assertEqual(sorted(out.splitlines()), sorted("[%d] %s" % (pe, text) for pe in range(3)
                                                          for text in ("a %d" % pe, "end")))
        self.assertEqual(sorted(err.splitlines()), ["[%d]<err> b %d" % (pe, pe) for pe in range(3)])

    def test_what_all_pes_say_is_shown_once(self):
        script = "echo atoll: PE $PMIX_RANK of 4 on h: no such thing >&2; echo own $PMIX_RANK >&2"
        _, err = self.run_job(0, "-n", 4, "sh", "-c", script)
        self.assertEqual(sorted(re.findall(r"^own (\d)$", err, re.M)), list("0123"))
        # PEs that start late say it anew: each is named once, and a summary names a PE that was shown.
        shown = re.findall(r"^atoll: PE (\d) of 4 on h: no such thing$", err, re.M)
        named = list(shown)
        for pes, first in re.findall(r"^oshrun: PE ([0-9, -]+) said the same as PE (\d)$", err, re.M):
            self.assertIn(first, shown)
            for part in pes.split(", "):
                ends = [int(pe) for pe in part.split("-")]
                named += [str(pe) for pe in range(ends[0], ends[-1] + 1)]
        self.assertEqual(sorted(named), list("0123"))
        _, err = self.run_job(0, "-n", 4, "--tag-output", "sh", "-c", script)
        self.assertEqual(len(re.findall("no such thing", err)), 4)
        # Standard output is data.
        self.assertEqual(self.run_job(0, "-n", 4, "echo", "atoll: no such thing"), ("atoll: no such thing\n" * 4, ""))

    def test_lines_do_not_mix(self):
        # All but PE 0, whose unfinished lines may be prompts, write their lines in two pieces.
        script = ("i=0; while [ $i -lt 3000 ]; do if [ $PMIX_RANK = 0 ]; then echo PE 0 line $i; else "
                  "printf 'PE %s ' $PMIX_RANK; echo line $i; fi; i=$((i+1)); done")
        for tag in ([], ["--tag-output"]):
            with self.subTest(tag):
                lines = self.run_job(0, "-n", 4, *tag, "sh", "-c", script)[0].splitlines()
                self.assertEqual(len(lines), 12000)
                self.assertEqual([line for line in lines
                                  if not re.fullmatch(r"(\[(\d)\] )?PE (\d) line \d+", line)], [])

    def test_prompt_is_shown(self):
        for pes in (1, 2):
            for stream, redirection in (("stdout", ""), ("stderr", ">&2")):
                script = "[ $PMIX_RANK = 1 ] || { printf 'name? ' %s; read x; echo $x; }" % redirection
                process = self.start("-n", pes, "sh", "-c", script, stdin=subprocess.PIPE)
                self.assertEqual(getattr(process, stream).read(6), "name? ")
                self.assertEqual(self.finish(process, 0, input="me\n")[0], "me\n")

    def test_slow_reader_loses_nothing(self):
        process = self.start("-n", 2, "sh", "-c", "head -c 5000000 /dev/zero | tr '\\0' x; echo")
        poll_until(lambda: select.select([process.stdout], [], [], 0)[0], "output")
        out, _ = self.finish(process, 0)
        self.assertEqual(len(out), 2 * 5000001)

    def test_pes_wait_while_nobody_reads(self):
        process = self.start("sh", "-c", "echo $$ >&2; exec head -c 50000000 /dev/zero")
        pid = int(process.stderr.readline())
        seen = []

        def writes_no_more():
            with open("/proc/%d/io" % pid) as file:
                seen.append(int(re.search(r"wchar: (\d+)", file.read()).group(1)))
            return seen[-1] > 1 << 20 and len(seen) > 20 and seen[-20] == seen[-1]

        poll_until(writes_no_more, "the PE waits")
        self.assertLess(seen[-1], 10 << 20)
        process.send_signal(signal.SIGINT)
        self.finish(process, 130)

    def test_what_dead_pes_have_written_is_not_lost(self):
        pes = 40  # with two pipes each more than the launcher looks at in one go
        script = "echo ready $$; until [ -e \"$TMPDIR/go\" ]; do sleep 0.02; done; echo out; echo err >&2"
        process = self.start("-n", pes, "sh", "-c", script)
        pids = self.ready_pids(process, pes)
        process.send_signal(signal.SIGSTOP)
        poll_until(lambda: stopped(process.pid), "the launcher is stopped")
        process.send_signal(signal.SIGURG)  # from here on signals are what it will look at first
        go = os.path.join(self.tmp.name, "go")
        open(go, "w").close()
        poll_until(lambda: all(process_state(pid) == "Z" for pid in pids), "all PEs have ended")
        os.unlink(go)
        process.send_signal(signal.SIGCONT)
        self.assertEqual(self.finish(process, 0), ("out\n" * pes, "err\n" * pes))

    def test_interrupt_while_nobody_reads(self):
        process = self.start("--kill-after", 0.1, "-n", 2, "yes")
        poll_until(lambda: select.select([process.stdout], [], [], 0)[0], "output")
        process.send_signal(signal.SIGINT)
        poll_until(lambda: process.poll() is not None, "the end without a reader")
        self.assertEqual(process.returncode, 130)

    def test_timeout_while_nobody_reads(self):
        process = self.start("--kill-after", 0.1, "--timeout", 0.2, "-n", 2, "yes")
        poll_until(lambda: process.poll() is not None, "the end without a reader")
        self.assertEqual(process.returncode, 124)

    def test_reader_that_leaves(self):
        process = self.start("yes")
        self.assertEqual(process.stdout.readline(), "y\n")
        process.stdout.close()
        process.stdout = None
        self.assertEqual(process.wait(LIMIT), 128 + signal.SIGPIPE)

    def test_terminal(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(OSHRUN, [OSHRUN, "-n", "2", "sh", "-c", "echo up $PMIX_RANK; exec cat"], self.env)
        self.addCleanup(os.close, terminal)
        seen = b""

        def read_until(text):
            nonlocal seen
            while text not in seen:
                self.assertTrue(select.select([terminal], [], [], LIMIT)[0], seen)
                seen += os.read(terminal, 4096)

        read_until(b"up 0")
        read_until(b"up 1")
        os.write(terminal, b"typed\n")
        read_until(b"typed\r\ntyped\r\n")  # the terminal's echo, and cat's
        os.write(terminal, b"\x04")
        status = poll_until(lambda: wait_status(pid), "the end of input")
        self.assertEqual(os.waitstatus_to_exitcode(status[0]), 0)

    def a_terminal(self):
        """Where one types, and what a shell reads; and what makes it the terminal of a new process."""
        terminal, shells = pty.openpty()
        self.addCleanup(os.close, terminal)
        self.addCleanup(os.close, shells)

        def in_the_foreground():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        return terminal, shells, in_the_foreground

    def test_typing_is_left_to_the_shell_by_a_job_in_the_background(self):
        terminal, shells, in_the_foreground = self.a_terminal()
        os.write(terminal, b"typed\n")
        script = "set -m; \"$0\" -n 2 echo done & wait $!; read line; echo left: $line"
        with subprocess.Popen(["sh", "-c", script, OSHRUN], env=self.env, stdin=shells, stdout=subprocess.PIPE,
                              text=True, preexec_fn=in_the_foreground) as process:
            self.assertEqual(process.communicate(timeout=LIMIT)[0], "done\ndone\nleft: typed\n")

    def test_typing_is_left_to_the_shell_when_pe_0_has_ended(self):
        terminal, shells, in_the_foreground = self.a_terminal()
        process = self.start("-n", 2, "sh", "-c", "echo $PMIX_RANK $$; [ $PMIX_RANK = 0 ] || sleep 1000", stdin=shells,
                             preexec_fn=in_the_foreground)
        pids = self.pids_by_pe(process, 2)
        poll_until(lambda: process_state(pids[0]) is None, "PE 0 has ended, and the launcher knows")
        os.write(terminal, b"ls\n")
        self.assertTrue(select.select([shells], [], [], LIMIT)[0])
        process.send_signal(signal.SIGTERM)
        self.finish(process, 143)
        self.assertTrue(select.select([shells], [], [], 0)[0], "the launcher has taken what was typed")
        self.assertEqual(os.read(shells, 100), b"ls\n")

    def test_interrupt_key(self):
        pid, terminal = pty.fork()
        if pid == 0:
            os.execve(OSHRUN, [OSHRUN, "-n", "2", HELLO, "wait"], self.env)
        self.addCleanup(os.close, terminal)
        seen = b""
        while seen.count(b"ready") < 2:
            self.assertTrue(select.select([terminal], [], [], LIMIT)[0], seen)
            seen += os.read(terminal, 4096)
        os.write(terminal, b"\x03")
        status = poll_until(lambda: wait_status(pid), "the end by ^C")
        self.assertEqual(os.waitstatus_to_exitcode(status[0]), 130)


class Cleanup(Launcher):
    def test_killed_launcher_leaves_nothing(self):
        process = self.start("-n", 2, "sh", "-c",
                             "touch \"$TMPDIR\"/atoll.$ATOLL_JOB_ID.$PMIX_RANK /dev/shm/atoll.$ATOLL_JOB_ID.$PMIX_RANK;"
                             "sleep 300 & echo ready $!; echo ready $$; wait")
        pids = self.ready_pids(process, 4)
        mine = "atoll.atoll-%d-" % process.pid
        # Two files of each PE, and the server's directory.
        self.assertEqual(len([name for name in job_files(self.tmp.name) if name.startswith(mine)]), 5)
        process.kill()
        poll_until(lambda: not any(map(alive, pids)), "PEs and their children gone")
        poll_until(lambda: not any(name.startswith(mine) for name in job_files(self.tmp.name)), "files gone")
        self.assertEqual(process.wait(LIMIT), -signal.SIGKILL)

    def test_a_launcher_killed_at_any_instant_leaves_nothing(self):
        seed = random.randrange(1 << 32)
        print("seed %d" % seed, file=sys.stderr)
        delays = random.Random(seed)
        for _ in range(30):
            process = self.start("-n", 2, HELLO)
            time.sleep(delays.uniform(0, 0.02))
            process.kill()
            process.wait(LIMIT)
            mine = "atoll.atoll-%d-" % process.pid
            poll_until(lambda: not any(name.startswith(mine) for name in job_files(self.tmp.name)), "files gone")

    def test_killed_launcher_leaves_nothing_where_a_relative_tmpdir_was(self):
        self.env["TMPDIR"] = "."
        process = self.start("sh", "-c", "echo ready $$; exec sleep 300", cwd=self.tmp.name)
        self.addCleanup(end, *self.ready_pids(process, 1))
        self.assertEqual(len(os.listdir(self.tmp.name)), 1)
        process.kill()
        poll_until(lambda: not os.listdir(self.tmp.name), "files gone")

    def test_a_launcher_killed_after_its_janitor_takes_its_pes_along(self):
        process = self.start("-n", 2, "sh", "-c", "echo ready $$; exec sleep 300")
        pids = self.ready_pids(process, 2)
        for pid in pids:
            self.addCleanup(end, pid)
        [janitor] = [pid for pid in children(process.pid) if pid not in pids]
        os.kill(janitor, signal.SIGKILL)
        poll_until(lambda: not alive(janitor), "the janitor has gone")
        process.kill()
        poll_until(lambda: not any(map(alive, pids)), "PEs gone")

    def test_killed_pe(self):
        process = self.start("-n", 3, HELLO, "wait")
        pids = self.ready_pids(process, 3)
        os.kill(pids[1], signal.SIGKILL)
        err = self.finish(process, 137)[1]
        self.assertIn("(pid %d, " % pids[1], err)
        self.assertFalse(any(map(alive, pids)))

    def test_grandchildren_end_with_the_job(self):
        out, _ = self.run_job(3, "-n", 2, "sh", "-c", "sleep 300 & echo $!; [ $PMIX_RANK = 0 ] && exit 3; wait")
        pids = [int(line) for line in out.split()]
        poll_until(lambda: not any(map(alive, pids)), "grandchildren gone")

    def test_files_of_a_failed_job_go(self):
        self.run_job(3, "sh", "-c", "touch \"$TMPDIR\"/atoll.$ATOLL_JOB_ID.x /dev/shm/atoll.$ATOLL_JOB_ID.x; exit 3")
        self.assertEqual([n for n in os.listdir("/dev/shm") if n.endswith(".x") and "atoll." in n], [])

    def test_files_of_other_jobs_stay(self):
        names = [os.path.join(folder, "atoll.atoll-1-%s.x" % os.path.basename(self.tmp.name))
                 for folder in (self.tmp.name, "/dev/shm")]
        for name in names:
            open(name, "w").close()
            self.addCleanup(lambda name=name: os.path.exists(name) and os.unlink(name))
        process = self.start("true")
        self.assertEqual(process.wait(LIMIT), 0)
        self.assertTrue(all(map(os.path.exists, names)))

    def test_no_process_of_the_launcher_stays(self):
        with subprocess.Popen([OSHRUN, "-n", "2", "true"], env=self.env, stdin=subprocess.DEVNULL,
                              start_new_session=True) as process:
            self.assertEqual(process.wait(LIMIT), 0)
            with self.assertRaises(ProcessLookupError):
                os.killpg(process.pid, 0)

    def test_tmp_is_the_place_without_tmpdir(self):
        look = ("sh", "-c", "[ -d /tmp/atoll.$ATOLL_JOB_ID.pmix ]")
        self.env["TMPDIR"] = ""
        self.run_job(0, *look)
        del self.env["TMPDIR"]
        self.run_job(0, *look)

    def test_what_the_server_writes_is_for_nobody_else(self):
        out, _ = self.run_job(0, "sh", "-c", "stat -c %a \"$TMPDIR/atoll.$ATOLL_JOB_ID.pmix\"", preexec_fn=lambda: os.umask(0))
        self.assertEqual(out, "700\n")

    def test_unusable_tmpdir(self):
        self.env["TMPDIR"] = "/nonexistent"
        err = subprocess.run([OSHRUN, "true"], env=self.env, stderr=subprocess.PIPE, text=True, timeout=LIMIT)
        self.assertEqual(err.returncode, 1)
        self.assertRegex(err.stderr, r"^oshrun: cannot make the directory /nonexistent/\S+: No such file or directory; "
                                     r"let TMPDIR name a directory that you may write to\n$")


if __name__ == "__main__":
    unittest.main(failfast=True)  # a launcher that hangs does so in many tests
