#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A test on hosts is skipped where hosts are not to be had, and fails where making them fails otherwise: hosts.py with
an `ip` and an `unshare` that fail."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).parent))
import hosts  # noqa: E402


class Setup(unittest.TestCase):
    def outcome(self, tool, says):
        """The exit code of hosts.py, and what it prints, where a tool says this and fails."""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, tool)
            file.write_text(f"#!/bin/sh\n[ $LC_ALL = C ] && echo '{tool}: {says}' >&2 || echo translated >&2\nexit 1\n")
            file.chmod(0o755)
            run = subprocess.run([sys.executable, hosts.__file__, "true"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                 env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8"},
                                 text=True, timeout=60)
        return run.returncode, run.stdout

    def test_what_is_not_permitted_is_skipped(self):
        for tool in ("ip", "unshare"):
            code, said = self.outcome(tool, "Operation not permitted")
            self.assertEqual(code, hosts.SKIPPED, said)
            self.assertRegex(said, r"^skipped: .*: Operation not permitted\n$")

    def test_a_system_without_namespaces_is_skipped(self):
        for says in ("No space left on device", "Invalid argument"):
            code, said = self.outcome("unshare", "unshare failed: " + says)
            self.assertEqual(code, hosts.SKIPPED, said)
        self.assertEqual(self.outcome("ip", "RTNETLINK answers: Invalid argument")[0], 1)

    def test_what_goes_wrong_is_a_failure(self):
        for tool in ("ip", "unshare"):
            code, said = self.outcome(tool, "File exists")
            self.assertEqual(code, 1, said)
            self.assertIn(f"{tool}: File exists", said)


hosts.on_hosts(1, lambda network: unittest.main())
