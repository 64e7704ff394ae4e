#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""End-to-end tests of oshrun's memory servers; arguments choose classes.

Most of them use a copy of oshrun whose shmem_memory is a script, so that servers behave well or badly on purpose.
LIBRARY_FOLDER is the library's place beside bin/, FAILING_CALLS a library that can be loaded into any program.
"""
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

from launcher import (FOREVER, HELLO, LIMIT, NEVER_KILL, OSHRUN, Launcher, alive, children, poll_until, process_state,
                      stopped)

SERVER = os.path.join(os.path.dirname(OSHRUN), "shmem_memory")
LIBRARY_FOLDER = os.environ["LIBRARY_FOLDER"]
HOST = socket.gethostname()


class WithServers(Launcher):
    def setUp(self):
        super().setUp()
        place = tempfile.TemporaryDirectory(prefix="oshrun-installed.")
        self.addCleanup(place.cleanup)
        self.place = os.path.realpath(place.name)
        self.library = os.path.normpath(os.path.join(self.place, LIBRARY_FOLDER, "libshmem_remote.so"))
        self.env["PLACE"] = self.place
        os.mkdir(os.path.join(self.place, "bin"))
        self.launcher = shutil.copy(OSHRUN, os.path.join(self.place, "bin", "oshrun"))

    def servers_run(self, script):
        path = os.path.join(self.place, "bin", "shmem_memory")
        with open(path, "w") as file:
            file.write("#!/bin/sh\n%s\n" % script)
        os.chmod(path, 0o755)

    def install_remote_malloc(self):
        os.makedirs(os.path.dirname(self.library), exist_ok=True)
        shutil.copy(os.environ["FAILING_CALLS"], self.library)
        self.env["ASAN_OPTIONS"] += ":verify_asan_link_order=0"

    def path_of(self, name):
        return os.path.join(self.place, name)

    def what_they_say(self, name, count):
        """What processes of the job have written to such files, by rank."""
        texts = []
        for rank in range(count):
            with open(self.path_of("%s.%d" % (name, rank))) as file:
                texts.append(file.read().splitlines())
        return texts

    def start_waiting(self, pes, servers, *words):
        """A job of which all processes wait. Returns it, and the pids by rank."""
        self.servers_run("exec %s wait" % HELLO)
        process = self.start(*words, "-n", pes, "--memory-servers", servers, HELLO, "wait")
        self.ready_pids(process, pes + servers)
        return process, children(process.pid)[1:]  # after the janitor

    def assert_one_line(self, err, pattern):
        self.assertRegex(err, r"^oshrun: %s\n$" % pattern)


class MemoryServers(WithServers):
    # Each says to a file what it is, and servers wait until they are ended.
    say = "(%s) >\"$PLACE/said.$PMIX_RANK.part\"; mv \"$PLACE/said.$PMIX_RANK.part\" \"$PLACE/said.$PMIX_RANK\""

    def said_by_all(self, what, size, *words):
        """What the processes of a job of so many say when each runs the script `what`."""
        for rank in range(size):
            if os.path.exists(self.path_of("said.%d" % rank)):
                os.unlink(self.path_of("said.%d" % rank))
        self.servers_run(self.say % what + "; exec sleep 1000")
        await_all = "for rank in %s; do while [ ! -e \"$PLACE/said.$rank\" ]; do sleep 0.01; done; done"
        pe = self.say % what + "; " + await_all % " ".join(map(str, range(size)))
        self.assertEqual(self.run_job(0, *words, "sh", "-c", pe), ("", ""))
        return self.what_they_say("said", size)

    def until_servers_have_spoken(self, program):
        """Commands of a server and a PE that run `program`; the PE stays until two servers have done so."""
        spoken = tempfile.mkdtemp(dir=self.place)
        server = "%s && : >%s/$$" % (program, spoken)
        return server, ("sh", "-c", "%s; until [ $(ls %s | wc -l) = 2 ]; do sleep 0.01; done" % (program, spoken))

    def test_they_are_the_last_ranks_of_the_job(self):
        server, pe = self.until_servers_have_spoken("%s place" % HELLO)
        self.servers_run(server)
        out, err = self.run_job(0, "-n", 2, "--memory-servers", 2, *pe)
        self.assertEqual(sorted(out.splitlines()),
                         ["PE %d: local %d, on node %d, global %d, of 4 here, of 4, at most 4, node 0 of 1, leader 0, "
                          "host %s" % (rank, rank, rank, rank, HOST) for rank in range(4)])
        self.assertEqual(err, "")
        server, pe = self.until_servers_have_spoken("%s program" % HELLO)
        self.servers_run(server)
        out, _ = self.run_job(0, "--memory-servers", 2, *pe, ":", *pe)
        self.assertEqual(sorted(out.splitlines()),
                         ["PE 0 is 0 of program 0 of 3", "PE 1 is 0 of program 1 of 3", "PE 2 is 0 of program 2 of 3",
                          "PE 3 is 1 of program 2 of 3"])

    def test_all_are_told_how_many_there_are(self):
        tell = "echo ${SHMEM_MEMORY_SERVERS-none} ${SHMEM_MEMORY_PER_SERVER-none}"
        said = self.said_by_all(tell, 4, "-n", 2, "--memory-servers", 2, "--memory-per-server", "1g")
        self.assertEqual(said, [["2 1073741824"]] * 4)
        self.assertEqual(self.said_by_all(tell, 2, "--memory-servers", 1), [["1 none"]] * 2)

    def test_the_environment_stands_for_the_option(self):
        tell = "echo ${SHMEM_MEMORY_SERVERS-none}"
        self.env["SHMEM_MEMORY_SERVERS"] = "2"
        self.assertEqual(self.said_by_all(tell, 3), [["2"]] * 3)
        self.assertEqual(self.said_by_all(tell, 2, "--memory-servers", 1), [["1"]] * 2)
        self.assertEqual(self.said_by_all(tell, 1, "--memory-servers", 0), [["none"]])
        self.env["SHMEM_MEMORY_SERVERS"] = "two"
        self.assert_one_line(self.run_job(2, "true")[1], "SHMEM_MEMORY_SERVERS 'two': the number [^\n]*")

    def test_settings_of_the_first_program_are_theirs_too(self):
        said = self.said_by_all("echo $A; pwd", 2, "--memory-servers", 1, "-x", "A=1", "--wdir", "/usr")
        self.assertEqual(said, [["1", "/usr"], ["1", os.getcwd()]])

    def test_remote_malloc_is_loaded_into_the_pes_alone(self):
        self.install_remote_malloc()
        tell = "echo ${SHMEM_REMOTE_MALLOC-none} ${LD_PRELOAD-none}"
        said = self.said_by_all(tell, 3, "-n", 2, "--memory-servers", 1, "--remote-malloc", "8m")
        self.assertEqual(said, [["8388608 " + self.library]] * 2 + [["none none"]])
        before = self.path_of("before.so")
        shutil.copy(self.library, before)
        said = self.said_by_all(tell, 2, "--memory-servers", 1, "--remote-malloc", "1k", "-x", "LD_PRELOAD=" + before)
        self.assertEqual(said, [["1024 %s:%s" % (self.library, before)], ["none none"]])

    def test_what_is_not_installed_is_named(self):
        err = self.run_job(127, "--memory-servers", 1, "true")[1]
        self.assert_one_line(err, "cannot execute '%s/bin/shmem_memory': No such file or directory" % self.place)
        self.servers_run("exec sleep 1000")
        err = self.run_job(127, "--memory-servers", 1, "--remote-malloc", "8m", "true")[1]
        self.assert_one_line(err, "--remote-malloc: cannot load '%s': No such file or directory; it is installed with "
                                  "oshrun" % self.library)

    def test_a_library_that_the_loader_cannot_be_told_of_is_refused(self):
        self.install_remote_malloc()
        self.servers_run("exec sleep 1000")
        for name in ("a b", "a:b"):
            with self.subTest(name):
                other = os.path.join(self.place, name)
                shutil.copytree(self.path_of("bin"), os.path.join(other, "bin"))
                shutil.copytree(os.path.dirname(self.library), os.path.join(other, LIBRARY_FOLDER))
                self.launcher = os.path.join(other, "bin", "oshrun")
                for where in ([], ["-H", "atoll-other-host"]):
                    err = self.run_job(127, *where, "--memory-servers", 1, "--remote-malloc", "8m", "true")[1]
                    self.assert_one_line(err, "--remote-malloc: LD_PRELOAD cannot name '[^']*/%s/[^']*'; install [^\n]*" % name)
                self.run_job(0, "--memory-servers", 1, "true")

    def test_only_pe_0_reads_the_input(self):
        text = "line\n" * 1000
        self.servers_run("wc -c >\"$PLACE/read.$PMIX_RANK\"; exec sleep 1000")
        pe = "while [ ! -s \"$PLACE/read.1\" ]; do sleep 0.01; done; wc -c"
        self.assertEqual(self.run_job(0, "--memory-servers", 1, "sh", "-c", pe, input=text)[0], "%d\n" % len(text))
        with open(self.path_of("read.1")) as file:
            self.assertEqual(file.read(), "0\n")

    def test_tags_name_them(self):
        server, pe = self.until_servers_have_spoken("%s place" % HELLO)
        self.servers_run("(%s) >&2" % server)
        out, err = self.run_job(0, "--memory-servers", 2, "--tag-output", *pe)
        self.assertRegex(out, r"^\[0\] PE 0: local 0[^\n]*\n$")
        self.assertRegex("\n".join(sorted(err.splitlines())),
                         r"^\[memory server 0\]<err> PE 1: local[^\n]*\n\[memory server 1\]<err> PE 2: local[^\n]*$")

    def test_bindings_are_reported(self):
        self.servers_run("exec %s place" % HELLO)
        cores = len(os.sched_getaffinity(0))
        words = ("--report-bindings", "--bind", "core", HELLO, "place")
        err = self.run_job(0, "-n", cores, "--memory-servers", 1, *words)[1]
        pes = "".join(r"oshrun: PE %d is bound to processors [0-9,-]+\n" % pe for pe in range(cores))
        self.assertRegex(err, r"^oshrun: no memory server is bound: %d PEs? and 1 memory server are more than the %d "
                              r"cores? this job may use\n%s$" % (cores, cores, pes))
        if cores > 1:
            err = self.run_job(0, "-n", cores - 1, "--memory-servers", 1, *words)[1]
            self.assertRegex(err, r"oshrun: PE %d is bound to processors [0-9,-]+\n"
                                  r"oshrun: memory server 0 is bound to processors [0-9,-]+\n$" % (cores - 2))

    def test_user_signals_are_for_pes(self):
        self.servers_run("exec %s wait" % HELLO)
        process = self.start("--memory-servers", 1, "sh", "-c",
                             "trap 'echo got it; exec %s wait' USR1; echo up; while :; do sleep 0.01; done" % HELLO)
        self.assertEqual(process.stdout.readline(), "up\n")
        process.send_signal(signal.SIGUSR1)
        self.assertEqual(process.stdout.readline(), "got it\n")
        self.ready_pids(process, 2)  # a server that has had the signal does not come as far
        process.send_signal(signal.SIGTERM)
        self.finish(process, 143)

    def test_they_stop_and_continue_with_the_job(self):
        process, pids = self.start_waiting(1, 1)
        process.send_signal(signal.SIGTSTP)
        poll_until(lambda: all(map(stopped, pids + [process.pid])), "all stopped")
        process.send_signal(signal.SIGCONT)
        poll_until(lambda: not any(map(stopped, pids)), "all continued")
        process.send_signal(signal.SIGINT)
        self.finish(process, 130)

    def test_nobody_asks_them_what_they_wait_for(self):
        process, _ = self.start_waiting(2, 2, *NEVER_KILL, "--answer-within", FOREVER)
        process.send_signal(signal.SIGURG)
        self.assertEqual(process.stderr.readline(),
                         "oshrun: no PE waits in a call of the library; PE 0, 1 are silent (it starts up, or is stopped)\n")
        process.send_signal(signal.SIGTERM)
        self.finish(process, 143)


class MemoryServersEnd(WithServers):
    def assert_gone(self, pids):
        self.assertFalse(any(map(alive, pids)))

    def test_one_that_is_killed_ends_the_job(self):
        process, pids = self.start_waiting(2, 2, *NEVER_KILL)
        os.kill(pids[3], signal.SIGKILL)
        err = self.finish(process, 137)[1]
        self.assert_one_line(err, r"memory server 1 \(pid %d, host %s\) was killed by signal 9 \(SIGKILL, Killed\); the "
                                  r"job ends" % (pids[3], HOST))
        self.assert_gone(pids)

    def test_one_that_fails_ends_the_job(self):
        for server, code, what in (("exit 2 3", 3, "exited with code 3"),
                                   ("exit 2 0", 1, "exited with code 0 while PEs still run"),
                                   ("signal 2 11", 139, r"was killed by signal 11 \(SIGSEGV[^)]*\)(, core dumped)?"),
                                   ("abort 2 13 lost", 13, "ended the job with code 13: lost")):
            with self.subTest(server):
                self.servers_run("exec %s %s" % (HELLO, server))
                err = self.run_job(code, *NEVER_KILL, "-n", 2, "--memory-servers", 1, HELLO, "wait")[1]
                self.assert_one_line(err, r"memory server 0 \(pid \d+, host [^)]*\) %s; the job ends" % what)

    def test_one_that_cannot_be_started_ends_the_job(self):
        self.servers_run("")
        with open(self.path_of("bin/shmem_memory"), "w") as file:
            file.write("#!/no/such/interpreter\n")
        err = self.run_job(127, "-n", 2, "--memory-servers", 1, HELLO, "wait")[1]
        self.assert_one_line(err, "cannot execute '%s/bin/shmem_memory': No such file or directory" % self.place)

    def test_they_end_when_a_pe_fails(self):
        self.servers_run("exec %s wait" % HELLO)
        err = self.run_job(3, *NEVER_KILL, "-n", 2, "--memory-servers", 2, HELLO, "exit", 1, 3)[1]
        self.assert_one_line(err, r"PE 1 \(pid \d+, host [^)]*\) exited with code 3; the job ends")

    def test_those_that_have_left_the_job_may_end_before_the_pes(self):
        self.servers_run("exec %s finalize-exit" % HELLO)
        process = self.start("--memory-servers", 1, "sh", "-c", "%s finalize-exit; echo up; read x" % HELLO,
                             stdin=subprocess.PIPE)
        self.assertEqual(process.stdout.readline(), "up\n")
        servers = children(process.pid)[2:]  # behind the janitor and the PE, if it has not ended already
        poll_until(lambda: not any(map(process_state, servers)), "the server has ended, and the launcher knows")
        self.assertEqual(self.finish(process, 0, input="go\n"), ("", ""))

    def test_those_without_pes_are_ended_in_silence(self):
        # In order, without finalize, and without having joined; servers that end when told, and that do not.
        for server in ("exec %s wait" % HELLO, "trap '' TERM; exec %s wait" % HELLO):
            self.servers_run(server + " >/dev/null")
            for words in ((HELLO, "finalize-exit"), (HELLO, "exit", 0, 0), ("-n", 2, "true")):
                with self.subTest((server, words)):
                    self.assertEqual(self.run_job(0, *NEVER_KILL, "--memory-servers", 2, *words), ("", ""))

    def test_the_death_of_one_explains_what_a_pe_says(self):
        # Connections break some moments before a process can be reaped, and here the only PE has gone by then.
        self.servers_run("%s finalize-exit; sleep 0.3; kill -KILL $$" % HELLO)
        err = self.run_job(137, "--memory-servers", 1, HELLO, "abort", 0, 1, "suspicion: atoll: PE 0: lost memory server 0")[1]
        self.assert_one_line(err, r"memory server 0 \(pid \d+, host [^)]*\) was killed by signal 9 [^\n]*")

    def test_what_one_says_of_lost_pes_is_no_failure(self):
        self.servers_run("exec %s abort 1 1 'suspicion: atoll: memory server 0: lost PE 0'" % HELLO)
        for _ in range(3):
            self.assertEqual(self.run_job(0, "--memory-servers", 1, HELLO, "exit", 0, 0), ("", ""))

    def test_the_code_of_a_pe_is_that_of_the_job(self):
        self.servers_run("trap 'exit 9' TERM; %s wait" % HELLO)
        self.run_job(5, "--memory-servers", 1, HELLO, "exit", 0, 5)

    def test_interrupt(self):
        process, pids = self.start_waiting(2, 2, *NEVER_KILL, "--answer-within", FOREVER)
        process.send_signal(signal.SIGINT)
        self.assertRegex(self.finish(process, 130)[1],
                         r"^oshrun: caught signal 2 [^\n]*\n(oshrun: no PE waits [^\n]*; PE 0, 1 are silent [^\n]*\n)?$")
        self.assert_gone(pids)

    def test_timeout(self):
        self.servers_run("exec %s wait" % HELLO)
        err = self.run_job(124, *NEVER_KILL, "--answer-within", FOREVER, "-n", 2, "--memory-servers", 2, "--timeout", 0.3,
                           HELLO, "wait")[1]
        self.assertIn("0.3 s (--timeout)", err)
        self.assertNotRegex(err, "PE [23]|PE 0-[23]")

    def test_a_killed_launcher_takes_them_along(self):
        process, pids = self.start_waiting(1, 2)
        process.kill()
        poll_until(lambda: not any(map(alive, pids)), "all have gone")
        # Its janitor removes the files of the job a moment later.
        poll_until(lambda: not os.listdir(self.tmp.name), "files gone")


class ServersOwnProgram(Launcher):
    def run_alone(self, *words):
        return subprocess.run([SERVER, *words], env=self.env, capture_output=True, text=True, timeout=LIMIT)

    def test_alone_it_says_how_it_is_started(self):
        ran = self.run_alone()
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertRegex(ran.stderr, r"^shmem_memory: [^\n]*oshrun -n N --memory-servers M program\n$")

    def test_arguments(self):
        ran = self.run_alone("--help")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn("--memory-servers", ran.stdout)
        ran = self.run_alone("4g")
        self.assertEqual(ran.returncode, 2)
        self.assertRegex(ran.stderr, r"^shmem_memory: [^\n]*'4g'[^\n]*\n$")


if __name__ == "__main__":
    unittest.main(failfast=True)  # a launcher that hangs does so in many tests
