#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints how fast programs are whose data do not fit into memory: the examples in examples/out_of_core on the NVM heap,
beside the same programs on plain mapped files with as much page cache as the NVM heap has pages (stream, also where it
does not say what it will overwrite; merge_sort), beside the same program in memory with a quarter of the data, and without cooperation of the
nodes (summa).  Both sides of each pair run in turn, several rounds; what counts is the mean of the rounds' ratios, which stands beside its target at the end.
Every program verifies its results: summa after the time that it reports, the others within it.

    tests/perf/compare_out_of_core.py --build build/release --folder /mnt/ssd [-n 2] [--mib 768] [--rounds 5]

The folder must be on a disk, not in memory; nothing is left there.  Needs Linux 6.5, and room for some gigabytes."""
import argparse
import os
import pathlib
import re
import statistics
import subprocess
import sys

sys.dont_write_bytecode = True  # nothing new in the clone
import arguments
import experiments

# Of each pair: what it is to reach, if anything, and what the paper on vGASNet has.
TARGETS = {"stream": (1.6, ""), "stream, no advice": (None, ""), "merge_sort": (2.2, ""),
           "summa, out of core : in memory": (0.95, ""), "summa, cooperation : none": (1.5, "1.25-1.53")}


def disk(text):
    path = pathlib.Path(text).resolve()
    if not path.is_dir() or not os.access(path, os.W_OK):
        raise argparse.ArgumentTypeError(f"'{text}' is no folder in which files can be made")
    kind = subprocess.run(["stat", "-f", "-c", "%T", path], capture_output=True, text=True, check=False).stdout.strip()
    if kind in ("tmpfs", "ramfs"):
        raise argparse.ArgumentTypeError(f"'{text}' is in memory ({kind}); give a folder on a disk")
    return path


def total_of(statistic, said):
    """Of all PEs, in what SHMEM_STATS=1 prints."""
    lines = [line.split() for line in said.splitlines()]
    at = next((i for i, words in enumerate(lines) if statistic in words and words[0] == "PE"), None)
    if at is None:
        return 0
    total = next(words for words in lines[at:] if words[0] == "total")
    return int(total[lines[at].index(statistic)])


class Bench:
    """Runs the examples: MB or GFLOP a second, and pages read from files.  Sizes in MiB."""

    def __init__(self, options):
        self.options = options
        self.oshrun = options.build / "bin" / "oshrun"
        self.examples = options.build / "examples" / "out_of_core"

    def run(self, program, words, heap=0, cache=0, nodes=1, pes=0, **variables):
        command = [self.oshrun, "-n", pes or self.options.n, "--virtual-nodes", nodes]
        if heap:
            variables.update(SHMEM_SYMMETRIC_SIZE=f"{heap}m")
        if cache:
            variables.update(SHMEM_HEAP=f"nvm:{self.options.folder}", SHMEM_NVM_CACHE=f"{cache}m",
                             SHMEM_NVM_PAGE=self.options.page, SHMEM_STATS="1")
        done = arguments.finished([*command, self.examples / program, *words], 900, **variables)
        loads = total_of("page_loads", done.stderr) if cache else 0
        return float(re.search(r"([0-9.]+) (?:MB/s, |GFLOP/s)", done.stdout).group(1)), loads

    def with_mmap(self, program, *words, more=()):
        """The program on the NVM heap, and on files, with a quarter of its data in memory."""
        mib, pes = self.options.mib, self.options.n
        cache = max(mib // 4, 64)  # of a PE
        ours = self.run(program, [*words, *more], heap=2 * mib, cache=cache * pes)
        return ours, self.run(program, [*words, "--mmap", self.options.folder, cache])

    def stream(self):
        return self.with_mmap("stream", self.options.mib // 3, 1)

    def stream_without_advice(self):
        return self.with_mmap("stream", self.options.mib // 3, 1, more=["--no-advice"])

    def merge_sort(self):
        return self.with_mmap("merge_sort", self.options.mib // 2, max(self.options.mib // 24, 1))

    def summa(self, rows, cache=0, nodes=2, **variables):
        """4 PEs.  Three matrices of rows x rows doubles; tiles and panels are the same in all sizes."""
        heap = 3 * rows * rows * 8 // 4 // 2**20
        tile = self.options.rows // 4
        return self.run("summa", [rows, tile, tile // 4], heap=heap + heap // 2 + 64, cache=cache, nodes=nodes, pes=4, **variables)

    def summa_cache(self, nodes=2):
        """Of a node: what its PEs' parts of the matrices take in memory."""
        return 3 * self.options.rows**2 * 8 // nodes // 2**20

    def summa_in_memory(self):
        return self.summa(2 * self.options.rows, cache=self.summa_cache()), self.summa(self.options.rows)

    def summa_alone(self):
        rows, of_nodes = 2 * self.options.rows, {"cache": self.summa_cache(4), "nodes": 4}
        return self.summa(rows, **of_nodes), self.summa(rows, **of_nodes, SHMEM_NVM_COOPERATIVE="0", SHMEM_NVM_REMOTE_OPS="0")


def options_of_this_run():
    parser = arguments.Parser(__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build tree, such as build/release")
    parser.add_argument("--folder", type=disk, required=True, help="where the files of both sides are made")
    parser.add_argument("-n", type=arguments.whole, default=2, help="PEs of stream and merge_sort (default 2)")
    parser.add_argument("--mib", type=arguments.whole, default=768,
                        help="MiB of data of each of these PEs; a quarter is in memory (default 768)")
    parser.add_argument("--rows", type=arguments.whole, default=4096,
                        help="rows of summa's matrices in memory, a multiple of 16; twice as many out of core (default 4096)")
    parser.add_argument("--page", default="2m", help="SHMEM_NVM_PAGE (default 2m)")
    parser.add_argument("--rounds", type=arguments.whole, default=5, help="runs of each, in turn (default 5)")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")
    parser.add_argument("--only", choices=["stream", "merge_sort", "summa"], help="one program")
    options = parser.parse_args()
    options.build = options.build.resolve()
    for name in ("bin/oshrun", "examples/out_of_core/stream", "examples/out_of_core/merge_sort"):
        if not os.access(options.build / name, os.X_OK):
            parser.error(f"there is no {name} in {options.build}; cmake --build --preset release makes it in build/release")
    if options.rows % 16 != 0:
        parser.error("--rows must be a multiple of 16")
    return options


def main():
    options = options_of_this_run()
    bench = Bench(options)
    pairs = {"stream": bench.stream, "stream, no advice": bench.stream_without_advice, "merge_sort": bench.merge_sort,
             "summa, out of core : in memory": bench.summa_in_memory, "summa, cooperation : none": bench.summa_alone}
    if not os.access(bench.examples / "summa", os.X_OK):
        print("summa was not built (no OpenBLAS): left out", file=sys.stderr)
        pairs = {name: pair for name, pair in pairs.items() if "summa" not in name}
    pairs = {name: pair for name, pair in pairs.items() if name.split(",")[0] == (options.only or name.split(",")[0])}
    found = {name: [] for name in pairs}
    for _ in range(options.rounds):
        for name, pair in pairs.items():
            found[name].append(pair())
    print("MB/s of all PEs; GFLOP/s of one PE; pages that Atoll read from files, of both where both are Atoll")
    print(f"{'':<32}{'Atoll':>10}{'other':>10}{'ratio':>8}{'pages read':>12}{'other':>8}")
    verdicts = experiments.Verdicts()
    for name, rounds in found.items():
        (ours, loads), (others, loads_of_others) = ([statistics.median(part) for part in zip(*side)] for side in zip(*rounds))
        ratios = [mine / other for (mine, _), (other, _) in rounds]
        print(f"{name:<32}{ours:>10.4g}{others:>10.4g}{statistics.median(ratios):>8.2f}{loads:>12.0f}{loads_of_others:>8.0f}")
        target, paper = TARGETS[name]
        if target:
            verdicts.at_least(name, ratios, target, paper)
    verdicts.show()
    return 1 if options.check and verdicts.missed() else 0


if __name__ == "__main__":
    sys.exit(main())
