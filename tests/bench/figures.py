#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: figures.py <oshrun> <shmem_bench> <libraries to preload> <atomics, sweeps, kv, nvm, defaults, pools or usage>

The figures of shmem_bench, in JSON and in its tables, where the clock is one of the libraries (clock.c) and says how long
each round has taken: of three rounds in a row one takes 1 ms, one 3 ms, the median, and one 5 ms; on PE 1 twice as long,
and so on."""
import json
import math
import os
import re
import subprocess
import sys
import tempfile

oshrun, bench, libraries = sys.argv[1:4]
folder = tempfile.mkdtemp(prefix="bench_figures.", dir=".")
NVM = [f"SHMEM_NVM_DIR={folder}", "SHMEM_NVM_PAGE=16k", "SHMEM_NVM_CACHE=256k", "SHMEM_NVM_SIZE=16m"]
IN_TURN, BY_THREE, ODD_AND_EVEN = "1:1,5,3", "3:1,5,3", "2:1,20,3,10,2,30"
MEDIAN = 3e-3
FIRST_TRY = 64  # operations; a round of them takes long enough for --seconds 0.001
QUICK = ["--seconds", "0.001", "--rounds", "3"]


def run(pes, ticks, *arguments, settings=(), code=0):
    """What shmem_bench says, by lines; where it was measured is left out."""
    variables = [f"CLOCK={ticks}", f"LD_PRELOAD={libraries}", *settings]
    options = [word for variable in variables for word in ("-x", variable)]
    done = subprocess.run([oshrun, "--timeout", "60", "-n", *pes.split(), *options, bench, *arguments],
                          capture_output=True, text=True, check=False, timeout=100)
    if done.returncode != code:
        sys.exit(f"{arguments}: exit code {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    said = (done.stdout if code == 0 else done.stdout + done.stderr).splitlines()
    return [line for line in said if not line.startswith(("# ", '{"environment"'))]


def expect(found, expected, what):
    if found != expected:
        sys.exit(f"{what}:\n found    {found}\n expected {expected}")


def figure(number, digits=4):
    return f"{number:.{digits}g}"


def close(found, expected):
    """Numbers may differ by what rounding does to four digits."""
    try:
        return math.isclose(float(found), float(expected), rel_tol=5e-4)
    except ValueError:
        return found == expected


def expect_rows(pes, ticks, *arguments, rows, settings=()):
    """Lines of JSON.  A row may lack nvm_reads, which may differ by a page."""
    of_all = {"figure", "unit", "better", "samples"}  # for `compare`
    found = [json.loads(line) for line in run(pes, ticks, *arguments, "--json", settings=settings)]
    expect(len(found), len(rows), f"rows of {arguments}")
    for one, row in zip(found, rows):
        names = {name for name in one if (name != "nvm_reads" or name in row) and name not in of_all}
        if one[one["figure"]] <= 0 or sorted(one.get("samples", [1]))[0] <= 0:
            expect(one, row, f"what compare needs of {arguments}")
        if names != row.keys() or not all(close(one[name], row[name]) for name in row):
            expect(one, row, f"row of {arguments}")


def expect_table(pes, ticks, *arguments, lines, settings=()):
    found = [line.split() for line in run(pes, ticks, *arguments, settings=settings)]
    expected = [line.split() for line in lines]
    if len(found) != len(lines) or not all(len(a) == len(b) and all(map(close, a, b)) for a, b in zip(found, expected)):
        expect(found, expected, f"table of {arguments}")


# ---- atomics: on three PEs

PATTERNS = {"RAND": 1, "STRIDE1": 1, "STRIDEN": 1, "PTRCHASE": 1, "CENTRAL": 1, "SG": 4, "SCATTER": 3, "GATHER": 3}
FORMS = {"ADD": ("blocking", "nonfetching", "nbi"), "CAS": ("blocking", "nbi")}
SMALL = ["--memory", "262144", "--iterations", "2048", "--stride", "3", "--rounds", "3"]


def atomics_rows(count):
    """Kernel, form, atomics of an iteration, and rates: all PEs', the best, the slowest and the quickest PE's.  What all
    take together with the barrier is twice what the slowest PE, PE 2, takes."""
    for pattern, atomics in PATTERNS.items():
        for kind, forms in FORMS.items():
            for form in forms if pattern != "PTRCHASE" else ("blocking",):
                million = count * atomics * 1e-6
                yield (f"{pattern}_{kind}", form, atomics, 3 * million / (6 * MEDIAN), 3 * million / 6e-3,
                       million / (3 * MEDIAN), million / MEDIAN)


def atomics():
    rows = [{"kernel": kernel, "form": form, "pes": 3, "nodes": 1, "amo": "auto", "session": False, "iterations": 1000,
             "atomics": 3000 * each, "mamos": rate, "gams": rate / 1000, "best_mamos": best, "slowest_pe_mamos": slowest,
             "quickest_pe_mamos": quickest, "right": True}
            for kernel, form, each, rate, best, slowest, quickest in atomics_rows(1000)]
    expect_rows("3", BY_THREE, "atomics", *SMALL, "--count", "1000", rows=rows)
    lines = ["3 PEs on 1 node; --memory 262144 --iterations 2048 --stride 3 --distance 1",
             "million atomics a second; median of 3 rounds",
             "kernel form all PEs GAMS best slowest PE quickest PE"]
    for kernel, form, _, rate, *others in atomics_rows(2000):
        lines.append(" ".join([kernel, form, *(figure(x) for x in (rate, rate / 1000, *others))]))
    lines.append("PTRCHASE has only --form blocking, as each step needs the result of the one before; "
                 "--kind cas has no --form nonfetching, as every compare-and-swap fetches.")
    expect_table("3", BY_THREE, "atomics", *SMALL, "--count", "2000", lines=lines)
    one = ["atomics", *SMALL, "--count", "1000", "--pattern", "RAND", "--kind", "add", "--form", "nbi", "--distance", "2"]
    row = dict(rows[2], session=True, nodes=3)
    expect_rows("3 --virtual-nodes 3", BY_THREE, *one, "--session", rows=[row])
    expect(run("3 --virtual-nodes 3", BY_THREE, *one, "--session")[0],
           "3 PEs on 3 nodes, SHMEM_AMO=auto, in a session; --memory 262144 --iterations 2048 --stride 3 --distance 2",
           "heading in a session")


# ---- kv: on two PEs of a node

KV = ["kv", *QUICK, "--elements", "500", "--key", "16", "--value", "24"]


def kv_row(kernel, what, each, **others):
    readers = others.get("readers", 1)
    return {"kernel": kernel, "what": what, "where": "on node", "pes": 2, "nodes": 1, "engine": "default", "elements": 500,
            "key": 16, "value": 24, "batch": 0, "readers": readers, "ns": each, "rate": readers * 1e3 / each, "right": True,
            **others}


def kv():
    alone = MEDIAN * 1e9 / FIRST_TRY
    together = 2 * alone  # the second PE takes twice as long
    batch_of_48 = MEDIAN * 1e9 / 96  # whole batches
    expected = {
        "pingpong": [kv_row("pingpong", what, alone, elements=0, value=value)
                     for what, value in (("put, signal", 24), ("put", 8), ("memory get", 24))],
        "get": [kv_row("get", what, alone) for what in ("get", "get, chained", "get, absent")],
        "threads": [kv_row("threads", "get", alone, ratio=1.0)],
        "nbi": [kv_row("nbi", "get", alone), kv_row("nbi", "get", alone, batch=16, ratio=1.0),
                kv_row("nbi", "get", batch_of_48, batch=48, ratio=1.5)],
        "ycsb": [kv_row("ycsb", what, together, readers=2) for what in (
            "A: half updates", "B: 5 % updates", "C: reads", "D: 5 % inserts", "E: scans", "F: half changes")],
        "insert": [kv_row("insert", "insert", alone)],
        "update": [kv_row("update", "update", alone)],
        "batch": [row for what in ("get", "insert") for row in (
            kv_row("batch", what, alone), kv_row("batch", what, alone, batch=16, ratio=1.0),
            kv_row("batch", what, batch_of_48, batch=48, ratio=1.5))],
        "scale": [kv_row("scale", "get", alone, ratio=1.0), kv_row("scale", "get", together, readers=2, ratio=0.5)],
        "throughput": [kv_row("throughput", "get", together, readers=2)]}
    for kernel, rows in expected.items():
        expect_rows("2", IN_TURN, *KV, "--batch", "16,48", "--kernel", kernel, rows=rows)
    sizes = [kv_row("latency", "get", alone, value=value, elements=elements, engine="bucket")
             for value in (8, 512) for elements in (500, 600)]
    expect_rows("2", IN_TURN, *KV, "--kernel", "latency", "--values", "8,512", "--elements", "500,600", rows=sizes,
                settings=["SHMEM_KV_MATCH=bucket"])
    numbers = f"{figure(alone)} {figure(1e3 / alone)}"
    job = "2 PEs on 1 node; keys of 16 bytes, values of 24; median of 3 rounds"
    heading = "elements value batch readers ns each million/s"
    expect_table("2", IN_TURN, *KV, "--kernel", "batch", "--batch", "48", lines=[
        job, f"batch {heading} times single",
        *(line for what in ("get", "insert") for line in (
            f"{what}, on node 500 24 - 1 {numbers}",
            f"{what}, on node 500 24 48 1 {figure(batch_of_48)} {figure(1e3 / batch_of_48)} 1.5"))])
    expect_table("2", IN_TURN, *KV, "--kernel", "scale", lines=[
        job, f"scale {heading} of linear", f"get, on node 500 24 - 1 {numbers} 1",
        f"get, on node 500 24 - 2 {figure(together)} {figure(2e3 / together)} 0.5"])
    expect_table("2", IN_TURN, *KV, "--kernel", "pingpong", lines=[
        job, f"pingpong {heading}", f"put, signal, on node - 24 - 1 {numbers}", f"put, on node - 8 - 1 {numbers}",
        f"memory get, on node - 24 - 1 {numbers}"])


# ---- nvm: on three nodes of a PE

def nvm_row(kernel, what, pages, rate, each, **others):
    return {"kernel": kernel, "what": what, "pes": 3, "nodes": 3, "nvm": True, "page": 16384, "pool": 16, "pages": pages,
            "rate": rate, "each": each, "right": True, **others}


def nvm():
    arguments = ["nvm", *QUICK, "--memory", "32k"]
    place = "3 --virtual-nodes 3"
    # One by one, by PE 1, whose clock goes twice as fast: 9 ms and one more look, of which the median is 3.
    got = 2 * 12e-3
    rows = [nvm_row("miss", what, 4, 4 * 16384e-6 / got, got * 1e6 / 4)
            for what in ("from NVM", "from home's memory", "from a third node's memory")]
    expect_rows(place, IN_TURN, *arguments, "--kernel", "miss", rows=rows, settings=NVM)
    # By PE 1 and PE 2, until the last has them: 20 ms, and 2 ms when it is done again.
    first, again = 3 * 20e-3, 3 * 2e-3
    rows = [nvm_row("gets", what, 8, 16 * 16384e-6 / took, took * 1e6 / 8)
            for what, took in (("sequential", first), ("sequential, again", again), ("random", first), ("random, again", again))]
    expect_rows(place, ODD_AND_EVEN, *arguments, "--kernel", "gets", rows=rows, settings=NVM)
    puts = 3 * MEDIAN
    rows = [nvm_row("sharing", what, 1, 3e-3 * FIRST_TRY / puts, puts * 1e6 / FIRST_TRY)
            for what in ("put, barrier", "put, quiet", "puts")]
    expect_rows(place, IN_TURN, *arguments, "--kernel", "sharing", rows=rows, settings=NVM)
    # One pass over 32 KiB, by pieces of 4 KiB or by words: in memory in 2 ms, in the heap on NVM in 20 ms.
    cached, plain = 3 * 20e-3, 3 * 2e-3
    rows = [nvm_row("cached", what, 2, 3 * 32768e-6 / cached, cached * 1e9 / calls, beside=plain * 1e9 / calls)
            for what, calls in (("get", 8), ("put", 8), ("load", 4096), ("store", 4096))]
    expect_rows(place, ODD_AND_EVEN, *arguments, "--kernel", "cached", rows=rows, settings=NVM)

    job = "3 PEs on 3 nodes, on NVM; pages of 16384 bytes, 16 of a node in memory; median of 3 rounds"
    expect_table(place, ODD_AND_EVEN, *arguments, "--kernel", "cached", settings=NVM, lines=[
        job, "cached, 2 pages MB/s ns in memory ns",
        *(" ".join([row["what"], figure(row["rate"]), figure(row["each"]), figure(row["beside"]), "ratio 10.00"])
          for row in rows)])
    expect_table(place, IN_TURN, *arguments, "--kernel", "sharing", settings=NVM, lines=[
        job, "sharing, 1 page 1000 puts/s us/put",
        *(f"{what} {figure(3e-3 * FIRST_TRY / puts)} {figure(puts * 1e6 / FIRST_TRY)}"
          for what in ("put, barrier", "put, quiet", "puts"))])
    lines = run(place, IN_TURN, *arguments, "--kernel", "miss", settings=NVM)
    expect(" ".join(lines[1].split()), "miss, 4 pages MB/s us/page NVM reads", "heading of miss")
    expect(lines[2].split()[:4], ["from", "NVM", figure(4 * 16384e-6 / got), figure(got * 1e6 / 4)], "row of miss")


# ---- rma, as of all that is measured by size: on two PEs, of which PE 0 measures

def sweeps():
    """Four steps take 3, 5 and 1 ms, after the two tries that find their number; single steps likewise."""
    start = ["rma", *QUICK, "--size", "8", "--kind"]
    of_put, of_nbi = 3000 / 4, 3000 / 4 / 5
    rows = [{"kernel": "rma", "what": what, "pes": 2, "nodes": 1, "bytes": 8, "step": step, "us": us, "rate": 1e6 / us,
             "mb_s": 8 / us, "p50": 3000 / step, "p99": 5000 / step, "p99_9": 5000 / step, "longest": 5000 / step, "right": True}
            for what, step, us in (("put", 1, of_put), ("put_nbi", 5, of_nbi))]
    expect_rows("2", IN_TURN, *start, "put", rows=rows[:1])
    expect_rows("2", IN_TURN, *start, "put_nbi", "--window", "5", rows=rows[1:])
    row = json.loads(run("2", IN_TURN, *start, "put", "--json")[0])
    expect(row["samples"], [750, 1250, 250], "samples")
    expect_table("2", IN_TURN, *start, "put", lines=[
        f"put 8 {figure(of_put)} 3000 5000 5000 5000 {figure(8 / of_put)} {figure(1e6 / of_put)}"])


# ---- What is measured where nothing is said

def defaults():
    expect(run("2", BY_THREE, "atomics", "--pattern", "CENTRAL", "--count", "10")[:2],
           ["2 PEs on 1 node; --memory 8388608 --iterations 65536 --stride 9 --distance 1",
            "million atomics a second; median of 3 rounds"], "defaults of atomics")
    # The first try takes 2 ms of the 20 ms that a round should take.
    found = json.loads(run("1", "3:1,20,20", "atomics", "--pattern", "RAND", "--kind", "add", "--form", "nbi", "--json")[0])
    expect(found["iterations"], FIRST_TRY * 11 + 1, "iterations where a round takes the usual time")
    alone = ["kv", "--seconds", "0.001"]
    expect(run("1", IN_TURN, *alone, "--kernel", "pingpong"),
           ["1 PE on 1 node; keys of 8 bytes, values of 8; median of 5 rounds",
            " ".join(["pingpong".ljust(26), " elements   value  batch  readers      ns each    million/s"])], "defaults of kv")

    def kv_rows(kernel, *names):
        lines = run("1", IN_TURN, *alone, "--rounds", "1", "--kernel", kernel, "--json")
        return [tuple(row[name] for name in names) for row in map(json.loads, lines)]
    expect(kv_rows("batch", "elements", "batch"), 2 * [(100000, n) for n in (0, 1, 4, 16, 64, 256, 1024, 4096)], "batches")
    expect(kv_rows("latency", "value", "elements"),
           [(value, n) for value in (8, 64, 1024) for n in (1000, 5000, 10000, 20000, 50000)], "sizes of latency")
    expect(kv_rows("throughput", "elements"), [(n,) for n in (10000, 20000, 30000, 40000, 50000)], "elements of throughput")
    rows = map(json.loads, run("1", "2:5,100,100", "kv", "--rounds", "1", "--elements", "500", "--kernel", "update", "--json"))
    expect([figure(row["ns"]) for row in rows], [figure(5e6 / (FIRST_TRY * 11 + 1))], "a round of the usual time")

    small = ["SHMEM_SYMMETRIC_SIZE=64m"]
    expect([line for line in run("1", "2:1", "nvm", "--dram", "--seconds", "0.001", settings=small) if line[0] != " "],
           ["1 PE on 1 node, all in memory; pages of 262144 bytes; median of 5 rounds",
            *(title.ljust(36) + " ".join([""] + [word.rjust(12) for word in words]) for title, words in (
                ("miss, 64 pages", ("MB/s", "us/page", "NVM reads")), ("gets, 64 pages", ("MB/s", "us/page", "NVM reads")),
                ("sharing, 1 page", ("1000 puts/s", "us/put", "")), ("computing, 64 pages", ("million/s", "% of a core", "")),
                ("faults, 64 pages", ("1000/s", "us/access", "by the pager")),
                ("cached, 1 page", ("MB/s", "ns", "in memory ns"))))],
           "defaults of nvm")
    rows = [json.loads(line) for line in run("1", "2:5,100,100", "nvm", "--dram", "--rounds", "1", "--json", "--kernel", "sharing")]
    expect(figure(rows[0]["each"]), figure(5e3 / (FIRST_TRY * 11 + 1)), "a round of the usual time")
    rows = [json.loads(line) for line in run("1", "2:1", "nvm", "--dram", "--seconds", "0.001", "--json", "--kernel", "cached")]
    expect([figure(row["each"]) for row in rows], [figure(1e6 / n) for n in (64, 64, 32768, 32768)], "256k, by 4k or by words")


def usage():
    """Options and their defaults as --help has them: the defaults are those of the test above.  It is what was asked for;
    what is wrong is said on stderr."""
    expect(run("2", IN_TURN, "--help"),
           ["usage: oshrun -n 4 [--virtual-nodes 2] shmem_bench COMMAND [options]",
            "  rma        puts and gets, by size",
            "  signal     messages there and back, by size",
            "  coll       collective operations, by size",
            "  lock       locks, wanted by one and by all",
            "  init       starting the library, and what is made then",
            "  atomics    atomic operations in eight access patterns",
            "  kv         the key/value store: gets, inserts, batches, how they scale, by the number of elements",
            "  nvm        pages of the heap on NVM: misses, gets, false sharing, and what is in memory",
            "  paging     memory on memory servers: faults, the micro-benchmark of the paper, STREAM",
            "  compare    what two runs with --json have measured; without a job",
            "'shmem_bench COMMAND --help' has the options."], "usage")
    options = {
        "atomics": {"pattern": "all", "kind": "both", "form": "all three", "memory": "8m", "iterations": "65536", "stride": "9",
                    "distance": "1", "seconds": "0.02", "count": None, "rounds": "3", "session": None, "json": None, "plot": None},
        "kv": {"kernel": None, "elements": None, "key": "8", "value": "8", "values": "8,64,1024", "batch": "1,4,16,64,256,1024,4096",
               "seconds": "0.05", "rounds": "5", "threads": "1", "depth": "16", "load": "0.5,0.75,0.9,0.95", "churn": "1000000",
               "zipf": "0.99", "ycsb": "A,B,C,D,E,F", "wait": "0.2", "json": None, "plot": None},
        "nvm": {"kernel": None, "pages": None, "page": "SHMEM_NVM_PAGE, else 256k", "pool": "by SHMEM_NVM_CACHE", "bytes": "1", "size": "4k",
                "memory": "256k", "seconds": "0.05", "rounds": "5", "dram": None, "json": None, "plot": None}}
    for command, expected in options.items():
        found = {}
        for option in re.split("\n  --", "\n".join(run("2", IN_TURN, command, "--help")))[1:]:
            name = re.match(r"\w+", option)[0]
            found[name] = (re.search(r"\(default:? ([^:;()]+)\)", option) or [None, None])[1] if expected.get(name) else None
        expect(found, expected, f"options of {command}")
        for wrong in ([], ["x"], [command, "--rounds", "0"]):
            done = subprocess.run([oshrun, "-n", "1", bench, *wrong], capture_output=True, text=True, check=False, timeout=30)
            expect((done.returncode, done.stdout), (2, ""), f"{wrong} says nothing but on stderr")


def pools():
    """Pages in a node's memory as the library has them, and what is too much."""
    for pes, pool in (("2", 16), ("4", 32), ("4 --virtual-nodes 2", 16)):
        said = run(pes, "2:1", "nvm", "--kernel", "sharing", "--seconds", "0.001", settings=NVM)[0]
        expect(f", {pool} of a node in memory;" in said, True, said)
    said = run("2", "2:1", "nvm", "--kernel", "sharing", "--seconds", "0.001", "--pool", "24", "--page", "8k", settings=NVM)[0]
    expect("pages of 8192 bytes, 24 of a node in memory;" in said, True, said)
    for page, pages in (("256k", 512), ("64m", 2), ("256m", 1)):
        said = run("1", "2:1", "nvm", "--dram", "--kernel", "miss", "--pool", "100000", "--page", page, code=1,
                   settings=["SHMEM_SYMMETRIC_SIZE=4m"])
        expect(said[1].split(" page")[0], f"miss, {pages}", "at most 128 MiB, and at least a page")
        expect(f"has no room for {pages} page{'s' * (pages > 1)} of " in said[2], True, said)


try:
    {"atomics": atomics, "sweeps": sweeps, "kv": kv, "nvm": nvm, "defaults": defaults, "pools": pools, "usage": usage}[sys.argv[4]]()
finally:
    os.rmdir(folder)
