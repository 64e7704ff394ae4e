#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: tests/security/strangers_test.py OSHRUN VICTIM STRANGER [TEST...]

Strangers at every port and socket of a job, while it computes: it goes on, with right results, and nothing of theirs is
looked at (docs/security.md).  Traffic is on loopback alone.
"""
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
import unittest

from outside import connect, knock, names_of, ports_of

OSHRUN, VICTIM, STRANGER = (os.path.abspath(name) for name in sys.argv[1:4])
DEADLINE = 100  # seconds: for a job that hangs
NOBODY = 65534  # a user who runs no job


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


def name_of(pid):
    with open(f"/proc/{pid}/comm") as file:
        return file.read().strip()


class Job:
    """Four PEs on two virtual nodes."""

    def __init__(self, *options, before=()):
        self.folder = tempfile.mkdtemp(prefix="atoll-strangers-")
        self.stop = os.path.join(self.folder, "stop")
        self.out = open(os.path.join(self.folder, "out"), "w+")
        self.err = open(os.path.join(self.folder, "err"), "w+")
        self.process = subprocess.Popen([OSHRUN, "-n", "4", "--virtual-nodes", "2", "--timeout", str(DEADLINE), *options,
                                         *before, VICTIM, self.stop], stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err)
        until = time.monotonic() + DEADLINE
        while not self.said(self.out) and self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        alive = children(self.process.pid) if self.process.poll() is None else []
        self.pes = [pid for pid in alive if name_of(pid).startswith("victim")]

    @staticmethod
    def said(file):
        with open(file.name) as copy:
            return copy.read()

    def end(self, test, fewest=2):
        """Returns how many messages have been refused, and what was said."""
        test.assertIsNone(self.process.poll(), "the job has ended: " + self.said(self.err))
        open(self.stop, "w").close()
        code = self.process.wait(DEADLINE)
        out, err = self.said(self.out), self.said(self.err)
        for file in self.out, self.err:
            file.close()
            os.unlink(file.name)
        os.unlink(self.stop)
        os.rmdir(self.folder)
        test.assertEqual(code, 0, err)
        said = re.search(r"(\d+) rounds, (\d+) messages and (\d+) connections refused", out)
        rounds, refused, self.refused_connections = map(int, said.groups())
        test.assertGreaterEqual(rounds, fewest)
        return refused, err


def are_closed(ports):
    """Connects, and sees each connection end."""
    for port in ports:
        try:
            with connect(port) as stream:
                assert stream.recv(1) == b""
        except ConnectionError:
            pass
    return []


class OtherUser:
    """A process of another user that does `work`, and stays with what that returns until the end."""

    def __init__(self, work, *arguments):
        ready, told = os.pipe()
        self.child = os.fork()
        if self.child == 0:
            try:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
                kept = work(*arguments)
                os.write(told, b"1")
                time.sleep(DEADLINE if kept else 0)
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(0)
        os.close(told)
        with open(ready, "rb") as pipe:
            self.done = pipe.read(1) == b"1"

    def end(self):
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)


def speak_for_the_job(names):
    dice = random.Random(22)
    for name, kind in names:
        for content in b"?", b"", dice.randbytes(64), dice.randbytes(400), bytes(400):
            for _ in range(20):
                with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM if kind == 2 else socket.SOCK_SEQPACKET) as end:
                    end.settimeout(1)
                    try:
                        end.connect("\0" + name)
                        end.send(content)
                    except OSError:
                        pass


class Strangers(unittest.TestCase):
    def attack(self, what, *options):
        job = Job(*options)
        ports = [port for pid in job.pes for _, port in ports_of(pid)]
        self.assertGreaterEqual(len(ports), 4)
        for port in ports:
            attack = subprocess.run([STRANGER, what, str(port)], timeout=DEADLINE, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT, text=True)
            self.assertEqual(attack.returncode, 0, attack.stdout)
        return job.end(self)

    def test_messages(self):
        refused, err = self.attack("messages")
        self.assertGreater(refused, 100)
        lines = [line for line in err.splitlines() if " said the same as PE " not in line]
        self.assertLessEqual(len(lines), 4, err)  # of each PE at most one
        for line in lines:
            self.assertRegex(line, r"atoll: PE \d of 4 on \S+: a message that no PE of this job can have sent was dropped, as all such are: "
                                   r"another program reaches this process's \S+ port")

    def test_long_messages(self):
        self.assertGreater(self.attack("long")[0], 0)

    # From processes that end at once.
    def test_torn_messages(self):
        self.assertGreater(self.attack("torn")[0], 0)

    def test_tagged_messages(self):
        self.assertGreater(self.attack("tagged", "-x", "SHMEM_KV_MATCH=entry")[0], 0)

    def test_writes(self):
        self.attack("write")

    def test_reads(self):
        self.attack("read")

    def test_atomics(self):
        self.attack("atomics")

    # With libfabric out of the way; oshrun's ports too.
    def test_connections(self):
        if os.geteuid() != 0:
            self.skipTest("needs to be another user for a while")
        job = Job()
        ports = {pid: [port for _, port in ports_of(pid)] for pid in [job.process.pid, *job.pes]}
        for found in ports.values():
            self.assertTrue(found)
        stranger = OtherUser(knock, [("127.0.0.1", port) for port in sum(ports.values(), [])])
        self.assertTrue(stranger.done)
        _, err = job.end(self)
        stranger.end()
        self.assertEqual(err, "")

    # Nobody reads what they say: a stranger could pose as a PE.  This user's connections stay.
    def test_connections_of_other_users_are_closed(self):
        if os.geteuid() != 0:
            self.skipTest("needs to be another user for a while")
        job = Job()
        ports = [port for pid in job.pes for _, port in ports_of(pid)]
        own = [connect(port) for port in ports]
        stranger = OtherUser(are_closed, ports + [port for _, port in ports_of(job.process.pid)])
        self.assertTrue(stranger.done)
        for stream in own:
            stream.settimeout(0.1)
            with self.assertRaises(TimeoutError):
                stream.recv(1)
            stream.close()
        job.end(self)
        self.assertGreaterEqual(job.refused_connections, len(ports))  # a PE that closes one at once counts, too
        stranger.end()

    # Where all PEs are on one host, nobody else can reach it.
    def test_listens_on_loopback_alone(self):
        job = Job()
        for pid in [job.process.pid, *job.pes]:
            for address, _ in ports_of(pid):
                self.assertEqual(address, "0100007F")
        job.end(self)

    # What other users see of a job does not let them speak for it.
    def test_other_users_are_not_heard(self):
        if os.geteuid() != 0:
            self.skipTest("needs to be another user for a while")
        job = Job()
        names = names_of([job.process.pid, *job.pes])
        self.assertGreaterEqual(len([name for name, kind in names if kind == 2]), 5)
        stranger = OtherUser(speak_for_the_job, names)
        self.assertTrue(stranger.done)
        stranger.end()
        _, err = job.end(self)
        self.assertEqual(err, "")

    # Who has the names that can be guessed does not keep a job from starting.
    def start_without_names(self, mapper):
        if os.geteuid() != 0:
            self.skipTest("needs to be another user for a while")
        taker = os.path.join(os.path.dirname(os.path.abspath(__file__)), "take_names.py")
        job = Job("-x", "SHMEM_MAPPER=" + mapper, before=[sys.executable, taker, mapper])
        _, err = job.end(self, fewest=1)
        self.assertEqual(err, "")

    def test_names_of_sockets_are_taken(self):
        self.start_without_names("memfd")

    def test_names_of_files_are_taken(self):
        self.start_without_names("posix")

    # The namespace is what PMIx knows its clients by.
    def test_secrets_cannot_be_read(self):
        job = Job("-x", "SHMEM_DEBUG=1", "-x", "SHMEM_INFO=1", "-x", "SHMEM_STATS=1")
        with open(f"/proc/{job.pes[0]}/environ", "rb") as file:
            environment = dict(entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry)
        secret, public = environment[b"PMIX_NAMESPACE"], environment[b"ATOLL_JOB_ID"]
        self.assertRegex(secret, b"^" + re.escape(public) + rb"\.[0-9a-f]{32}$")
        for pid in [job.process.pid, *children(job.process.pid)]:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                self.assertNotIn(secret, file.read())
            self.assertEqual(os.stat(f"/proc/{pid}/environ").st_mode & 0o077, 0)
        for table in "unix", "tcp":
            with open(f"/proc/{job.pes[0]}/net/{table}", "rb") as file:
                self.assertNotIn(secret, file.read())
        folder = os.environ.get("TMPDIR", "/tmp")
        for name in os.listdir(folder):
            self.assertNotIn(secret, name.encode())
            if name.startswith("atoll." + public.decode()):
                self.assertEqual(os.stat(os.path.join(folder, name)).st_mode & 0o077, 0)
        said = job.said(job.out)
        said += job.end(self, fewest=0)[1]
        self.assertIn("heap of", said, "PEs tell of themselves")
        self.assertNotIn(secret.decode(), said)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2)
