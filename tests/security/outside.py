#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What strangers need: where processes listen, and connections that say nothing that makes sense.

    outside.py FILE ADDRESS:PORT[:TOKEN]...    (as a program, on a host of its own)

knocks at these ports, says so, and keeps connections open until its standard input ends.  Each connection begins with the
token of the port, in hexadecimal digits.  FILE has what PEs have said first to others, but for tokens, a line of such
digits each: that is said, too.
"""
import os
import pathlib
import random
import socket
import struct
import sys


def sockets_of(pid):
    """Inodes."""
    found = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{fd}")
        except OSError:
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found


def ports_of(pid):
    """[(address, port)] where the process listens, the addresses as the kernel has them."""
    own, found = sockets_of(pid), []
    for table in "tcp", "tcp6":
        with open(f"/proc/{pid}/net/{table}") as file:
            for row in map(str.split, file.readlines()[1:]):
                if row[3] == "0A" and row[9] in own:
                    address, port = row[1].split(":")
                    found.append((address, int(port, 16)))
    return found


def names_of(pids):
    """Abstract names of the Unix sockets of these processes."""
    own, found = set().union(*map(sockets_of, pids)), []
    with open(f"/proc/{pids[0]}/net/unix") as file:
        for row in map(str.split, file.readlines()[1:]):
            if len(row) > 7 and row[7].startswith("@") and row[6] in own:
                found.append((row[7][1:], int(row[4], 16)))
    return found


def connect(port, address="127.0.0.1"):
    stream = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    stream.settimeout(10)
    stream.connect((address.encode(), port))
    return stream


def knock(ends, said=(), kept=10):
    """Connections to [(address, port, token)] that say the token, and then nothing, or nothing that makes sense, or what others
    have said.  Returns those that stay: so many to each, and one for each thing that others have said."""
    dice = random.Random(21)
    sizes = (0, 1, 4, 64, 4096, 100000)
    contents = [content for size in sizes for content in (bytes(size), dice.randbytes(size), b"\xff" * size)]
    for content in said:
        contents += [content[:len(content) // 2], content * 2, content + dice.randbytes(4096)]
    held = []
    for address, port, token in ends:
        for content in contents:
            try:
                with connect(port, address) as stream:
                    stream.sendall(token + content)
                    if len(content) % 64 == 0:  # reset instead of an end
                        stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            except OSError:
                pass
        for content in [b""] * kept + list(said):
            held.append(connect(port, address))
            held[-1].sendall(token + content)
    return held


if __name__ == "__main__":
    first = [bytes.fromhex(line) for line in pathlib.Path(sys.argv[1]).read_text().split()]
    places = [(address, int(port), bytes.fromhex(token)) for address, port, token in
              (f"{end}:".split(":")[:3] for end in sys.argv[2:])]
    staying = knock(places, first, 50)
    print("done", flush=True)
    sys.stdin.read()
