#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Prints what the key/value store takes beside what it is compared with: the figures of `shmem_bench kv` in one run, each
beside its target, and with --redis those of a Redis server of your own (package redis-server).  All of them run in turn,
several rounds; a figure is the median of the rounds.

    tests/perf/compare_kv.py --bin build/release/bin [--only targets,single,batch,scale,nvm,paper] [--redis] [--out kv]

  targets  what a table that all PEs share is to reach beside the maps of one process (kv_peers, which is built where
           libabsl-dev and libtbb-dev are) and by itself: gets, gets by threads, changes by all PEs, absent keys in a table
           that was full, messages of a get that waits, pauses of growth, and the instructions that ctest allows
  single   gets by the number of elements, inserts and updates, on node and off node, beside a round trip of the network
  batch    gets and inserts by the number of keys of a call
  scale    gets by 1 to all PEs of a node
  nvm      changes by all PEs of two nodes at once, and by one, of a table on NVM beside the same in memory
  paper    what Figures 3 and 4 of the paper on PDHT show: gets by all PEs, and by the size of the value, by the number of
           elements of each PE; with --engines each matching engine (SHMEM_KV_MATCH)
  lmdb     gets and puts by one process, beside LMDB (package liblmdb-dev), in memory and with a quarter of the memory that a
           table would take, for which a control group is made (as root); only when it is named
  redis    single gets of PE 0 on node, and batches to another node, waited for or several under way, beside redis-benchmark with the same sizes of keys
           and values: single, and pipelined; on a socket file and on the loopback, with one client and with several

The server has no files but in a temporary folder, which is removed at the end.
"""
import contextlib
import csv
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # nothing new in the clone
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(os.path.dirname(HERE), "instructions"))
import arguments
import experiments
import limits
import memory_group
import plots
from experiments import Figures

PLACES = ("on node", "off node")
TRIPS = ("put, signal", "put", "memory get")  # there and back without the store
MI = 1 << 20
REDIS_KEY = len("key:000000000000")  # what redis-benchmark has
PIPELINE = 64
CLIENTS = (1, 8)
LARGE_VALUE = 1000  # bytes, of lmdb's table that memory has no room for
CHANGERS = 4  # PEs, or threads, of mixed
INSTRUCTIONS = {"kv_get": ("get", 90), "kv_put": ("put", 160), "kv_get_batch": ("key of a batched get", 80)}


def run(options, pes, nodes, *more, engine=None, folder=None, **variables):
    """Rows of a run of `pes` PEs on `nodes` virtual nodes; the heap is on NVM if there is a folder."""
    variables = {"SHMEM_SYMMETRIC_SIZE": str(options.heap), **variables}
    if folder is not None:
        variables["SHMEM_HEAP"] = f"nvm:{folder}"
    if engine is not None:
        variables["SHMEM_KV_MATCH"] = engine
    command = [options.bin / "oshrun", "-n", pes, "--timeout", 600]
    if nodes > 1:
        command += ["--virtual-nodes", nodes]
    command += [options.bin / "shmem_bench", "kv", "--json", "--rounds", options.inner, "--seconds", options.seconds, *more]
    return arguments.results(arguments.output(command, 630, **variables))


def listed(numbers):
    return ",".join(map(str, numbers))


def maps(options, figures, *what):
    """What kv_peers says, if it is there."""
    program = options.bin.parent / "tests" / "bin" / "kv_peers"
    if not program.exists():
        return False
    for line in arguments.output([program, *what, options.seconds], 120).splitlines():
        name, ns = line.rsplit(": ", 1)
        figures.note((name, int(what[1])), float(ns))
    return True


def targets(options, verdicts):
    figures = Figures()
    few, some, many = options.elements[0], options.elements[len(options.elements) // 2], options.elements[-1]
    sizes = sorted({few, some, many})
    batch_size = options.batches[-1]
    for _ in range(options.rounds):
        peers = all([maps(options, figures, "get", n) for n in sizes])
        for row in run(options, 2, 1, "--kernel", "get", "--elements", listed(sizes)):
            figures.note((row["what"], row["elements"]), row["ns"])
        for row in run(options, 2, 1, "--kernel", "batch", "--elements", many, "--batch", batch_size):
            if row["what"] == "get" and row["batch"]:
                figures.note("batched", row["ns"])
        for row in run(options, 1, 1, "--kernel", "threads", "--threads", 2, "--elements", some):
            figures.note(("threads", row["readers"]), row["ratio"])
        maps(options, figures, "threads", some, 2)
        maps(options, figures, "mixed", CHANGERS * some, CHANGERS)
        for row in run(options, CHANGERS, 1, "--kernel", "ycsb", "--ycsb", "A", "--zipf", 0, "--elements", some):
            figures.note("mixed", row["ns"] / CHANGERS)
        for row in run(options, 2, 1, "--kernel", "full", "--elements", some):
            if "ratio" in row:
                figures.note(("full", row["what"]), row["ratio"])
    for row in run(options, 2, 2, "--kernel", "wait", "--wait", options.wait):
        figures.note("messages", row["ratio"])
    print(f"\nOn node, one PE beside one thread, ns, by the number of elements\n{'':<34}" + "".join(f"{n:>10}" for n in sizes))
    for what in ("get", "get, chained", "get, absent"):
        for name, key in (("", what), *((f", {map}", f"{map}, {what}") for map in ("absl", "std") if peers)):
            print(f"{what + name:<34}" + "".join(f"{figures[key, n]:>10.4g}" for n in sizes))
    print(f"{f'get, in batches of {batch_size}':<34}{'':>{10 * len(sizes) - 10}}{figures['batched']:>10.4g}")
    print(f"half gets, half puts of {CHANGERS * some} elements by {CHANGERS} PEs, or threads, million/s: {1e3 / figures['mixed']:.4g}"
          + "".join(f", {name} {1e3 / figures[f'{map}, mixed', CHANGERS * some]:.4g}"
                    for map, name in (("tbb", "tbb::concurrent_hash_map"), ("std", "std::unordered_map with a lock")) if peers))
    print(f"gets by 2 threads / twice those of one: {figures['threads', 2]:.3g}"
          + (f", absl::flat_hash_map {figures['absl, threads', some]:.3g}" if peers else ""))
    if peers:
        for what, said in (("get", ""), ("get, chained", ", each key by the value before")):
            verdicts.at_most(f"on node: get / absl, {few}, {some}{said}",
                             [figures[what, n] / figures[f"absl, {what}", n] for n in (few, some)], 1.3, each=True)
        verdicts.at_most(f"on node: get of {many} / absl", [figures["get", many] / figures["absl, get", many]], 1.5)
        verdicts.at_most(f"on node: batched get of {many} / absl", [figures["batched"] / figures["absl, get", many]], 0.8)
        verdicts.at_least(f"on node: half gets, half puts by {CHANGERS} PEs / tbb",
                          [figures["tbb, mixed", CHANGERS * some] / figures["mixed"]], 3)
    else:
        print("no kv_peers beside these programs: install libabsl-dev and libtbb-dev, configure and build again")
    verdicts.at_least("on node: gets by 2 threads of a PE / twice one's", [figures["threads", 2]], 0.95)
    verdicts.at_most("on node: absent key after being full / fresh", [figures["full", "get, absent"]], 2)
    verdicts.at_most(f"off node: messages of a get that waits {options.wait:g} s", [figures["messages"]], 4)
    for name, (what, most) in INSTRUCTIONS.items():
        verdicts.at_most(f"instructions of a {what}, as ctest allows", [limits.LIMITS["node"][name]], most)
    pauses(options, verdicts)
    print(f"instructions are counted by: ctest --test-dir {options.bin.parent} -R instructions.node -V")


def pauses(options, verdicts):
    """Of the thread's own time: who else wants the core does not count."""
    program = options.bin.parent / "tests" / "kv" / "kv_pauses"
    if not program.exists():
        return print(f"no {program}: it is made with the tests")
    memory = options.growth // 10000 + 2  # MiB
    said = arguments.output([options.bin / "oshrun", "-n", 1, "--timeout", 300, program, options.growth, memory, "cpu"], 330,
                            SHMEM_SYMMETRIC_SIZE=str(2 * (memory + 32) * MI))
    print(f"a table of 1000 elements grows to {options.growth}:\n{said.rstrip()}")
    lines = [dict(re.findall(r"(p99\.99|longest) ([0-9.]+)", line)) for line in said.splitlines() if "longest" in line]
    verdicts.at_most("growing: longest put and get, ms", [float(line["longest"]) / 1e3 for line in lines], 1, each=True)
    verdicts.at_most("growing: 99.99 % of puts and gets, us", [float(line["p99.99"]) for line in lines], 100, each=True)
    return None


def single(options, verdicts):
    figures = Figures()
    for _ in range(options.rounds):
        for nodes, place in ((1, "on node"), (2, "off node")):
            # On two nodes a PE is alone on its own: what is "on node" there is its own part.
            for row in run(options, 2, nodes, "--kernel", "pingpong,get", "--elements", listed(options.elements)):
                if row["where"] == place:
                    figures.note((row["what"], place, row["elements"]), row["ns"])
            for row in run(options, 2, nodes, "--kernel", "insert,update"):
                if row["where"] == place:
                    figures.note((row["what"], place), row["ns"])
    print(f"\nSingle calls of one PE, ns, by the number of elements of each PE\n{'':<24}" +
          "".join(f"{n:>10}" for n in options.elements))
    for place in PLACES:
        for what in ("get", "get, absent"):
            print(f"{what + ', ' + place:<24}" + "".join(f"{figures[what, place, n]:>10.4g}" for n in options.elements))
    for place in PLACES:
        print(f"{place}: insert {figures['insert', place]:.4g}, update {figures['update', place]:.4g}, "
              "the network alone: " + ", ".join(f"{trip} {figures[trip, place, 0]:.4g}" for trip in TRIPS))
    first, last = options.elements[0], options.elements[-1]
    off = [figures["get", "off node", n] for n in options.elements]
    trip = min(figures[what, "off node", 0] for what in TRIPS)
    verdicts.at_most(f"off node: a get of {last} elements / of {first}", [off[-1] / off[0]], 1.1, "linear")
    verdicts.at_most("off node: a get / the network's quickest round trip", [time / trip for time in off], 1.25, each=True)
    verdicts.at_most("on node: a get, ns", [figures["get", "on node", n] for n in options.elements], 150, each=True)
    verdicts.at_most("on node: an insert, ns", [figures["insert", "on node"]], 300)
    curves = {f"{what}, {place}": {n: figures[what, place, n] for n in options.elements}
              for place in PLACES for what in ("get", "get, absent")}
    curves["network alone, off node"] = {n: trip for n in options.elements}
    return [plots.Panel("single gets", "elements of each PE", "ns", curves)], True


def batch(options, verdicts):
    figures = Figures()
    for _ in range(options.rounds):
        for nodes, place in ((1, "on node"), (2, "off node")):
            for row in run(options, 2, nodes, "--kernel", "batch", "--batch", listed(options.batches)):
                if row["where"] == place:
                    figures.note((row["what"], place, row["batch"]), row["ns"])
    kinds = [(what, place) for place in PLACES for what in ("get", "insert")]
    print(f"\nNanoseconds of a key, by the number of keys of a call (times quicker than a single call)\n{'':<8}" +
          "".join(f"{what + ', ' + place:>22}" for what, place in kinds))
    for keys in (0, *options.batches):
        cells = [f"{figures[(*kind, keys)]:.4g} ({figures[(*kind, 0)] / figures[(*kind, keys)]:.1f})" for kind in kinds]
        print(f"{keys or 'single':<8}" + "".join(f"{cell:>22}" for cell in cells))
    most = options.batches[-1]
    for what in ("get", "insert"):
        ratio = figures[what, "off node", 0] / figures[what, "off node", most]
        verdicts.at_least(f"off node: {what} in batches of {most}, single / batch", [ratio], 20)
    curves = {f"{what}, {place}": {n: figures[what, place, n] for n in options.batches} for what, place in kinds}
    return [plots.Panel("batches", "keys of a call", "ns of a key", curves)], True


def scale(options, verdicts):
    figures = Figures()
    for _ in range(options.rounds):
        for row in run(options, options.pes, 1, "--kernel", "scale"):
            figures.note(row["readers"], row["rate"])
    readers = sorted(figures.found)
    print(f"\nGets on node by several PEs at once\n{'readers':<10}{'million/s':>12}{'of linear':>12}")
    for n in readers:
        print(f"{n:<10}{figures[n]:>12.4g}{figures[n] / (n * figures[readers[0]]):>12.3g}")
    verdicts.at_least(f"on node: gets by {readers[-1]} PEs / as many times one PE's",
                      [figures[readers[-1]] / (readers[-1] * figures[readers[0]])], 0.9, "linear")
    return [plots.Panel("gets on node", "readers", "million/s",
                        {"measured": {n: figures[n] for n in readers}, "linear": {n: n * figures[1] for n in readers}})], False


def nvm(options, verdicts):
    """All changes of all PEs are on the same pages; those of one PE are on the other node's."""
    figures = Figures()
    counts = [10000, 100000]
    with tempfile.TemporaryDirectory(prefix="atoll-kv.", dir=options.dir) as folder:
        for _ in range(options.rounds):
            for where in (None, folder):
                for row in run(options, 2, 2, "--kernel", "mixed,insert,update", "--elements", listed(counts), folder=where):
                    if row["where"] == "off node":
                        figures.note((row["what"], where is not None, row["elements"]), row["ns"])
    print(f"\nTables on NVM and in memory, 2 nodes, ns of a change\n{'':<26}" + "".join(f"{n:>10}" for n in counts))
    for what, said in (("changes", "by both PEs at once"), ("insert", "inserts by one"), ("update", "updates by one")):
        for on_nvm in (False, True):
            print(f"{said + (', on NVM' if on_nvm else ''):<26}" + "".join(f"{figures[what, on_nvm, n]:>10.4g}" for n in counts))
    verdicts.at_most("changes by both nodes at once, on NVM / in memory",
                     [figures["changes", True, n] / figures["changes", False, n] for n in counts], 3, each=True)


def paper(options, verdicts):
    """Figure 3: throughput by the number of PEs, each on a node of its own.  Figure 4: latency of one."""
    figures = Figures()
    wide, narrow = set(), set()  # numbers of elements, of the two figures
    for _ in range(options.rounds):
        for engine in options.engines:
            for pes in options.weak:
                for row in run(options, pes, pes, "--kernel", "throughput", engine=engine):
                    figures.note((engine, pes, row["elements"]), row["rate"])
                    wide.add(row["elements"])
            for row in run(options, 2, 2, "--kernel", "latency", "--values", listed(options.values), engine=engine):
                if row["where"] == "off node":
                    figures.note((engine, "latency", row["value"], row["elements"]), row["ns"])
                    narrow.add(row["elements"])
    panels = [figure_3(options, figures, sorted(wide)), figure_4(options, figures, sorted(narrow))]
    for engine in options.engines:
        if engine == "entry":
            continue  # has the paper's curve
        of = "" if engine is None else f" ({engine})"
        verdicts.at_least(f"throughput of {max(wide)} elements / of {min(wide)}{of}",
                          [figures[engine, pes, max(wide)] / figures[engine, pes, min(wide)] for pes in options.weak], 0.9, "drops", each=True)
        latency = {(value, n): figures[engine, "latency", value, n] for value in options.values for n in narrow}
        verdicts.at_most(f"latency of {max(narrow)} elements / of {min(narrow)}{of}",
                         [latency[value, max(narrow)] / latency[value, min(narrow)] for value in options.values], 1.1, "linear", each=True)
    return panels, False


def figure_3(options, figures, counts):
    print(f"\nFigure 3: gets off node by all PEs at once, million/s, by the number of elements of each\n{'engine':<10}{'PEs':>5}" +
          "".join(f"{n:>10}" for n in counts))
    curves = {}
    for engine in options.engines:
        for pes in options.weak:
            print(f"{engine or 'default':<10}{pes:>5}" + "".join(f"{figures[engine, pes, n]:>10.4g}" for n in counts))
            curves[f"{engine or 'default'}, {pes} PEs"] = {n: figures[engine, pes, n] for n in counts}
    return plots.Panel("Figure 3: throughput", "elements of each PE", "million gets/s", curves)


def figure_4(options, figures, counts):
    print(f"\nFigure 4: a get off node, us, by the size of the value and the number of elements\n{'engine':<10}{'bytes':>7}" +
          "".join(f"{n:>10}" for n in counts))
    curves = {}
    for engine in options.engines:
        for value in options.values:
            times = {n: figures[engine, "latency", value, n] * 1e-3 for n in counts}
            print(f"{engine or 'default':<10}{value:>7}" + "".join(f"{times[n]:>10.4g}" for n in counts))
            curves[f"{engine or 'default'}, {value} bytes"] = times
    return plots.Panel("Figure 4: latency", "elements of each PE", "us", curves)


class Redis:
    """A server that lives as long as the `with`."""

    def __init__(self, options):
        self.options = options

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="atoll-redis.")
        self.socket = os.path.join(self.folder.name, "redis.sock")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            ["redis-server", "--bind", "127.0.0.1", "--port", str(self.port), "--unixsocket", self.socket, "--save", "",
             "--appendonly", "no", "--dir", self.folder.name, "--daemonize", "no"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(100):
            if os.path.exists(self.socket) or self.process.poll() is not None:
                break
            time.sleep(0.1)
        if self.process.poll() is not None or not os.path.exists(self.socket):
            self.__exit__()
            sys.exit("compare_kv.py: redis-server does not start")
        self.rate("set", "socket", PIPELINE, 8, 10 * self.options.redis_elements)  # nearly every key is there
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.folder.cleanup()

    def rate(self, what, way, pipeline, clients, requests):
        """Operations a second."""
        where = ["-s", self.socket] if way == "socket" else ["-h", "127.0.0.1", "-p", self.port]
        said = arguments.output(["redis-benchmark", *where, "-t", what, "-n", requests, "-r", self.options.redis_elements, "-d",
                                 self.options.value, "-c", clients, "-P", pipeline, "--csv"], 300)
        for row in csv.DictReader(said.splitlines()):
            if row["test"].lower().startswith(what):
                return float(row["rps"])
        sys.exit(f"compare_kv.py: redis-benchmark says nothing of {what}: {said}")


def redis(options, verdicts):
    figures = Figures()
    sizes = ("--key", REDIS_KEY, "--value", options.value, "--elements", options.redis_elements)
    with Redis(options) as server:
        for _ in range(options.rounds):
            for way in ("socket", "loopback"):
                figures.note((way, 1, 1), server.rate("get", way, 1, 1, 30000))
                for clients in CLIENTS:
                    figures.note((way, PIPELINE, clients), server.rate("get", way, PIPELINE, clients, 1000000))
            for row in run(options, 2, 1, "--kernel", "get", *sizes):
                if row["what"] == "get":
                    figures.note("single", row["rate"] * 1e6)
            for row in run(options, 2, 2, "--kernel", "batch", "--batch", f"{PIPELINE},{options.batches[-1]}", *sizes):
                if row["where"] == "off node" and row["what"] == "get" and row["batch"]:
                    figures.note(("batch", row["batch"]), row["rate"] * 1e6)
            for row in run(options, 2, 2, "--kernel", "nbi", "--batch", f"{PIPELINE},{options.batches[-1]}", *sizes):
                if row["where"] == "off node" and row["batch"]:
                    figures.note(("nbi", row["batch"]), row["rate"] * 1e6)
    print(f"\nGets a second, {options.redis_elements} elements, keys of {REDIS_KEY} bytes and values of {options.value}")
    for way in ("socket", "loopback"):
        print(f"Redis, {way:<9} single {figures[way, 1, 1]:>12.4g}" +
              "".join(f"   pipelined by {PIPELINE}, {n} client{'s' if n > 1 else ''} {figures[way, PIPELINE, n]:>10.4g}"
                      for n in CLIENTS))
    print(f"one PE, on node  single {figures['single']:>12.4g}   off node" +
          "".join(f"   batches of {n} {figures['batch', n]:.4g}, 16 under way {figures['nbi', n]:.4g}"
                  for n in (PIPELINE, options.batches[-1])))
    alone = max(figures[way, 1, 1] for way in ("socket", "loopback"))
    piped = max(figures[way, PIPELINE, n] for way in ("socket", "loopback") for n in CLIENTS)
    verdicts.at_least("single gets on node / Redis, its quicker way", [figures["single"] / alone], 100)
    for n, target in ((PIPELINE, 10), (options.batches[-1], 20)):
        verdicts.at_least(f"off node: batches of {n}, nbi / Redis by {PIPELINE}, its quickest", [figures["nbi", n] / piped], target)


def lmdb(options, verdicts):
    """A table on NVM used by one PE, beside LMDB in one process: in memory, and four times as large as the memory that
    either may use.  Neither makes anything durable meanwhile."""
    figures = Figures()
    counts, large, limit = [10000, 100000], options.large, options.large * LARGE_VALUE // 4
    lines = {"get": "get", "update": "put", "LMDB get": "LMDB: get", "LMDB put": "LMDB: put",
             "LMDB put_together": "LMDB: put, 1000 in a transaction"}
    with tempfile.TemporaryDirectory(prefix="atoll-kv.", dir=options.dir) as folder:
        program = os.path.join(folder, "lmdb_kv")
        built = subprocess.run(["cc", "-O2", os.path.join(HERE, "lmdb_kv.c"), "-o", program, "-llmdb", "-lpthread"],
                               capture_output=True, text=True)
        if built.returncode != 0:
            sys.exit(f"compare_kv.py: cannot build lmdb_kv (Debian: liblmdb-dev): {built.stderr.strip()}")

        def beside(count, value, below=0, **variables):
            with tempfile.TemporaryDirectory(dir=folder) as place, contextlib.ExitStack() as group:
                limited = group.enter_context(memory_group.memory_group(below)) if below else []
                larger = ["larger"] if below else []
                for line in arguments.output([*limited, program, place, count, value, *larger], 600).splitlines():
                    figures.note(("LMDB " + line.split()[0], count, value), float(line.split()[1]))
            for row in run(options, 1, 1, "--kernel", "get,update", "--elements", count, "--value", value, folder=folder,
                           **variables):
                figures.note((row["what"], row["elements"], value), row["ns"])

        for _ in range(options.rounds):
            for count in counts:
                beside(count, options.value)
            beside(large, LARGE_VALUE, limit, SHMEM_NVM_PAGE="16k", SHMEM_NVM_CACHE=str(limit))
    print(f"\nTables on NVM, one process, ns, values of {options.value} bytes, all in memory\n{'':<40}" +
          "".join(f"{n:>10}" for n in counts))
    for what, said in lines.items():
        print(f"{said:<40}" + "".join(f"{figures[what, n, options.value]:>10.4g}" for n in counts))
    print(f"\nThe same of {large} elements of {LARGE_VALUE} bytes with {plots.label(limit)} of memory")
    for what, said in lines.items():
        print(f"{said:<40}{figures[what, large, LARGE_VALUE]:>10.4g}")
    for what in ("get", "update"):
        theirs = {"get": "LMDB get", "update": "LMDB put"}[what]
        print(f"LMDB / table on NVM, {lines[what]}: {figures[theirs, large, LARGE_VALUE] / figures[what, large, LARGE_VALUE]:.2f}")


EXPERIMENTS = {"targets": targets, "single": single, "batch": batch, "scale": scale, "nvm": nvm, "paper": paper, "redis": redis, "lmdb": lmdb}
PEERS = ("redis", "lmdb")  # other people's programs


def parse():
    parser = arguments.Parser(__doc__)
    parser.add_argument("--bin", type=arguments.folder("oshrun", "shmem_bench"), required=True,
                        help="folder of oshrun and shmem_bench")
    experiments.add_options(parser, EXPERIMENTS, [name for name in EXPERIMENTS if name not in PEERS])
    parser.add_argument("--dir", default="/var/tmp", help="where nvm makes its files (default /var/tmp)")
    parser.add_argument("--redis", action="store_true", help="compare with a Redis server, too")
    parser.add_argument("--inner", type=arguments.whole, default=5, help="rounds within a run (default 5)")
    parser.add_argument("--seconds", type=arguments.seconds, default=0.05, help="length of a round (default 0.05)")
    parser.add_argument("--elements", type=arguments.several, default=[1000, 10000, 100000, 1000000],
                        help="of single: of each PE, with commas (default 1000,10000,100000,1000000)")
    parser.add_argument("--batches", type=arguments.several, default=[1, 4, 16, 64, 256, 1024, 4096],
                        help="keys of a call, with commas (default 1,4,16,64,256,1024,4096)")
    parser.add_argument("--pes", type=arguments.whole, default=os.cpu_count(), help="of scale (default: the cores)")
    parser.add_argument("--weak", type=arguments.several, default=[2, 4], help="PEs of Figure 3, with commas (default 2,4)")
    parser.add_argument("--values", type=arguments.several, default=[8, 64, 1024],
                        help="bytes of a value in Figure 4, with commas (default 8,64,1024)")
    parser.add_argument("--engines", type=lambda text: text.split(","), default=[None],
                        help="values of SHMEM_KV_MATCH for paper, with commas (default: as it is)")
    parser.add_argument("--value", type=arguments.whole, default=8, help="bytes of a value beside Redis (default 8)")
    parser.add_argument("--redis-elements", type=arguments.whole, default=100000, help="beside Redis (default 100000)")
    parser.add_argument("--growth", type=arguments.whole, default=10000000,
                        help="of targets: elements to which a table grows (default 10000000)")
    parser.add_argument("--wait", type=arguments.seconds, default=2, help="of targets: seconds that a get waits (default 2)")
    parser.add_argument("--large", type=arguments.whole, default=40000,
                        help="elements of lmdb's table that memory has no room for (default 40000)")
    parser.add_argument("--heap", type=arguments.size, default=512 * MI, help="symmetric heap of a PE (default 512m)")
    options = parser.parse_args()
    if options.redis and "redis" not in options.only:
        options.only.append("redis")
    missing = [name for name in ("redis-server", "redis-benchmark") if shutil.which(name) is None]
    if "redis" in options.only and missing:
        parser.error(f"there is no {missing[0]} (Debian: redis-server)")
    return options


if __name__ == "__main__":
    sys.exit(experiments.run(parse(), EXPERIMENTS))
