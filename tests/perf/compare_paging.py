#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints what memory on memory servers takes beside what it is compared with: bare transfers of the same pages by libfabric
in the same round, the protocols of the paper on the DLM, the same program with all of its data local, and mapped files under
the same limit of memory.  All run in turn, several rounds; a figure is the median of the rounds.  At the end stands each
figure beside its target, and beside that of the paper.  Every program verifies its data.

    tests/perf/compare_paging.py --build build/release [--only fault,protocols,triad,stencil,mechanisms] [--folder /mnt/ssd]
                                 [--umap PROGRAM] [--out paging]

  fault       a load of a page that is not here, beside a bare read of it, by size of the page
  protocols   the paper's micro-benchmark by protocol and number of threads, with the stages of a swap
  triad       STREAM's triad far out of core, beside bare transfers of what it moves
  stencil     7 points, with four times as much data as is local, beside all of it local, by steps of a block; with the
              fewest steps also by protocol
  mechanisms  what each mechanism of `direct` brings: without it, without any, and with it alone
  files       only with --folder, which must be on a disk: STREAM and a sort on mapped files with as much page cache as is
              local here

--umap: a program that is run as PROGRAM <bytes of a page>, and prints a line `fault <microseconds>`: the same load through
UMap, with a store over the same link.
"""
import os
import pathlib
import re
import sys

sys.dont_write_bytecode = True  # nothing new in the clone
import arguments
import compare_out_of_core
import experiments
import plots
from experiments import Figures

KI, MI = 1 << 10, 1 << 20
PROTOCOLS = ("direct", "r77", "r3", "r58")
STAGES = ("A1-A2", "A2-A3", "A3-A4", "A4-A5", "A5-A6")
MECHANISMS = ("ahead", "sweeper", "huge")


def job(options, data, local, page, **variables):
    """The command and the variables of a PE with two memory servers that have room for the data."""
    command = [options.build / "bin" / "oshrun", "-n", 1, "--timeout", 300, "--memory-servers", 2, "--memory-per-server",
               data * 3 // 4 + 128 * MI]
    return command, {"SHMEM_REMOTE_LOCAL": str(local), "SHMEM_REMOTE_PAGE": str(page), **variables}


def bench(options, data, local, page, *words, **variables):
    """Rows of shmem_bench paging."""
    command, variables = job(options, data, local, page, **variables)
    said = arguments.output([*command, options.build / "bin" / "shmem_bench", "paging", "--json", "--size", data, "--rounds",
                             options.inner, *words], 330, **variables)
    return arguments.results(said)


def bare(options, figures):
    """Microseconds of a page, from and to memory that is no cache's: whole, or in pieces of 256 KiB together."""
    said = arguments.output([options.build / "tests" / "bin" / "bare_fabric", "pages"], 120)
    for name, value, _ in map(str.split, said.splitlines()):
        figures.note(name, float(value))


def bare_page(figures, what, page):
    """The better of both."""
    return min(figures[f"{what}_{page // KI}k_{how}"] for how in ("whole", "pieces"))


def fault(options, verdicts):
    figures = Figures()
    for _ in range(options.rounds):
        bare(options, figures)
        for page in options.pages:
            for row in bench(options, 16 * options.local, options.local, page, "--kernel", "fault"):
                figures.note(("fault", page), row["each"])
                figures.note(("get", page), row["beside"])
                for name, mean in zip(STAGES, row["stages"]):
                    figures.note((name, page), mean)
            if options.umap:
                figures.note(("umap", page), umap(options, page))
    print("\nA load of a page that is not here, us: the fault; shmemx_remote_get; a bare read, whole and in pieces; stages in "
          f"the mean\n{'page':<8}{'fault':>9}{'get':>9}{'whole':>9}{'pieces':>9}" + "".join(f"{name:>9}" for name in STAGES) +
          f"{'UMap':>9}")
    for page in options.pages:
        size = f"{page // MI}m" if page >= MI else f"{page // KI}k"
        cells = [figures["fault", page], figures["get", page], figures[f"get_{page // KI}k_whole"],
                 figures[f"get_{page // KI}k_pieces"],
                 *(figures[name, page] for name in STAGES)]
        print(f"{size:<8}" + "".join(f"{cell:>9.4g}" for cell in cells) +
              (f"{figures['umap', page]:>9.4g}" if options.umap else f"{'-':>9}"))
        if page >= MI:
            verdicts.at_most(f"a fault that reads {size} / a bare read",
                             [figures["fault", page] / bare_page(figures, "get", page)], 1.15)
        if options.umap:
            verdicts.at_least(f"UMap / a fault that reads {size}", [figures["umap", page] / figures["fault", page]], 1.8)


def umap(options, page):
    for words in map(str.split, arguments.output([options.umap, page], 120).splitlines()):
        if words[:1] == ["fault"]:
            return float(words[1])
    return sys.exit(f"compare_paging.py: {options.umap} prints no line `fault <microseconds>`")


def protocols(options, verdicts):
    page, data, local = MI, 5 * options.local // 2, options.local
    figures = Figures()
    for _ in range(options.rounds):
        for threads in options.threads:
            for swap in PROTOCOLS:
                for row in bench(options, data, local, page, "--kernel", "micro", "--threads", threads, SHMEM_SWAP=swap):
                    figures.note((swap, threads), row["each"] * data / page / 1e3)
                    for name in ("reads", "writes", "swaps"):
                        figures.note((swap, threads, name), row[name] / options.inner)
                    for name, mean in zip(STAGES, row["stages"]):
                        figures.note((swap, threads, name), mean)
    print(f"\nThe micro-benchmark of the paper: {plots.label(data)} written, three passes over a word of each MiB, "
          f"{plots.label(local)} local, pages of 1 MiB; stages of a swap, us\n{'threads':<9}{'':<8}{'ms':>9}{'read':>7}"
          f"{'written':>9}{'swaps':>7}" + "".join(f"{name:>9}" for name in STAGES))
    for threads in options.threads:
        for swap in PROTOCOLS:
            counts = [figures[swap, threads, name] for name in ("reads", "writes", "swaps")]
            print(f"{threads:<9}{swap:<8}{figures[swap, threads]:>9.4g}" +
                  "".join(f"{count:>{width}.0f}" for count, width in zip(counts, (7, 9, 7))) +
                  "".join(f"{figures[swap, threads, name]:>9.4g}" for name in STAGES))
    for over, swap, target, paper in (("r77", "direct", 1.7, ""), ("r3", "r77", 1.1, "1.25-1.3"), ("r58", "r77", None, "3-4")):
        for threads in options.threads:
            ratio = figures[over, threads] / figures[swap, threads]
            if target is None:
                print(f"{over} / {swap}, {threads} threads: {ratio:.2f} (the paper: {paper})")
            else:
                verdicts.at_least(f"micro-benchmark {over} / {swap}, {threads} threads", [ratio], target, paper)
    curves = {swap: {threads: figures[swap, threads] for threads in options.threads} for swap in PROTOCOLS}
    return [plots.Panel("micro-benchmark", "threads", "ms", curves)], False


def triad(options, verdicts):
    page, data = 2 * MI, 12 * options.local
    figures = Figures()
    for _ in range(options.rounds):
        bare(options, figures)
        for row in bench(options, data, options.local, page, "--kernel", "triad"):
            pages = data // 3 // page * options.inner
            figures.note(row["what"], row["each"])
            figures.note((row["what"], "reads"), row["reads"] / pages)
            figures.note((row["what"], "writes"), row["writes"] / pages)
    print(f"\nTriad on {plots.label(data)}, {plots.label(options.local)} local, pages of 2 MiB: us a page of each array; pages "
          f"read and written for it; what they take by bare transfers\n{'':<20}{'us':>9}{'read':>7}{'written':>9}{'bare':>9}"
          f"{'MB/s':>9}")
    read, write = bare_page(figures, "get", page), bare_page(figures, "put", page)
    for what, reads, target, name in (("a is read too", 3, 0.75, "triad, moved bytes / bare"),
                                      ("a is overwritten", 2, 0.7, "triad, overwriting, counted bytes / bare")):
        link = reads * read + write
        print(f"{what:<20}{figures[what]:>9.4g}{figures[what, 'reads']:>7.2f}{figures[what, 'writes']:>9.2f}{link:>9.4g}"
              f"{3 * page / figures[what]:>9.4g}")
        verdicts.at_least(name, [link / figures[what]], target)


def example(options, program, words, data=0, local=0, page=2 * MI, **variables):
    command = [options.build / "bin" / "oshrun", "-n", 1, "--timeout", 300]
    if local:
        command, variables = job(options, data, local, page, **variables)
    return arguments.output([*command, options.build / "examples" / "out_of_core" / program, *words], 330, **variables)


def number(said, pattern):
    return float(re.search(pattern, said).group(1))


def stencil(options, verdicts):
    """Two arrays of side x side x length words, four times what is local."""
    side = 64
    data = 4 * options.local
    length = data // 2 // (side * side * 8)
    figures = Figures()
    least = min(options.blocks)
    for _ in range(options.rounds):
        for block in options.blocks:
            words = [side, side, length, 2 * block, block]
            swaps = PROTOCOLS if block == least else PROTOCOLS[:1]
            figures.note(("local", block), number(example(options, "stencil", words), r"stencil ([0-9.]+) ns"))
            for swap in swaps:
                said = example(options, "stencil", words, data, options.local, SHMEM_SWAP=swap)
                figures.note((swap, block), number(said, r"stencil ([0-9.]+) ns"))
                figures.note(("moved", swap, block), number(said, r"([0-9.e+-]+) MB/s moved"))
    print(f"\nStencil, {side} x {side} x {length}, two arrays, {plots.label(options.local)} local: ns of a cell and step\n"
          f"{'steps':<9}{'':<8}{'all local':>10}{'remote':>9}{'speed':>8}{'MB/s moved':>12}")
    for block in options.blocks:
        for swap in PROTOCOLS if block == least else PROTOCOLS[:1]:
            share = figures["local", block] / figures[swap, block]
            print(f"{block:<9}{swap:<8}{figures['local', block]:>10.3g}{figures[swap, block]:>9.3g}{share:>8.2f}"
                  f"{figures['moved', swap, block]:>12.4g}")
        share = figures["local", block] / figures["direct", block]
        verdicts.at_least(f"stencil, {block} steps a block, remote / all local", [share], 0.78 if block <= 64 else 0.9,
                          "0.78" if block <= 64 else "")


def mechanisms(options, _):
    """Nothing is judged."""
    every = ",".join(MECHANISMS)
    variants = {"all": "", **{f"without {one}": one for one in MECHANISMS}, "none": every,
                **{f"{one} alone": ",".join(other for other in MECHANISMS if other != one) for one in MECHANISMS}}
    figures = Figures()
    for _ in range(options.rounds):
        for name, without in variants.items():
            for kernel, size in (("fault", 4), ("micro", 5 / 2), ("triad", 6)):
                data = int(size * options.local)
                for row in bench(options, data, options.local, 2 * MI, "--kernel", kernel, "--threads", 2,
                                 SHMEM_REMOTE_WITHOUT=without):
                    figures.note((name, row["kernel"], row["what"]), row["each"])
    columns = [key[1:] for key in figures.found if key[0] == "all"]
    print("\nWhat each mechanism brings, us of a page of 2 MiB\n" + f"{'':<18}" +
          "".join(f"{kernel + ', ' + what:>28}" for kernel, what in columns))
    for name in variants:
        print(f"{name:<18}" + "".join(f"{figures[name, *column]:>20.4g}{figures[name, *column] / figures['all', *column]:>8.2f}"
                                      for column in columns))


def files(options, _):
    """Nothing is judged.  Sizes in MiB."""
    if not options.folder:
        return
    local, mib = options.local // MI, 4 * options.local // MI // 3
    figures = Figures()
    mapped = ["--mmap", options.folder, local]
    heap = {"SHMEM_HEAP": "remote", "SHMEM_SYMMETRIC_SIZE": f"{16 * local}m", "SHMEM_NVM_CACHE": f"{local}m",
            "SHMEM_NVM_PAGE": "2m"}
    for _ in range(options.rounds):
        figures.note(("stream", "direct"), speed(example(options, "stream", [mib, 1, "--remote"], 4 * options.local, options.local)))
        figures.note(("stream", "files"), speed(example(options, "stream", [mib, 1, *mapped])))
        # Long runs, so few streams: the read-ahead of each mapped one has to fit into the page cache.
        sort = [2 * local, 2 * local // 3]
        figures.note(("sort", "direct"), speed(example(options, "merge_sort", sort, 24 * options.local, options.local, **heap)))
        figures.note(("sort", "files"), speed(example(options, "merge_sort", [*sort, *mapped])))
    print(f"\nWith {local} MiB of memory, MB/s: on memory servers (the sort on SHMEM_HEAP=remote), and on mapped files\n"
          f"{'':<10}{'servers':>10}{'files':>10}{'ratio':>8}")
    for what in ("stream", "sort"):
        ours, theirs = figures[what, "direct"], figures[what, "files"]
        print(f"{what:<10}{ours:>10.4g}{theirs:>10.4g}{ours / theirs:>8.2f}")


def speed(said):
    return number(said, r"all +([0-9.]+) MB/s")


EXPERIMENTS = {"fault": fault, "protocols": protocols, "triad": triad, "stencil": stencil, "mechanisms": mechanisms,
               "files": files}
PROGRAMS = ("bin/oshrun", "bin/shmem_bench", "tests/bin/bare_fabric", "examples/out_of_core/stencil",
            "examples/out_of_core/stream", "examples/out_of_core/merge_sort")


def parse():
    parser = arguments.Parser(__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build tree, such as build/release")
    experiments.add_options(parser, EXPERIMENTS)
    parser.add_argument("--folder", type=compare_out_of_core.disk, help="where mapped files are made, on a disk")
    parser.add_argument("--umap", type=pathlib.Path, help="a program that measures UMap; see above")
    parser.add_argument("--inner", type=arguments.whole, default=3, help="rounds of shmem_bench in each run (default 3)")
    parser.add_argument("--local", type=arguments.size, default=64 * MI, help="bytes of local memory (default 64m)")
    parser.add_argument("--pages", type=arguments.sizes, default=[256 * KI, MI, 2 * MI],
                        help="sizes of pages of `fault`, of 256k, 1m and 2m (default: all)")
    parser.add_argument("--threads", type=arguments.several, default=[1, 4], help="of `protocols` (default 1,4)")
    parser.add_argument("--blocks", type=arguments.several, default=[64, 128], help="steps of `stencil` (default 64,128)")
    options = parser.parse_args()
    options.build = options.build.resolve()
    for name in PROGRAMS:
        if not os.access(options.build / name, os.X_OK):
            parser.error(f"there is no {name} in {options.build}; cmake --build --preset release makes it, with "
                         "-DATOLL_TESTS=ON")
    if not set(options.pages) <= {256 * KI, MI, 2 * MI}:
        parser.error("--pages must be some of 256k, 1m, 2m: bare_fabric has no others")
    return options


if __name__ == "__main__":
    sys.exit(experiments.run(parse(), EXPERIMENTS))
