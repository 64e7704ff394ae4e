#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: compare.py --oshrun PATH [--input KIND] [--local SIZE] [--without-room] [--statics PAGES] PROGRAM [ARGUMENT...]

Runs a program as it is, and with large blocks on memory servers, and compares exit codes and output.  {input} in an
argument stands for a file that is made: `lines`, of numbers that fall, with some disorder, or `points`.  {scratch} stands for
a name in a folder that is removed.  --without-room: once more with servers that lend next to nothing, where blocks must be
refused, which says that its memory is theirs.  --statics: large static variables are remote, too (SHMEM_REMOTE_BSS), and
at least so many pages are read from the servers, and as many written.  Exit code 77: the program is not installed."""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT, PAGE = "1m", "256k"


def make_input(kind, path):
    with open(path, "w", encoding="ascii") as file:
        for i in range(400000 if kind == "lines" else 150000):
            if kind == "lines":
                file.write(f"{(400000 - i + i * 7919 % 100) * 1000003:019d}\n")
            else:
                file.write(f"{i} {i * 2654435761 % 1000 + i % 77 * 13}\n")


def run(command, **more):
    """Exit code and output."""
    environment = dict(os.environ, LC_ALL="C", SHMEM_REMOTE_PAGE=PAGE, **more)
    done = subprocess.run(command, capture_output=True, timeout=150, check=False, env=environment, stdin=subprocess.DEVNULL)
    code = done.returncode if done.returncode >= 0 else 128 - done.returncode  # of a signal, as a shell says it
    return code, done.stdout, done.stderr.decode(errors="replace")


def oshrun(arguments, lends, command):
    return run([arguments.oshrun, "-n", "1", "--memory-servers", "2", "--memory-per-server", lends, "--remote-malloc", LIMIT,
                "--timeout", "140", *command], SHMEM_REMOTE_LOCAL=arguments.local,
               **({"SHMEM_REMOTE_BSS": "1", "SHMEM_STATS": "1"} if arguments.statics else {}))


def moved(said):
    """Reads and writes of all servers, from the table of SHMEM_STATS."""
    head = re.search(r"^ *memory server +lent +reads +read_bytes +writes +write_bytes\n((?: *\d+(?: +\d+){5}\n)+)", said, re.M)
    assert head, ("no table of the servers", said)
    rows = [[int(cell) for cell in line.split()] for line in head.group(1).splitlines()]
    return sum(row[2] for row in rows), sum(row[4] for row in rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--oshrun", required=True)
    parser.add_argument("--input", choices=["lines", "points"])
    parser.add_argument("--local", default="8m")
    parser.add_argument("--without-room", action="store_true")
    parser.add_argument("--statics", type=int)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    if shutil.which(arguments.command[0]) is None:
        print(arguments.command[0], "is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="remote-malloc.") as folder:
        names = {"input": os.path.join(folder, "input"), "scratch": os.path.join(folder, "scratch")}
        if arguments.input:
            make_input(arguments.input, names["input"])
        command = [word.format(**names) if "{" in word else word for word in arguments.command]
        code, output, _ = run(command)
        assert output or code, "the program says nothing, so that nothing can be compared"
        assert code != 99, "the program finds something wrong wherever its memory is"
        remote_code, remote_output, said = oshrun(arguments, "128m", command)
        assert remote_code == code, (remote_code, code, said)
        assert remote_output == output, (len(remote_output), len(output), said)
        if arguments.statics:
            reads, writes = moved(said)
            assert reads >= arguments.statics and writes >= arguments.statics, (reads, writes, said)
        if arguments.without_room:
            remote_code, remote_output, said = oshrun(arguments, "2m", command)
            assert "of remote memory:" in said, ("its memory is not that of the servers", said)
            assert remote_code != code or remote_output == output
    print(f"exit code {code} and {len(output)} bytes of output, both times")


if __name__ == "__main__":
    main()
