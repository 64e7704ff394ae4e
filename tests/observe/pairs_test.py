#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: pairs_test.py OSHRUN TALK NODES

Who talks to whom in talk.c, as SHMEM_STATS shows it: in the terminal, as JSON, and as a picture."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

PES = 4


def run(oshrun, talk, nodes, **variables):
    command = [oshrun, "-n", str(PES), "--timeout", "50"] + (["--virtual-nodes", nodes] if nodes != "0" else [])
    done = subprocess.run([*command, talk], env=dict(os.environ, **variables), stderr=subprocess.PIPE, text=True, timeout=60,
                          check=False)
    assert done.returncode == 0, done
    return done.stderr


def expected(kv):
    """What talk.c does but for requests on keys, whose PEs `kv` has: (from, to) -> [operations, bytes]."""
    pairs = {}

    def add(source, target, operations, size):
        cell = pairs.setdefault((source, target), [0, 0])
        cell[0] += operations
        cell[1] += size

    for pe in range(PES):
        add(pe, (pe + 1) % PES, 3 + 1 + 1 + 5, 3 * 8 + 128 + 8 + 5 * 8)
        add(pe, 0, 1, 8)
        if pe > 0:
            add(0, pe, 1, 8)
        if pe % 2 == 0:
            add(pe, 2, 1, 8)
        add(pe, kv[pe], 2, 16)
    return pairs


def main():
    oshrun, talk, nodes = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="atoll-pairs.") as folder:
        folder = pathlib.Path(folder)
        assert "Who talked" not in run(oshrun, talk, nodes, SHMEM_STATS="0")
        trace, file, picture = folder / "t.json", folder / "p.json", folder / "p.svg"
        said = run(oshrun, talk, nodes, SHMEM_STATS="1", SHMEM_STATS_FILE=str(file), SHMEM_TRACE=str(trace))
        kv = {}
        for event in json.loads(trace.read_text())["traceEvents"]:
            if event["ph"] == "X" and event["name"] == "shmemx_kv_put":
                kv[event["pid"]] = event["args"]["pe"]
        found = json.loads(file.read_text())
        assert found["pes"] == PES and found["pes_per_group"] == 1, found
        pairs = {(p["from"], p["to"]): [p["operations"], p["bytes"]] for p in found["pairs"]}
        assert pairs == expected(kv), (pairs, expected(kv))
        title = [i for i, line in enumerate(said.splitlines()) if line.startswith("Who talked to whom (SHMEM_STATS): bytes")]
        assert len(title) == 1, said
        rows = said.splitlines()[title[0] + 1:title[0] + 2 + PES]
        assert rows[0].split() == ["from\\to", "0", "1", "2", "3"], rows
        assert [row.split()[0] for row in rows[1:]] == ["0", "1", "2", "3"], rows
        (most,) = [pair for pair, cell in pairs.items() if cell[1] + 8 * cell[0] == max(c[1] + 8 * c[0] for c in pairs.values())][:1]
        assert f"  PE {most[0]} to PE {most[1]}: {pairs[most][1]} bytes in {pairs[most][0]} operations" in said, said

        run(oshrun, talk, nodes, SHMEM_STATS="1", SHMEM_STATS_FILE=str(picture))
        root = ET.fromstring(picture.read_text())
        texts = [e.text for e in root.iter("{http://www.w3.org/2000/svg}title")]
        assert len(texts) == 1 + len(pairs), texts
        for (source, target), (operations, size) in pairs.items():
            if source not in kv or kv[source] != target:  # tables may differ from job to job
                assert f"PE {source} to PE {target}: {size} bytes, {operations} operations" in texts, (source, target, texts)
    return 0


if __name__ == "__main__":
    sys.exit(main())
