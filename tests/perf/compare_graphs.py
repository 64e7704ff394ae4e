#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints how fast the examples are that use small operations: five kernels on Kronecker graphs, with each operation a
message (SHMEM_PACK=off) and with packets (all), and the miss rate of the MSHR files; and updates of a table in plain
style, with packets, beside the same gathered by hand in blocks of 8, 64 and 256 KiB (ratio: to the best of them).  All run over tcp;ofi_rxm between two virtual nodes, in
turn, several rounds; a figure is the best of the rounds, because noise only ever makes things slower.  Every program
verifies its results.

    tests/perf/compare_graphs.py --build build/release [--scale 14] [--edges 8] [--rounds 3]
"""
import re
import sys

sys.dont_write_bytecode = True  # nothing new in the clone
import arguments

GRAPHS = {"bfs": "compare-and-swap", "pagerank": "add", "sssp": "minimum", "components": "get_nbi",
          "triangles": "get_nbi of lists"}
BLOCKS = (8, 64, 256)  # KiB, of what is gathered by hand
NUMBER = r"([0-9.]+(?:e[+-]?\d+)?)"
MISS_RATE = re.compile(rf" mshr_miss_rate\n(?:.*\n)*?  total .* {NUMBER}\n")


class Bench:
    def __init__(self, options):
        self.options = options
        self.best = {}

    def run(self, program, mode, *more, stats=False):
        """What it says, with `more` arguments; with `stats`, what the library counts, too."""
        words = [self.options.build / "bin" / "oshrun", "-n", "2", "--virtual-nodes", "2",
                 self.options.build / "examples" / program, self.options.scale, self.options.edges, *more]
        if stats:
            words = ["sh", "-c", 'exec "$@" 2>&1', "sh", *words]
        return arguments.output(words, 900, SHMEM_PACK=mode, SHMEM_STATS="1" if stats else "0")

    def keep(self, key, value):
        self.best[key] = max(self.best.get(key, 0), float(value))

    def round(self):
        for graph in GRAPHS:
            for mode in ("off", "all"):
                self.keep((graph, mode), re.search(NUMBER + " edges/s", self.run(graph, mode)).group(1))
        for block in BLOCKS:
            said = self.run("styles", "all", block)
            for name, plain, buffered in re.findall(rf"^(\w+) +{NUMBER} +{NUMBER} ", said, re.MULTILINE):
                self.keep((name, "plain"), plain)
                self.keep((name, block), buffered)

    def miss_rate(self, graph):
        rate = MISS_RATE.search(self.run(graph, "all", stats=True))
        return f"{float(rate.group(1)):.0%}" if rate else "no atomics"


def table(columns, rows, last=""):
    """The ratio is that of the first figure to the best of the others."""
    print(f"{columns[0]:<28}" + "".join(f"{column:>12}" for column in (*columns[1:], "ratio", last)))
    for name, figures, *more in rows:
        print(f"{name:<28}" + "".join(f"{figure:>12.3g}" for figure in figures)
              + f"{figures[0] / max(figures[1:]):>12.2f}" + "".join(f"{word:>12}" for word in more))


def main():
    parser = arguments.Parser(__doc__)
    parser.add_argument("--build", type=arguments.folder("bin/oshrun", "examples/styles"), required=True,
                        help="folder of a build with examples")
    parser.add_argument("--scale", type=arguments.whole, default=14, help="2 to this power vertices or words (default 14)")
    parser.add_argument("--edges", type=arguments.whole, default=8, help="edges per vertex, updates per word (default 8)")
    parser.add_argument("--rounds", type=arguments.whole, default=3, help="runs of each, in turn; the best counts (default 3)")
    bench = Bench(parser.parse_args())
    for _ in range(bench.options.rounds):
        bench.round()
    best = bench.best
    table(("edges/s", "packed", "one by one"),
          [(f"{graph} ({what})", [best[graph, mode] for mode in ("all", "off")], bench.miss_rate(graph))
           for graph, what in GRAPHS.items()], "miss rate")
    print()
    table(("updates/s", "plain", *(f"{block} KiB" for block in BLOCKS)),
          [(name, [best[name, style] for style in ("plain", *BLOCKS)]) for name, style in best if style == "plain"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
