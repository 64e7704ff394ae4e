#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: strangers_test.py <victim> <stranger> <shmem_memory>

A job on two hosts, with a memory server on each, and a third host, which is not of the job, on the same network: its
processes attack all ports of the job's processes (tests/security).  The job goes on, with right results.  OSHRUN names
the launcher."""
import ctypes
import os
import pathlib
import re
import socket
import struct
import subprocess
import sys
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent / "security")]
import hosts  # noqa: E402
import outside  # noqa: E402

victim, stranger, memory = sys.argv[1:4]
PES, SERVERS = 4, 2
LIMIT = 100
ETH_P_IP, ETH_P_ALL = 0x0800, 0x0003
TOKEN = 16  # bytes
SO_RCVBUFFORCE = 33  # beyond net.core.rmem_max
network = None


class FirstBytes(threading.Thread):
    """What connections of a host have carried first, from who has opened them: the token, by (address, port) to which
    they go, and what has followed it.  Those of a process to itself are among them."""

    def __init__(self, host):
        super().__init__(daemon=True)
        self.opened, self.tokens, self.said = {}, {}, set()
        self.socket = self._in_network_of(host, lambda: socket.socket(
            socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(ETH_P_ALL)))
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 25)
        self.over = False
        self.start()

    @staticmethod
    def _in_network_of(host, make):
        """A socket stays in the namespace in which it was made."""
        setns = ctypes.CDLL(None, use_errno=True).setns
        with open("/proc/self/ns/net") as own, open(f"/proc/{host.pid}/ns/net") as other:
            assert setns(other.fileno(), 0) == 0, os.strerror(ctypes.get_errno())
            try:
                return make()
            finally:
                assert setns(own.fileno(), 0) == 0

    def run(self):
        self.socket.settimeout(0.1)
        while not self.over:
            try:
                packet, (_, protocol, *_) = self.socket.recvfrom(65536)
            except TimeoutError:
                continue
            if protocol == ETH_P_IP:
                self.look_at(packet)

    # A packet may come twice: as it leaves, and as it arrives.
    def look_at(self, packet):
        head = (packet[0] & 15) * 4
        if packet[9] != socket.IPPROTO_TCP:
            return
        source, target, number = struct.unpack_from("!HHI", packet, head)
        flow, end = (packet[12:20], source, target), (socket.inet_ntoa(packet[16:20]), target)
        content = packet[head + (packet[head + 12] >> 4) * 4:struct.unpack_from("!H", packet, 2)[0]]
        if packet[head + 13] & 0x12 == 0x02:  # SYN without ACK
            self.opened[flow] = number + 1
        elif content and flow in self.opened:
            at = (number - self.opened[flow]) % 2**32
            if at == 0 and len(content) >= TOKEN:  # sent again, it may have what follows
                self.tokens[end] = content[:TOKEN]
                content, at = content[TOKEN:], TOKEN
            if content and at == TOKEN and end in self.tokens:
                self.said.add(content)
                del self.opened[flow]

    def end(self):
        self.over = True
        self.join()
        self.socket.close()


class Job:
    def __init__(self, test):
        self.test = test
        self.stop, self.out, self.err = (network.folder / name for name in ("stop", "out", "err"))
        self.stop.unlink(missing_ok=True)
        self.outsider = network.hosts[2]
        of_job = network.hosts[:2]
        listening = [FirstBytes(host) for host in of_job]
        with open(self.out, "w") as out, open(self.err, "w") as err:
            self.process = subprocess.Popen(
                network.oshrun("-n", PES, "--memory-servers", SERVERS, "-x", "SHMEM_MEMORY_PER_SERVER=64m", victim, self.stop,
                               hosts=",".join(host.name for host in of_job)),
                env=network.environment(), stdin=subprocess.DEVNULL, stdout=out, stderr=err, preexec_fn=hosts.end_with_the_test)
        test.addCleanup(self.process.wait)
        test.addCleanup(self.process.terminate)
        hosts.wait_for(lambda: self.out.read_text() or self.process.poll() is not None, "the job is under way", LIMIT)
        test.assertIsNone(self.process.poll(), self.err.read_text())
        self.ends, self.of_one_each = [], []  # (address, port): where processes of the job listen
        for program, count in (victim, PES), (memory, SERVERS):
            found = [(host, pid) for host in of_job for pid in network.processes(program, [host])]
            test.assertEqual(len(found), count, program)
            for host, pid in found:
                listens = outside.ports_of(pid)
                own = f"{struct.unpack('=I', socket.inet_aton(host.address))[0]:08X}"
                test.assertEqual({address for address, _ in listens}, {own}, "on the network's interface alone")
                self.ends += [(host.address, port) for _, port in listens]
            self.of_one_each += self.ends[-len(listens):]
        self.tokens, self.said = {}, set()
        for one in listening:
            one.end()
            self.tokens.update(one.tokens)
            self.said |= one.said
        for end in self.ends:
            test.assertIn(end, self.tokens)

    def outsiders(self, *words, token=b""):
        return subprocess.Popen([*self.outsider.enter(), "env", "STRANGER_TOKEN=" + token.hex(), *map(str, words)],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                preexec_fn=hosts.end_with_the_test)

    def end(self):
        """Returns how many messages and connections were refused, and what was said."""
        self.test.assertIsNone(self.process.poll(), "the job has ended: " + self.err.read_text())
        self.stop.touch()
        code = self.process.wait(LIMIT)
        err = self.err.read_text()
        self.test.assertEqual(code, 0, err)
        rounds, *refused = map(int, re.search(r"(\d+) rounds, (\d+) messages and (\d+) conn", self.out.read_text()).groups())
        self.test.assertGreater(rounds, 1)
        return *refused, err


class Strangers(unittest.TestCase):
    # Each process of the job says at most once for each of its networks that somebody else speaks to it.
    def check_lines(self, said):
        lines = [line for line in said.splitlines() if "] plm:rsh: " not in line]
        self.assertLessEqual(len(lines), 2 * PES + SERVERS, said)
        for line in lines:
            self.assertRegex(line, r"^atoll: .* on atoll-h\d: a message that no PE of this job can have sent was dropped, as all such "
                                   r"are: another program reaches this process's \S+ port")

    # To one PE, and to one memory server: the others do the same.
    def test_operations(self):
        job = Job(self)
        for attack in "messages", "long", "write", "read", "atomics":
            attacks = [job.outsiders(stranger, attack, port, address, job.outsider.address, token=job.tokens[address, port])
                       for address, port in job.of_one_each]
            for one in attacks:
                said = one.communicate(timeout=LIMIT)[0]
                self.assertEqual(one.returncode, 0, attack + ": " + said)
        refused, _, err = job.end()
        self.assertGreater(refused, 100)
        self.check_lines(err)

    def knock(self, job, end):
        self.assertTrue(job.said)
        (network.folder / "said").write_text("".join(one.hex() + "\n" for one in job.said))
        one = job.outsiders(sys.executable, HERE.parent / "security/outside.py", network.folder / "said",
                            *map(end, job.ends))
        self.assertEqual(one.stdout.readline(), "done\n")
        result = job.end()
        one.communicate()
        self.assertEqual(one.returncode, 0)
        return result

    def test_connections(self):
        job = Job(self)
        _, _, err = self.knock(job, lambda end: f"{end[0]}:{end[1]}:{job.tokens[end].hex()}")
        self.check_lines(err)

    # Nothing of it is read: they do not know the token.
    def test_connections_without_tokens(self):
        job = Job(self)
        said, refused, err = self.knock(job, lambda end: f"{end[0]}:{end[1]}")
        self.assertEqual(said, 0)
        self.assertNotIn("atoll:", err)
        self.assertGreater(refused, 10 * PES)


def run(made):
    global network
    network = made
    return 0 if unittest.main(argv=[sys.argv[0], *sys.argv[4:]], exit=False, verbosity=2).result.wasSuccessful() else 1


sys.exit(hosts.on_hosts(3, run))
