#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""shmem_info --doctor in environments that are as they should be, and in bad ones: what it finds, what it says to do, and
its exit code. SHMEM_INFO and WITHOUT_CALLS name the programs, NVM a folder on a disk."""
import os
import pathlib
import re
import resource
import shutil
import subprocess
import tempfile
import unittest

TOOL = os.environ["SHMEM_INFO"]
GIB = 1 << 30


class Doctor(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="atoll-doctor.")
        self.addCleanup(folder.cleanup)
        self.tmp = folder.name
        self.env = {key: value for key, value in os.environ.items() if not key.startswith(("SHMEM_", "SMA_", "PMIX_"))}

    def look(self, code, *words, limits=(), before=(), **variables):
        """Rows as {what: (state, found, remedy)}."""
        def prepare():
            for kind, soft in limits:
                resource.setrlimit(kind, (soft, soft))
        done = subprocess.run([*before, TOOL, "--doctor", "--within", "100", *words], env={**self.env, **variables}, capture_output=True, text=True,
                              timeout=110, check=False, preexec_fn=prepare)
        rows, last = {}, None
        for line in done.stdout.splitlines():
            if found := re.fullmatch(r"  (ok|note|BAD) +(.{22,}?) +(\S.*)", line):
                last = found[2].strip()
                rows[last] = (found[1], found[3], "")
            elif line.startswith("        -> "):
                rows[last] = (*rows[last][:2], line[11:])
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        bad = sum(row[0] == "BAD" for row in rows.values())
        self.assertEqual(bad > 0, code == 1, done.stdout)
        self.assertRegex(done.stdout, r"\n\d+\.\d s: " + ("nothing prevents jobs" if bad == 0 else f"{bad} things? prevents? jobs") + "\n$")
        return rows

    def test_here_jobs_run(self):
        rows = self.look(0, "--nvm", os.environ["NVM"])
        self.assertEqual(rows["variables"], ("ok", "all are understood", ""))
        for what in ("PEs on one node", "PEs on two nodes", "provider tcp;ofi_rxm"):
            self.assertEqual(rows[what][0], "ok", rows)
        self.assertRegex(rows["NVM folder"][1], r"^\S+ \([a-z0-9 ]+\): writes [0-9.e+]+ [KMGT]?i?B?(bytes)?/s, reads ")
        self.assertLessEqual({"memory", "address space", "open files", "size of files", "locked memory", "core files", "/dev/shm",
                              "debuggers", "oshrun --debug", "cross memory attach", "huge pages", "io_uring"}, set(rows))
        self.assertEqual([name for name in os.listdir(os.environ["NVM"]) if name.startswith("atoll.doctor")], [])

    def test_what_the_programs_cannot_use(self):
        """Each prevents jobs."""
        read_only = pathlib.Path(self.tmp, "file")
        read_only.write_text("")
        rows = self.look(1, "--nvm", str(read_only), SHMEM_PROVIDER="nosuch")
        self.assertEqual(rows["NVM folder"][:2], ("BAD", f"{read_only}: Not a directory"))
        self.assertIn("SHMEM_HEAP=nvm:<folder>", rows["NVM folder"][2])
        self.assertEqual(rows["PEs on two nodes"][:2], ("BAD", "exit code 1"))
        self.assertIn("no libfabric provider (nosuch", rows["PEs on two nodes"][2])
        self.assertEqual(rows["PEs on one node"][0], "ok")

    def test_a_variable_with_a_wrong_value(self):
        rows = self.look(1, SHMEM_MAPPER="pigeon")
        self.assertEqual(rows["variables"][0], "BAD")
        self.assertIn("SHMEM_MAPPER=pigeon is not valid", rows["variables"][1])
        self.assertEqual(rows["PEs on one node"][0], "BAD")
        self.assertIn("SHMEM_MAPPER", rows["PEs on one node"][2])

    def test_folders_that_are_not_there_or_not_to_be_written(self):
        nowhere = self.tmp + "/nowhere"
        rows = self.look(1, SHMEM_NVM_DIR=nowhere, SHMEM_NVM_SIZE="16m", TMPDIR=nowhere)
        self.assertEqual(rows["NVM folder"][:2], ("BAD", nowhere + ": No such file or directory"))
        self.assertEqual(rows["PEs on one node"][0], "BAD")
        self.assertIn("TMPDIR", rows["PEs on one node"][2])

    @unittest.skipIf(os.getuid() == 0, "root may write anywhere")
    def test_a_folder_that_is_not_to_be_written(self):
        os.chmod(self.tmp, 0o500)
        rows = self.look(1, "--nvm", self.tmp)
        self.assertEqual(rows["NVM folder"][:2], ("BAD", self.tmp + ": Permission denied"))

    def test_a_folder_in_memory(self):
        rows = self.look(0, "--nvm", "/dev/shm")
        self.assertIn("/dev/shm (tmpfs)", rows["NVM folder"][1])

    def test_limits(self):
        """Of addresses, which sanitizers need too many of."""
        limits = [(resource.RLIMIT_NOFILE, 20), (resource.RLIMIT_FSIZE, 1 << 20), (resource.RLIMIT_CORE, 0),
                  (resource.RLIMIT_MEMLOCK, 1 << 16)]
        rows = self.look(1, limits=limits)
        for what, state, found in (("open files", "BAD", "at most 20"), ("size of files", "BAD", "1 MiB: the memory"),
                                   ("core files", "note", "none are written"), ("locked memory", "note", "64 KiB: ")):
            self.assertEqual(rows[what][0], state, rows)
            self.assertIn(found, rows[what][1])
            self.assertNotEqual(rows[what][2], "")
        self.assertEqual(rows["PEs on one node"][0], "BAD")

    @unittest.skipIf("SANITIZED" in os.environ, "a sanitizer needs more addresses")
    def test_a_limit_of_addresses(self):
        rows = self.look(1, limits=[(resource.RLIMIT_AS, GIB // 4)])
        self.assertEqual(rows["address space"][:2], ("BAD", "256 MiB"))
        self.assertEqual(self.look(0, limits=[(resource.RLIMIT_AS, 16 * GIB)])["address space"][0], "note")

    def test_calls_that_a_container_refuses(self):
        probe = subprocess.run([os.environ["WITHOUT_CALLS"], "/bin/true"], check=False)
        if probe.returncode == 77:
            self.skipTest("no seccomp here")
        rows = self.look(0, before=[os.environ["WITHOUT_CALLS"]])
        self.assertEqual(rows["io_uring"][0], "note")
        self.assertIn("Operation not permitted", rows["io_uring"][1])
        self.assertEqual(rows["cross memory attach"][:2], ("note", "process_vm_readv: Operation not permitted"))
        self.assertEqual(rows["debuggers"][0], "note")
        self.assertRegex(rows["debuggers"][1], "may attach")

    def test_nothing_beside_it_nor_in_path(self):
        """As where only a part was installed."""
        alone = shutil.copy(TOOL, self.tmp + "/shmem_info")
        done = subprocess.run([alone, "--doctor"], env={**self.env, "PATH": self.tmp}, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"BAD   oshrun +neither beside shmem_info nor in PATH\n +-> install Atoll as a whole\n")
        self.assertRegex(done.stdout, r"note  oshrun --debug +not in PATH: gdb and tmux\n")

    def test_a_job_that_hangs_is_ended(self):
        """The launcher beside the tool never comes back."""
        alone = shutil.copy(TOOL, self.tmp + "/shmem_info")
        launcher = pathlib.Path(self.tmp, "oshrun")
        launcher.write_text(f"#!/bin/sh\necho $$ >> {self.tmp}/pids\nexec sleep 1000\n")
        launcher.chmod(0o755)
        done = subprocess.run([alone, "--doctor"], env=self.env, capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"BAD   PEs on one node +has not ended in time\n")
        seconds = float(re.search(r"\n(\d+\.\d) s: ", done.stdout)[1])
        self.assertLess(seconds, 10 * 3)  # with a wide margin for a busy machine
        for pid in pathlib.Path(self.tmp, "pids").read_text().split():
            self.assertFalse(os.path.exists(f"/proc/{pid}/exe") and "sleep" in os.readlink(f"/proc/{pid}/exe"), pid)

    def test_within_a_job(self):
        """What an outer job has set does not reach the doctor's."""
        rows = self.look(0, PMIX_NAMESPACE="outer", PMIX_RANK="0")
        self.assertEqual(rows["PEs on one node"][0], "ok")


if __name__ == "__main__":
    unittest.main()
