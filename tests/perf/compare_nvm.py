#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints what the heap on NVM takes beside what it is compared with: the figures of `shmem_bench nvm` with cooperation
between nodes (SHMEM_NVM_COOPERATIVE and SHMEM_NVM_REMOTE_OPS 1), without (both 0), and with everything in memory; of
shared pages, and in `mechanisms`, also with either alone.  All of them run in turn, several rounds; a figure is the median of the rounds.
At the end stands each figure beside its target, and beside that of the paper on vGASNet.

    tests/perf/compare_nvm.py --bin build/release/bin [--bare build/release/tests/bin] [--only pages,gets,mechanisms,sharing,computing,memory,cached]
                              [--dir /var/tmp] [--out nvm]

  pages    a page that is not there, from NVM, from home's memory and from a third node's, by size of the page; with
           --bare also one of 256 KiB beside a bare read of a file, and beside a bare get by libfabric
  gets     one PE's pages, got by several others, less and more than a node has memory for
  mechanisms  random and sequential gets by 4 PEs: without each mechanism, without any, and with each alone
  sharing  all PEs put a byte of their own into one page, or 8 KiB, for which it moves
  computing  what the library's threads take of a core beside a program that computes
  memory   with --bare: anonymous memory of a PE to whose object three others write, and persist
  cached   4 KiB that are in memory, loads and stores, beside the heap in memory

Files are made in a folder of their own in --dir, on NVM or a disk, which is removed at the end.
"""
import os
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing new in the clone
import arguments
import experiments
import plots
from experiments import Figures

MODES = ("cooperation", "without", "memory")
ALONE = ("pages", "operations")  # of what cooperation does
# What leaves a mechanism out.
WITHOUT = {"operations sent": {"SHMEM_NVM_REMOTE_OPS": "0"}, "pages of other nodes": {"SHMEM_NVM_COOPERATIVE": "0"},
           "policy of its own": {"SHMEM_NVM_POLICY": "vgasnet"}, "read-ahead": {"SHMEM_NVM_AHEAD": "0"},
           "io_uring": {"SHMEM_NVM_ENGINE": "sync"}}
# By mode.
LEFT_OUT = {"without": ("operations sent", "pages of other nodes"), "pages": ("operations sent",),
            "operations": ("pages of other nodes",)}
PAPER_SHARING, PAPER_GETS = "23.5-33.7", "1.34-1.92"
KI, MI = 1 << 10, 1 << 20
LONG_ROUND = 0.3  # seconds, of puts that are sent until their page comes


def without(*names):
    return {variable: setting for name in names for variable, setting in WITHOUT[name].items()}


def settings_of_mechanisms():
    """Variables by what is measured: with all mechanisms, without each, without both of cooperation, none, and each alone."""
    found = {"all": {}} | {f"no {name}": without(name) for name in WITHOUT}
    found |= {"w/o CC": without(*LEFT_OUT["without"]), "none": without(*WITHOUT)}
    return found | {f"only {name}": without(*(other for other in WITHOUT if other != name)) for name in WITHOUT}


def run(options, mode, pes, page, pool, *more, data=0, seconds=0, **more_variables):
    """Rows of a run of `pes` PEs, each on a node of its own with `pool` bytes for pages of `page`; `data` bytes of a PE
    are measured."""
    variables = {"SHMEM_NVM_DIR": options.folder, "SHMEM_NVM_PAGE": str(page), "SHMEM_NVM_CACHE": str(pool),
                 "SHMEM_NVM_SIZE": str(data + 2 * pool + 16 * page + 8 * MI),
                 "SHMEM_SYMMETRIC_SIZE": str(data + 4 * page + 64 * MI), **more_variables}
    variables |= without(*LEFT_OUT.get(mode, ()))
    command = [options.bin / "oshrun", "-n", pes, "--virtual-nodes", pes, "--timeout", 300,
               options.bin / "shmem_bench", "nvm", "--json", "--rounds", options.inner, "--seconds", max(options.seconds, seconds), *more]
    if mode == "memory":
        command.append("--dram")
    return arguments.results(arguments.output(command, 330, **variables))


def pages(options, verdicts):
    """By size of a page; returns the picture."""
    figures = Figures()
    for _ in range(options.rounds):
        for page in options.pages:
            pool = max(options.pool, 16 * page)
            for mode in ("cooperation", "memory"):
                for row in run(options, mode, 3, page, pool, "--kernel", "miss", "--pages", max(1, options.pool // page // 4),
                               data=options.pool):
                    name = "get in memory" if mode == "memory" else row["what"]
                    figures.note((name, page), row["rate"])
                    figures.note((name, page, "read"), row.get("nvm_reads", 0))
    names = ("from NVM", "from home's memory", "from a third node's memory", "get in memory")
    print(f"\nA page that is not there, 3 nodes, MB a second of one PE (pages read from NVM for each)\n{'page':<8}" +
          "".join(f"{name:>30}" for name in names))
    for page in options.pages:
        cells = [f"{figures[name, page]:.4g} ({figures[name, page, 'read']:.2f})" for name in names[:-1]]
        print(f"{plots.label(page):<8}" + "".join(f"{cell:>30}" for cell in cells) + f"{figures[names[-1], page]:>30.4g}")
    print("quickest: " + ", ".join(f"{name} {plots.label(max(options.pages, key=lambda page: figures[name, page]))}"
                                   for name in names[:-1]))
    for name in names[1:-1]:
        ratios = [figures[name, page] / figures[names[0], page] for page in options.pages]
        verdicts.at_least(f"a miss {name} / from NVM", ratios, 1)
    if options.bare:
        beside_bare(options, verdicts)
    curves = {name: {page: figures[name, page] for page in options.pages} for name in names}
    return [plots.Panel("a page that is not there", "bytes of a page", "MB/s", curves)], True


def beside_bare(options, verdicts):
    """A page of 256 KiB that its own PE has read, and one that another node's memory has, in microseconds.  Also without
    reading ahead: in a random order of few pages many follow each other, and the device then reads others beside."""
    page, data = 256 * KI, 16 * MI
    figures = Figures()
    for _ in range(options.rounds):
        for name, pes in (("from NVM", 1), ("from home's memory", 2)):
            for row in run(options, "cooperation", pes, page, data, "--kernel", "miss", "--pages", 16, data=data):
                if row["what"] == name:
                    figures.note(name, row["each"])
        for row in run(options, "cooperation", 1, page, data, "--kernel", "miss", "--pages", 16, data=data,
                       SHMEM_NVM_AHEAD="0"):
            if row["what"] == "from NVM":
                figures.note("alone", row["each"])
        for what in ("read", "get"):
            figures.note(what, bare_figure(options.bare / "bare_read", what, options.folder, page))
        for who in ("poll", "agent"):
            figures.note(("get", who), bare_figure(options.bare / "bare_fabric", f"{who}_get_256k_alone", who))
    own, other = figures["alone"], figures["from home's memory"]
    print(f"\nA page of 256 KiB, us: from NVM at home {own:.4g}, {figures['from NVM']:.4g} where others are read ahead, a bare "
          f"read past the page cache {figures['read']:.4g}, {figures['get']:.4g} into 16 MiB by turns and copied; from "
          f"home's memory {other:.4g}, a bare get {figures['get', 'poll']:.4g} from who polls, {figures['get', 'agent']:.4g} "
          "from who is woken")
    verdicts.at_most("a page from NVM at home, alone / a bare read", [own / figures["read"]], 1.3)
    verdicts.at_most("a page from NVM at home, alone / a bare read into 16 MiB by turns, and a copy", [own / figures["get"]], 1.3)
    verdicts.at_most("a page from home's memory / a bare get, of who is woken",
                     [other / figures["get", "agent"]], 1.5)
    verdicts.at_most("a page from home's memory / a bare get, of who polls", [other / figures["get", "poll"]], 1.5)


def bare_figure(program, name, *arguments_of_it):
    """The number in the line `name number unit` that a program prints."""
    return figure(arguments.output([program, *arguments_of_it], 120), name, program)


def figure(said, name, program):
    for line in said.splitlines():
        if line.split()[0] == name:
            return float(line.split()[1])
    sys.exit(f"compare_nvm.py: {program} says nothing of {name}")


def gets(options, verdicts):
    figures = Figures()
    sizes = {"below": options.pool // 2, "above": 4 * options.pool}
    for _ in range(options.rounds):
        for readers in options.readers:
            for size, data in sizes.items():
                for mode in MODES:
                    for row in run(options, mode, readers + 1, options.page, options.pool, "--kernel", "gets", "--pages",
                                   data // options.page, data=data):
                        figures.note((size, row["what"], mode, readers), row["rate"])
                        figures.note((size, row["what"], mode, readers, "read"), row.get("nvm_reads", 0))
    panels = []
    orders = ("sequential", "sequential, again", "random", "random, again")
    for size, data in sizes.items():
        print(f"\nGets of one PE's {plots.label(data)}, {plots.label(options.pool)} of memory on each node: MB a second of "
              f"all readers; pages read from NVM for each\n{'':<20}{'readers':>8}" +
              "".join(f"{mode:>13}" for mode in MODES) + f"{'ratio':>8}{'read':>8}{'without':>9}")
        for what in orders:
            for readers in options.readers:
                rates = [figures[size, what, mode, readers] for mode in MODES]
                print(f"{what:<20}{readers:>8}" + "".join(f"{rate:>13.4g}" for rate in rates) + f"{rates[0] / rates[1]:>8.2f}" +
                      "".join(f"{figures[size, what, mode, readers, 'read']:>{width}.2f}" for mode, width in zip(MODES, (8, 9))))
        curves = {f"{what}, {mode}": {readers: figures[size, what, mode, readers] for readers in options.readers}
                  for what in ("sequential", "random") for mode in MODES[:2]}
        panels.append(plots.Panel(f"{size} the pool", "readers", "MB/s of all", curves))
    for what, paper in (("sequential", PAPER_GETS), ("random", "")):
        several = [n for n in options.readers if n > 2] or options.readers
        verdicts.at_least(f"{what} gets above the pool, cooperation / without",
                          [figures["above", what, "cooperation", n] / figures["above", what, "without", n] for n in several],
                          2.5 if what == "sequential" else 1.9, paper)
    if 4 in options.readers:
        verdicts.at_most("NVM reads a get, random, 4 readers, above the pool",
                         [figures["above", what, "cooperation", 4, "read"] for what in orders[2:]], 0.35, each=True)
    return panels, False


def mechanisms(options, _):
    """Nothing is judged."""
    readers, data = 4, 4 * options.pool
    figures = Figures()
    for _ in range(options.rounds):
        for name, variables in settings_of_mechanisms().items():
            for row in run(options, "cooperation", readers + 1, options.page, options.pool, "--kernel", "gets", "--pages",
                           data // options.page, data=data, **variables):
                figures.note((row["what"], name), row["rate"])
                figures.note((row["what"], name, "read"), row["nvm_reads"])
    orders = ("sequential", "sequential, again", "random", "random, again")
    print(f"\nGets of one PE's {plots.label(data)} by {readers}, by mechanisms: MB a second of all readers, as a part of "
          "`all`; pages read from NVM for each\n" + f"{'':<28}" + "".join(f"{what:>22}" for what in orders))
    for name in settings_of_mechanisms():
        cells = [f"{figures[what, name]:.4g} {figures[what, name] / figures[what, 'all']:.2f} {figures[what, name, 'read']:.2f}"
                 for what in orders]
        print(f"{name:<28}" + "".join(f"{cell:>22}" for cell in cells))


def sharing(options, verdicts):
    figures = Figures()
    sizes = {1: "", 8 * KI: ", 8 KiB"}
    for _ in range(options.rounds):
        for pes in options.sharers:
            for size, kind in sizes.items():
                for mode in MODES + ALONE:
                    for row in run(options, mode, pes, options.page, options.pool, "--kernel", "sharing", "--bytes", size,
                                   seconds=LONG_ROUND):
                        figures.note((row["what"] + kind, mode, pes), row["rate"])
    paces = ("put, barrier", "put, quiet", "puts")
    kinds = [pace + kind for kind in sizes.values() for pace in paces]
    print(f"\nFalse sharing, thousand puts a second of all PEs\n{'':<22}{'PEs':>5}" +
          "".join(f"{mode:>13}" for mode in MODES) + f"{'/ without':>11}{'memory /':>11}" +
          "".join(f"{mode + ' / w.':>16}" for mode in ALONE))
    for what in kinds:
        for pes in options.sharers:
            rates = [figures[what, mode, pes] for mode in MODES]
            alone = [figures[what, mode, pes] / rates[1] for mode in ALONE]
            print(f"{what:<22}{pes:>5}" + "".join(f"{rate:>13.4g}" for rate in rates) +
                  f"{rates[0] / rates[1]:>11.2f}{rates[2] / rates[0]:>11.2f}" + "".join(f"{each:>16.2f}" for each in alone))
    for what in (*paces, paces[0] + sizes[8 * KI]):
        faster = [figures[what, "cooperation", n] / figures[what, "without", n] for n in options.sharers]
        verdicts.at_least(f"false sharing ({what}), cooperation / without", faster, 40 if what in paces else 15, PAPER_SHARING)
    moving = [figures[paces[0] + sizes[8 * KI], "pages", n] / figures[paces[0] + sizes[8 * KI], "without", n] for n in options.sharers]
    verdicts.at_least("false sharing (put, barrier, 8 KiB), where the page moves / without", moving, 15, PAPER_SHARING)
    for what in paces:
        slower = [figures[what, "memory", n] / figures[what, "cooperation", n] for n in options.sharers]
        verdicts.at_most(f"false sharing ({what}), in memory / cooperation", slower, 10, "138")
    panels = [plots.Panel(f"false sharing: {what}", "PEs", "1000 puts/s of all",
                          {mode: {n: figures[what, mode, n] for n in options.sharers} for mode in MODES}) for what in kinds]
    return panels, True


def computing(options, verdicts):
    """No picture: two shares."""
    figures = Figures()
    for _ in range(options.rounds):
        for row in run(options, "cooperation", 2, options.page, options.pool, "--kernel", "computing", "--seconds", 1,
                       data=2 * options.pool):
            figures.note(row["what"], row["each"])
    print("\nBeside a program that computes, 2 nodes, the library's threads take of a core: " +
          ", ".join(f"{figures[what]:.2f} % ({what})" for what in ("no page", "a page each 10 ms")))
    verdicts.at_most("per cent of a core, the library's threads, no page", [figures["no page"]], 3)
    verdicts.at_most("per cent of a core, the same, a page each 10 ms", [figures["a page each 10 ms"]], 3)


def memory(options, verdicts):
    """No picture: one figure."""
    if not options.bare:
        return
    name, pool, allowed = "anonymous_mib", 4 * MI, 16
    figures = Figures()
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            said = arguments.output([options.bin / "oshrun", "-n", 4, "--virtual-nodes", 4, "--timeout", 300,
                                     options.bare / "nvm_home_memory"], 330, SHMEM_HEAP=f"nvm:{folder}",
                                    SHMEM_SYMMETRIC_SIZE="64m", SHMEM_NVM_PAGE=str(options.page), SHMEM_NVM_CACHE=str(pool))
        figures.note(name, figure(said, name, "nvm_home_memory"))
    print(f"\nAnonymous memory that a home takes while 3 nodes write and persist 3 times its pool of 4 MiB each: "
          f"{figures[name]:.1f} MiB")
    verdicts.at_most("MiB of a home while others persist", [figures[name]], allowed)


def cached(options, verdicts):
    """No picture: four ratios."""
    figures = Figures()
    for _ in range(options.rounds):
        for row in run(options, "cooperation", 1, options.page, options.pool, "--kernel", "cached"):
            figures.note((row["what"], "nvm"), row["each"])
            figures.note((row["what"], "memory"), row["beside"])
            figures.note((row["what"], "ratio"), row["each"] / row["beside"])
    print(f"\nIn memory, on one node, ns\n{'':<10}{'on NVM':>10}{'in memory':>12}{'ratio':>8}")
    for what, target in (("get", 1.3), ("put", 1.3), ("load", 1.0), ("store", 1.0)):
        print(f"{what:<10}{figures[what, 'nvm']:>10.4g}{figures[what, 'memory']:>12.4g}{figures[what, 'ratio']:>8.2f}")
        # A tenth is what two blocks of the same memory may differ by.
        verdicts.at_most(f"{'4 KiB ' if target > 1 else ''}{what} in memory, NVM heap / heap in memory",
                         [figures[what, "ratio"]], target if target > 1 else 1.1)
    return None


def disk(text):
    """A folder whose files can be read past the page cache of the kernel."""
    try:
        with tempfile.TemporaryDirectory(prefix="atoll-nvm.", dir=text) as folder:
            os.close(os.open(os.path.join(folder, "file"), os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600))
    except OSError as error:
        raise arguments.argparse.ArgumentTypeError(f"{text} is no folder for data: {error.strerror}; it must be writable, and "
                                                   "on a file system that permits O_DIRECT, which tmpfs may not") from None
    return text


EXPERIMENTS = {"pages": pages, "gets": gets, "mechanisms": mechanisms, "sharing": sharing, "computing": computing,
               "memory": memory, "cached": cached}


def parse():
    parser = arguments.Parser(__doc__)
    parser.add_argument("--bin", type=arguments.folder("oshrun", "shmem_bench"), required=True,
                        help="folder of oshrun and shmem_bench")
    parser.add_argument("--bare", type=arguments.folder("bare_read", "bare_fabric", "nvm_home_memory"),
                        help="folder of bare_read and bare_fabric, to compare with them, and nvm_home_memory")
    experiments.add_options(parser, EXPERIMENTS)
    parser.add_argument("--dir", type=disk, default="/var/tmp", help="folder on NVM or a disk (default /var/tmp)")
    parser.add_argument("--inner", type=arguments.whole, default=3, help="rounds within a run (default 3)")
    parser.add_argument("--seconds", type=arguments.seconds, default=0.05,
                        help="length of a round of sharing and cached (default 0.05)")
    parser.add_argument("--pages", type=arguments.sizes, default=arguments.sizes("16k,64k,256k,1m,4m"),
                        help="sizes of pages, with commas (default 16k,64k,256k,1m,4m)")
    parser.add_argument("--page", type=arguments.size, default=256 * KI, help="size of a page elsewhere (default 256k)")
    parser.add_argument("--pool", type=arguments.size, default=16 * MI, help="memory of a node for pages (default 16m)")
    parser.add_argument("--readers", type=arguments.several, default=[1, 2, 4, 8],
                        help="numbers of PEs that get, with commas (default 1,2,4,8)")
    parser.add_argument("--sharers", type=arguments.several, default=[2, 4, 8],
                        help="numbers of PEs that share a page, with commas (default 2,4,8)")
    options = parser.parse_args()
    if options.pool < 16 * options.page:
        parser.error("--pool must have room for 16 pages of --page")
    return options


def main():
    options = parse()
    with tempfile.TemporaryDirectory(prefix="atoll-nvm.", dir=options.dir) as options.folder:
        return experiments.run(options, EXPERIMENTS)


if __name__ == "__main__":
    sys.exit(main())
