#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""oshrun --debug: gdb for each PE, in tmux or typed by hand. OSHRUN names the launcher, DEBUGGED a program with symbols
that prints its PE and waits for all in between."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import launcher
from launcher import poll_until

DEBUGGED = os.environ["DEBUGGED"]
LINES = {f"PE {pe} of 2\n" for pe in range(2)}
GDB = ("gdb is not here", shutil.which("gdb") is None)
BATCH = ("-nx", "-batch", "-iex", "set debuginfod enabled off", "-iex", "set confirm off")


class Debug(launcher.Launcher):
    def setUp(self):
        super().setUp()
        self.env.pop("TMUX", None)

    def by_hand(self, pes, *words, path=None):
        """Starts a job, attaches gdb as it is told to, and returns what it and the job have said."""
        env = dict(self.env, PATH=path) if path else self.env
        self.env = env
        job = self.start("-n", 2, "--timeout", launcher.LIMIT, *words, DEBUGGED)
        head = job.stderr.readline()
        self.assertIn("type in other terminals of this host:", head)
        debuggers = []
        for pe in pes:
            line = job.stderr.readline()
            found = re.fullmatch(rf"oshrun: PE {pe} waits for: (.*gdb) (-q -p \d+ .*)\n", line)
            self.assertTrue(found, line)
            command = " ".join(f"'{word}'" for word in (found[1], *BATCH)) + " " + found[2] + " -ex bt -ex 'print shmem_answer' -ex continue"
            debuggers.append(subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                              stdin=subprocess.DEVNULL, env={**env, "PATH": os.environ["PATH"]}))
        said = [debugger.communicate(timeout=launcher.LIMIT)[0] for debugger in debuggers]
        return head, said, self.finish(job, 0)

    def stops_in_main(self, said):
        self.assertRegex(said, r"(?m)^#0 +main \(", said)
        self.assertRegex(said, r"(?m)^\$1 = 42$", said)

    @unittest.skipIf(GDB[1], GDB[0])
    def test_without_a_terminal_it_says_what_to_type(self):
        head, said, (out, _) = self.by_hand([0, 1], "--debug")
        self.assertTrue(head.startswith("oshrun: --debug: there is no terminal here" if shutil.which("tmux") else "oshrun: --debug: tmux is not"), head)
        for each in said:
            self.stops_in_main(each)
        self.assertEqual(set(out.splitlines(True)), LINES)

    @unittest.skipIf(GDB[1], GDB[0])
    def test_one_pe_waits_and_the_others_run(self):
        _, said, (out, err) = self.by_hand([1], "--debug=1")
        self.stops_in_main(said[0])
        self.assertNotIn("PE 0 waits", err)
        self.assertEqual(set(out.splitlines(True)), LINES)

    @unittest.skipIf(GDB[1], GDB[0])
    def test_without_tmux_it_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(shutil.which("gdb"), folder + "/gdb")
            head, said, _ = self.by_hand([0], "--debug=gdb:0", path=folder)
        self.assertTrue(head.startswith("oshrun: --debug: tmux is not in PATH"), head)
        self.stops_in_main(said[0])

    def test_without_the_debugger_it_says_so(self):
        _, err = self.run_job(127, "-n", 2, "--debug=no-such-debugger", DEBUGGED)
        self.assertEqual(err, "oshrun: --debug: 'no-such-debugger' is not in PATH; install it, or name another debugger, as in "
                              "--debug=lldb\n")

    def test_who_waits_for_a_debugger_ends_with_the_job(self):
        _, err = self.run_job(124, "-n", 2, "--debug=true", "--timeout", 0.3, DEBUGGED)
        self.assertRegex(err, r"oshrun: PE 1 waits for: \S*true -p \d+\n")


@unittest.skipIf(GDB[1] or shutil.which("tmux") is None, "gdb or tmux is not here")
class DebugInTmux(launcher.Launcher):
    """In a tmux server of its own."""

    def setUp(self):
        super().setUp()
        self.folder = tempfile.TemporaryDirectory(prefix="oshrun-tmux.")
        self.addCleanup(self.folder.cleanup)
        self.env.pop("TMUX", None)
        self.env["TMUX_TMPDIR"] = self.folder.name
        pathlib.Path(self.folder.name, "gdbinit").write_text("set debuginfod enabled off\nset confirm off\nset pagination off\n")
        self.env["HOME"] = self.env["XDG_CONFIG_HOME"] = self.folder.name
        os.rename(self.folder.name + "/gdbinit", self.folder.name + "/.gdbinit")
        self.addCleanup(lambda: self.tmux("kill-server", check=False))

    def tmux(self, *words, check=True):
        return subprocess.run(["tmux", "-L", "debugged", "-f", "/dev/null", *words], env=self.env, check=check, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=launcher.LIMIT).stdout

    def windows(self):
        return set(re.findall(r"(?m)^.*$", self.tmux("list-windows", "-a", "-F", "#{window_name}", check=False))) - {""}

    def continue_all(self, names):
        for name in names:
            poll_until(lambda: re.search(r"main \(.*\) at .*\n(?s:.*)\(gdb\)", self.tmux("capture-pane", "-p", "-t", name)), name)
        for name in names:
            self.tmux("send-keys", "-t", name, "continue", "Enter")
        for name in names:
            poll_until(lambda: "exited normally" in self.tmux("capture-pane", "-p", "-t", name), name + " ends")

    def test_a_window_for_each_pe(self):
        said = self.folder.name + "/said"
        self.tmux("new-session", "-d", "-x", "200", "-y", "50", "-n", "shell",
                  f"'{launcher.OSHRUN}' -n 2 --timeout {launcher.LIMIT} --debug '{DEBUGGED}' > '{said}' 2>&1; echo $? >> '{said}'; sleep {launcher.LIMIT}")
        poll_until(lambda: self.windows() == {"shell", "PE 0", "PE 1"}, "windows")
        self.continue_all(["PE 0", "PE 1"])
        text = poll_until(lambda: (lambda t: t if t.endswith("\n0\n") else None)(pathlib.Path(said).read_text()), "the job ends")
        self.assertEqual(set(text.splitlines(True)),
                         LINES | {"oshrun: gdb waits for you in 2 windows of tmux\n", "0\n"})

    def test_a_session_of_its_own_where_there_is_a_terminal(self):
        self.env["TMUX_TMPDIR"] = self.folder.name
        leader, follower = os.openpty()
        self.addCleanup(os.close, leader)
        job = self.start("-n", 2, "--debug=1", "--timeout", launcher.LIMIT, DEBUGGED, stdin=follower)
        os.close(follower)
        line = job.stderr.readline()
        found = re.fullmatch(r"oshrun: gdb waits for you in 1 window of tmux; in another terminal: tmux attach -t (oshrun-\d+)\n", line)
        self.assertTrue(found, line)
        default = ["tmux", "-f", "/dev/null"]
        self.tmux = lambda *words, check=True: subprocess.run([*default, *words], env=self.env, check=check, text=True,
                                                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=launcher.LIMIT).stdout
        self.continue_all([found[1] + ":PE 1"])
        out, _ = self.finish(job, 0)
        self.assertEqual(set(out.splitlines(True)), LINES)


if __name__ == "__main__":
    unittest.main()
