#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints how fast the examples are that use small operations: five kernels on Kronecker graphs, with each operation a
message (SHMEM_PACK=off) and with packets (all), and the miss rate of the MSHR files; and updates of a table in plain
style, with packets, beside the same gathered by hand in blocks.  All run over tcp;ofi_rxm between two virtual nodes, in
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
NUMBER = r"([0-9.]+(?:e[+-]?\d+)?)"
MISS_RATE = re.compile(rf" mshr_miss_rate\n(?:.*\n)*?  total .* {NUMBER}\n")


class Bench:
    def __init__(self, options):
        self.options = options
        self.best = {}

    def run(self, program, mode, stats=False):
        """What it says; with `stats`, what the library counts, too."""
        words = [self.options.build / "bin" / "oshrun", "-n", "2", "--virtual-nodes", "2",
                 self.options.build / "examples" / program, self.options.scale, self.options.edges]
        if stats:
            words = ["sh", "-c", 'exec "$@" 2>&1', "sh", *words]
        return arguments.output(words, 900, SHMEM_PACK=mode, SHMEM_STATS="1" if stats else "0")

    def keep(self, key, value):
        self.best[key] = max(self.best.get(key, 0), float(value))

    def round(self):
        for graph in GRAPHS:
            for mode in ("off", "all"):
                self.keep((graph, mode), re.search(NUMBER + " edges/s", self.run(graph, mode)).group(1))
        for name, plain, buffered in re.findall(rf"^(\w+) +{NUMBER} +{NUMBER} ", self.run("styles", "all"), re.MULTILINE):
            self.keep((name, "plain"), plain)
            self.keep((name, "buffered"), buffered)


    def miss_rate(self, graph):
        rate = MISS_RATE.search(self.run(graph, "all", stats=True))
        return f"{float(rate.group(1)):.0%}" if rate else "no atomics"


def table(title, left, right, last, rows):
    print(f"{title:<28}{left:>14}{right:>14}{'ratio':>8}{last:>14}")
    for name, a, b, *more in rows:
        print(f"{name:<28}{a:>14.3g}{b:>14.3g}{a / b:>8.2f}" + "".join(f"{word:>14}" for word in more))


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
    table("edges/s", "packed", "one by one", "miss rate",
          [(f"{graph} ({what})", best[graph, "all"], best[graph, "off"], bench.miss_rate(graph))
           for graph, what in GRAPHS.items()])
    print()
    table("updates/s", "plain", "buffered", "",
          [(name, best[name, "plain"], best[name, "buffered"]) for name, style in best if style == "plain"])
    return 0


if __name__ == "__main__":
    sys.exit(main())
