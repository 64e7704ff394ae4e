#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: stats_output.py <oshrun> <stats> <PEs> [<virtual nodes>]

Runs `stats print` with SHMEM_STATS=1.  What each PE prints must stand there as one piece, all at once as they print,
and so must the table of all PEs.  Both must show the puts that the program makes between nodes: none without virtual
nodes."""
import os
import re
import subprocess
import sys


def run(oshrun, stats, pes, nodes):
    command = [oshrun, "-n", str(pes), "--timeout", "50"] + (["--virtual-nodes", str(nodes)] if nodes else [])
    done = subprocess.run(command + [stats, "print"], env=dict(os.environ, SHMEM_STATS="1"), stderr=subprocess.PIPE,
                          text=True, timeout=55, check=False)
    assert done.returncode == 0, done
    return done.stderr.splitlines()


def lists(lines, pes):
    """PE -> {counter: value}, and the lines of the table, which may stand between what the PEs print: oshrun reads
    what each PE has written when it comes to that PE."""
    found, table = {}, []
    while lines:
        head = re.match(r"PE (\d+) of (\d+): operations between nodes", lines[0])
        if not head:
            table.append(lines.pop(0))
            continue
        assert int(head[2]) == pes, lines[0]
        last = next(i for i, line in enumerate(lines) if line.startswith("  mshr_miss_rate"))
        body = [line.split(None, 2) for line in lines[1:last + 1]]
        assert all(line.startswith("  ") for line in lines[1:last + 1]) and body[0][0] == "puts", (head[0], body)
        found[int(head[1])] = {name: float(value) for name, value, _ in body}
        lines = lines[last + 1:]
    return found, table


def column(table, name):
    """Label of the row -> value, of one column of the table; 0 everywhere if it is left out."""
    names, values = [], {}
    for words in map(str.split, table):
        if words and words[0] == "PE":
            names = words
        elif name in names and len(words) == len(names) and (words[0].isdigit() or words[0] == "total"):
            values[words[0]] = int(words[names.index(name)])
    return values


def main():
    oshrun, stats, pes, nodes = (sys.argv[1:] + ["0"])[:4]
    pes, nodes = int(pes), int(nodes)
    printed, table = lists(run(oshrun, stats, pes, nodes), pes)
    assert sorted(printed) == list(range(pes)), printed
    assert table and table[0].startswith("Operations between nodes"), table
    puts = {pe: int(values["puts"]) for pe, values in printed.items()}
    assert puts == {pe: pe + 1 if nodes else 0 for pe in range(pes)}, puts
    if nodes:
        expected = {str(pe): 10 if pe == 0 else pe + 11 for pe in range(pes)}  # PE 0 had started anew
        expected["total"] = sum(expected.values())
        assert column(table, "puts") == expected, (expected, table)
        assert any(line.startswith("  0 on all PEs: ") and "get_bytes" in line for line in table), table
    else:
        assert table[0] == "Operations between nodes, and what they took (SHMEM_STATS): none, all counters are 0", table
    assert sum(line.startswith("Who talked to whom (SHMEM_STATS):") for line in table) == 1, table
    print("\n".join(table))


if __name__ == "__main__":
    main()
