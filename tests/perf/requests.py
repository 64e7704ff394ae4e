#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints where the atomics of a breadth-first search go (examples/bfs), which RAE's figures 2 and 9 show of its programs:
how many are for other PEs, by the number of PEs, and which cache lines of PE 0 the first 10,000 of PE 1 ask for, a thousand
after the other.  --out draws the latter: a point for each request.  Nothing here depends on time.

    tests/perf/requests.py --build build/release [--scale 14] [--out NAME]
"""
import collections
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing new in the clone
import arguments

HERE = pathlib.Path(__file__).resolve().parent
LINE = 64  # bytes
AT_ONCE = 1000


def logs(options, library, folder, pes):
    """Of each PE: all requests, those for others, and the offsets at PE 0."""
    name = pathlib.Path(folder) / f"log{pes}"
    arguments.output([options.build / "bin" / "oshrun", "-n", pes, "-x", f"LD_PRELOAD={library}", "-x", f"REQUEST_LOG={name}",
                      options.build / "examples" / "bfs", options.scale, options.edges], 300)
    found = []
    for pe in range(pes):
        words = pathlib.Path(f"{name}.{pe}").read_text(encoding="ascii").split()
        found.append((int(words[3]), int(words[5]), [int(word) for word in words[7:]]))
    return found


def draw(name, offsets):
    """A point for each request."""
    data = pathlib.Path(f"{name}.dat")
    data.write_text("".join(f"{i} {offset}\n" for i, offset in enumerate(offsets)), encoding="ascii")
    script = (f"set terminal svg size 720,420 background 'white'; set output '{name}.svg'; set xlabel 'request'; "
              f"set ylabel 'offset at PE 0, bytes'; plot '{data}' with dots notitle\n")
    subprocess.run(["gnuplot"], input=script, text=True, check=True, timeout=60)


def main():
    parser = arguments.Parser(__doc__)
    parser.add_argument("--build", type=arguments.folder("bin/oshrun", "bin/oshcc", "examples/bfs"), required=True,
                        help="folder of a build with examples")
    parser.add_argument("--scale", type=arguments.whole, default=14, help="2 to this power vertices (default 14)")
    parser.add_argument("--edges", type=arguments.whole, default=8, help="edges per vertex (default 8)")
    parser.add_argument("--out", help="draw NAME.svg, with gnuplot, of NAME.dat")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="atoll-requests.") as folder:
        library = pathlib.Path(folder) / "request_log.so"
        arguments.output([options.build / "bin" / "oshcc", "-O2", "-shared", "-fPIC", HERE / "request_log.c", "-o", library], 120)
        print(f"{'PEs':>5}{'requests':>12}{'for other PEs':>15}")
        for pes in (1, 2, 4, 8, 16, 32):
            found = logs(options, library, folder, pes)
            total = sum(every for every, _, _ in found)
            print(f"{pes:>5}{total:>12}{sum(others for _, others, _ in found) / total:>15.2%}")
            if pes == 2:
                offsets = found[1][2]
    print(f"\n{'requests':>14}{'cache lines':>13}{'most of a line':>16}")
    for first in range(0, len(offsets), AT_ONCE):
        lines = collections.Counter(offset // LINE for offset in offsets[first:first + AT_ONCE])
        print(f"{f'{first} to {first + AT_ONCE - 1}':>14}{len(lines):>13}{lines.most_common(1)[0][1]:>16}")
    if options.out:
        draw(options.out, offsets)
    return 0


if __name__ == "__main__":
    sys.exit(main())
