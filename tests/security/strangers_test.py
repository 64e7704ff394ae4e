#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: tests/security/strangers_test.py OSHRUN VICTIM STRANGER [TEST...]

Strangers at every port and socket of a job, while it computes: it goes on, with right results, and nothing of theirs is
looked at (docs/security.md).  Traffic is on loopback alone.
"""
import concurrent.futures
import os
import random
import re
import shutil
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

    def __init__(self, *options, before=(), environment=()):
        self.folder = tempfile.mkdtemp(prefix="atoll-strangers-")
        self.stop = os.path.join(self.folder, "stop")
        self.out = open(os.path.join(self.folder, "out"), "w+")
        self.err = open(os.path.join(self.folder, "err"), "w+")
        self.told = open(os.path.join(self.folder, "told"), "w+")
        self.process = subprocess.Popen([OSHRUN, "-n", "4", "--virtual-nodes", "2", "--timeout", str(DEADLINE),
                                         "-x", "VICTIM_TELLS=" + self.told.name, *options, *before, VICTIM, self.stop],
                                        stdin=subprocess.DEVNULL, stdout=self.out, stderr=self.err,
                                        env={**os.environ, **dict(environment)})
        until = time.monotonic() + DEADLINE
        while not self.said(self.out) and self.process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        alive = children(self.process.pid) if self.process.poll() is None else []
        self.pes = [pid for pid in alive if name_of(pid).startswith("victim")]

    @staticmethod
    def said(file):
        with open(file.name) as copy:
            return copy.read()

    def ports(self):
        return [port for pid in self.pes for _, port in ports_of(pid)]

    def tokens(self, test, of_each=True):
        """{port: (token, what libfabric has said next)}, of those that PEs have connected to: each PE has one at least, but
        over `sockets`, which uses a connection in both directions."""
        found = {}
        for port, *said in map(str.split, self.said(self.told).splitlines()):
            found[int(port)] = [bytes.fromhex(one) for one in said]
        known = [any(port in found for _, port in ports_of(pid)) for pid in self.pes]
        test.assertTrue(all(known) if of_each else any(known), "a port whose token is known")
        test.assertEqual({port for port in found if port not in self.ports()}, set())
        return found

    def descriptors(self):
        return sum(len(os.listdir(f"/proc/{pid}/fd")) for pid in self.pes)

    def kill(self):
        self.process.terminate()
        self.process.wait(DEADLINE)
        self.clear()

    def clear(self):
        for file in self.out, self.err, self.told:
            file.close()
            os.unlink(file.name)
        if os.path.exists(self.stop):
            os.unlink(self.stop)
        os.rmdir(self.folder)

    def end(self, test, fewest=2):
        """Returns how many messages have been refused, and what was said."""
        test.assertIsNone(self.process.poll(), "the job has ended: " + self.said(self.err))
        open(self.stop, "w").close()
        code = self.process.wait(DEADLINE)
        out, err = self.said(self.out), self.said(self.err)
        self.all_said = out + err
        self.clear()
        test.assertEqual(code, 0, err)
        said = re.search(r"(\d+) rounds, (\d+) messages and (\d+) connections refused", out)
        rounds, refused, self.refused_connections = map(int, said.groups())
        test.assertGreaterEqual(rounds, fewest)
        return refused, err


def is_closed(stream):
    stream.settimeout(10)
    try:
        return stream.recv(1) == b""
    except ConnectionError:
        return True


def are_closed(ends):
    """Connects to [(port, what to say)], and sees each connection end."""
    for port, said in ends:
        try:
            with connect(port) as stream:
                stream.sendall(said)
                assert is_closed(stream)
        except ConnectionError:
            pass
    return []


def stay_open(streams):
    for stream in streams:
        stream.settimeout(0.001)
        try:
            stream.recv(1)
            return False
        except TimeoutError:
            pass
        except ConnectionError:
            return False
    return True


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


def read_secrets(name):
    """{pid: random numbers} of PEs, and (pid of PE 0, address of the word that is spare)."""
    numbers, spare = {}, None
    with open(name) as file:
        for what, pid, value in map(str.split, file.read().splitlines()):
            if what == "spare":
                spare = int(pid), int(value, 16)
            else:
                numbers.setdefault(int(pid), []).append(int(value, 16))
    return numbers, spare


def forms_of(number):
    """How a number may be written, in small letters: as bytes, and as text."""
    raw = number.to_bytes(8, "little")
    texts = raw.hex(), raw[::-1].hex(), f"{number:x}", str(number), str(number - 2**64)
    return {raw.lower(), *(text.encode() for text in texts if len(text) > 9)}


def files_below(folder):
    return {os.path.join(place, file) for place, _, files in os.walk(folder) for file in files}


def content_of(file):
    try:
        with open(file, "rb") as stream:
            return stream.read(1 << 26)
    except OSError:
        return b""


class Strangers(unittest.TestCase):
    def send_stranger(self, what, port, token=b"", times=None):
        fewer = {} if times is None else {"STRANGER_TIMES": str(times)}
        attack = subprocess.run([STRANGER, what, str(port)], timeout=DEADLINE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                env={**os.environ, **fewer, "STRANGER_TOKEN": token.hex()}, text=True)
        self.assertEqual(attack.returncode, 0, attack.stdout)

    # With the tokens of connections, to see what is behind them.  At all ports at the same time, at one of them as often as
    # the attack needs, at the others so many times.
    def attack(self, what, *options, times=None):
        job = Job(*options)
        tokens = job.tokens(self)
        self.assertGreaterEqual(len(tokens), 4)
        with concurrent.futures.ThreadPoolExecutor(len(tokens)) as pool:
            sent = [pool.submit(self.send_stranger, what, port, token, times if number > 0 else None)
                    for number, (port, (token, _)) in enumerate(tokens.items())]
            for one in sent:
                one.result()
        return job.end(self)

    # Who does not know the token is not even read, be it this user.
    def test_tokens_are_asked_for(self):
        self.look_whether_tokens_are_asked_for(Job())

    def test_tokens_are_asked_for_over_sockets(self):
        self.look_whether_tokens_are_asked_for(Job("-x", "SHMEM_PROVIDER=sockets"), of_each=False)

    def look_whether_tokens_are_asked_for(self, job, of_each=True):
        tokens = job.tokens(self, of_each)
        ports = job.ports()
        self.assertEqual(len({token for token, _ in tokens.values()}), len(tokens), "each port has its own")
        dice = random.Random(23)
        wrong = 0
        for port in ports:
            known, said = tokens.get(port, (bytes(16), b"?"))
            flipped = [bytes([*known[:i], known[i] ^ 1, *known[i + 1:]]) for i in (0, 7, 8, 15)]
            others = [token for other, (token, _) in tokens.items() if other != port]
            for first in [b"\0", known[:15], bytes(16), b"\xff" * 100000, dice.randbytes(16), said, *flipped, *others]:
                are_closed([(port, first if first == said else first + said)])
                wrong += 1
            for token in dice.randbytes(16), b"":
                self.send_stranger("once", port, token)
                wrong += 1
        refused, err = job.end(self)
        self.assertEqual((refused, err), (0, ""), "something has reached what is behind")
        self.assertGreaterEqual(job.refused_connections, wrong)

    # libfabric gives up the connection to a PE for one that names its port: replayed is what PEs have said.
    def test_nobody_poses_as_a_pe(self):
        job = Job()
        tokens = job.tokens(self)
        for port in tokens:
            are_closed([(port, said) for _, said in tokens.values()])
        self.assertEqual(job.end(self), (0, ""))
        # With the token it would be heard: the job may not survive that.
        job = Job()
        port, (token, said) = next(iter(job.tokens(self).items()))
        with connect(port) as stream:
            stream.sendall(token + said)
            stream.settimeout(10)
            self.assertTrue(stream.recv(1), "libfabric answers")
        job.kill()

    # The kernel keeps to itself who says nothing.
    def test_silence_takes_no_descriptors(self):
        job = Job()
        before = job.descriptors()
        streams = [connect(port) for port in job.ports() for _ in range(100)]
        time.sleep(0.5)
        self.assertTrue(stay_open(streams))
        self.assertLessEqual(job.descriptors(), before + 8)
        self.assertEqual(job.end(self), (0, ""))
        self.assertLess(job.refused_connections, len(streams))
        for stream in streams:
            stream.close()

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
        self.assertGreater(self.attack("torn", times=2)[0], 0)

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
        stranger = OtherUser(knock, [("127.0.0.1", port, b"") for port in sum(ports.values(), [])])
        self.assertTrue(stranger.done)
        _, err = job.end(self)
        stranger.end()
        self.assertEqual(err, "")

    # What libfabric reads behind a token.
    def test_rubbish(self):
        job = Job()
        streams = knock([("127.0.0.1", port, token) for port, (token, _) in job.tokens(self).items()])
        _, err = job.end(self)
        self.assertEqual(err, "")
        for stream in streams:
            stream.close()

    # Nobody reads what they say, though they know the token.  This user's connections stay.
    def test_connections_of_other_users_are_closed(self):
        if os.geteuid() != 0:
            self.skipTest("needs to be another user for a while")
        job = Job()
        ends = [(port, token) for port, (token, _) in job.tokens(self).items()]
        own = [connect(port) for port, _ in ends]
        for stream, (_, token) in zip(own, ends):
            stream.sendall(token)
        stranger = OtherUser(are_closed, ends + [(port, b"") for _, port in ports_of(job.process.pid)])
        self.assertTrue(stranger.done)
        self.assertTrue(stay_open(own))
        for stream in own:
            stream.close()
        job.end(self)
        self.assertGreaterEqual(job.refused_connections, len(ends))  # a PE that closes one at once counts, too
        stranger.end()

    # Where all PEs are on one host, nobody else can reach it.
    def test_listens_on_loopback_alone(self):
        job = Job()
        for pid in [job.process.pid, *job.pes]:
            for address, _ in ports_of(pid):
                self.assertEqual(address, "0100007F")
        ports = set(job.ports())
        self.assertTrue(ports)
        with open("/proc/sys/net/core/somaxconn") as file:
            room = min(4096, int(file.read()))
        # The kernel's queue of connections, as docs/security.md has it.
        if shutil.which("ss"):
            rows = [row.split() for row in subprocess.check_output(["ss", "-Hltn"], text=True).splitlines()]
            rooms = {int(row[3].rsplit(":", 1)[1]): int(row[2]) for row in rows if row[3].startswith("127.0.0.1:")}
            self.assertEqual({rooms[port] for port in ports}, {room})
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

    # That nothing is read or written without a key proves something only if it is with one.
    def test_keys(self):
        with tempfile.TemporaryDirectory(prefix="atoll-secrets-") as folder:
            name = os.path.join(folder, "secrets")
            job = Job("-x", "VICTIM_SECRETS=" + name, "-x", "SHMEM_INFO=1")
            secrets, (pid, spare) = read_secrets(name)
            base = int(re.search(r"; variables: .* at (0x[0-9a-f]+)$", job.said(job.out), re.MULTILINE)[1], 16)
            codes = []
            for port, (token, _) in job.tokens(self).items():
                if port not in [port for _, port in ports_of(pid)]:
                    continue
                attack = subprocess.run(
                    [STRANGER, "keys", str(port), f"{spare - base:x}", f"{spare:x}"], timeout=DEADLINE, stderr=subprocess.PIPE,
                    env={**os.environ, "STRANGER_TOKEN": token.hex(), "STRANGER_KEYS": ",".join(f"{key:x}" for key in secrets[pid])})
                codes.append((attack.returncode, attack.stderr))
            job.end(self)
        self.assertEqual([said for said in codes if said[0] != 3], [(0, b"")], "one port of PE 0 takes one of its keys")

    # Not in arguments, the environment, what is said, or files: nobody can look them up.
    def test_secrets_are_nowhere(self):
        with tempfile.TemporaryDirectory(prefix="atoll-secrets-") as folder, tempfile.TemporaryDirectory() as own:
            name = os.path.join(folder, "secrets")
            before = files_below("/dev/shm")
            job = Job("-x", "VICTIM_SECRETS=" + name, "-x", "SHMEM_DEBUG=1", "-x", "SHMEM_INFO=1", "-x", "SHMEM_STATS=1",
                      environment={"TMPDIR": own})
            secrets, _ = read_secrets(name)
            self.assertEqual(sorted(secrets), sorted(job.pes))
            forms = {form for pid in secrets for number in secrets[pid] for form in forms_of(number)}
            # What is looked for are the secrets: the tokens of connections are known from elsewhere, too.
            for token, _ in job.tokens(self).values():
                for half in token[:8], token[8:]:
                    self.assertIn(half.lower(), forms)
            places = {}
            for pid in [job.process.pid, *children(job.process.pid)]:
                for what in "cmdline", "environ", "comm", "maps":
                    places[f"{what} of {name_of(pid)}"] = f"/proc/{pid}/{what}"
            for table in "unix", "tcp":
                places["sockets: " + table] = f"/proc/{job.pes[0]}/net/{table}"
            places.update({file: file for file in files_below(own) | files_below("/dev/shm") - before})
            looked = {what: content_of(file) for what, file in places.items()}
            self.assertGreater(sum(map(len, looked.values())), 10000)
            job.end(self, fewest=0)
            looked["what is said"] = job.all_said.encode()
        self.assertIn(b"heap of", looked["what is said"], "PEs tell of themselves")
        for what, content in looked.items():
            low = content.lower()
            self.assertEqual([form for form in forms if form in low], [], what)

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
    result = unittest.main(argv=[sys.argv[0], *sys.argv[4:]], verbosity=2, exit=False).result
    sys.exit(1 if not result.wasSuccessful() else 77 if len(result.skipped) == result.testsRun else 0)
