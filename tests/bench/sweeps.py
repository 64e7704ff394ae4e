#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: sweeps.py <oshrun> <shmem_bench> <Release, or how else it is built> <rma, signal, coll, lock, init, wrong, options, progress, plot or compare>

What shmem_bench measures by size, what it says of where that was, and how two runs are compared."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.dom.minidom

oshrun, bench, unfit = sys.argv[1:4]
QUICK = ["--seconds", "0.0005", "--rounds", "3"]
# Kinds, whether they have sizes, and how many operations a step has.
KINDS = {"rma": {"put": (True, 1), "get": (True, 1), "put_nbi": (True, 5), "get_nbi": (True, 5)},
         "signal": {"put_signal": (True, 2), "put_fence_word": (True, 2), "signal_add": (False, 2), "signal_set": (False, 2)},
         "coll": {"barrier": (False, 1), "sync": (False, 1), **{name: (True, 1) for name in (
             "broadcast", "collect", "fcollect", "alltoall", "reduce", "inscan")}},
         "lock": {name: (False, 1) for name in ("alone", "contended", "counter", "test")},
         "init": {name: (False, 1) for name in ("start", "restart", "malloc", "team", "context")}}
ENVIRONMENT = {"command", "date", "host", "kernel", "cpu", "cores", "governor", "pes", "nodes", "provider", "version", "commit",
               "build"}


def fail(what):
    sys.exit(f"FAILED: {what}")


def expect(condition, what):
    if not condition:
        fail(what)


def run(*arguments, pes=("2",), code=0, variables=()):
    options = [word for variable in variables for word in ("-x", variable)]
    done = subprocess.run([oshrun, "--timeout", "60", "-n", *pes, *options, bench, *arguments], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False, timeout=100)
    expect(done.returncode == code, f"{arguments}: exit code {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done


def rows_of(said):
    first, *rows = map(json.loads, said.splitlines())
    return first["environment"], rows


def check(command, pes, nodes):
    place = [str(pes)] + (["--virtual-nodes", str(nodes)] if nodes > 1 else [])
    more = ["--size", "24,4k", "--window", "5"] if any(sized for sized, _ in KINDS[command].values()) else []
    environment, rows = rows_of(run(command, *QUICK, *more, "--json", pes=place).stdout)
    expect(set(environment) == ENVIRONMENT, environment)
    expect((environment["pes"], environment["nodes"], environment["command"]) == (pes, nodes, command), environment)
    expect(all(environment[name] != "" for name in ENVIRONMENT), environment)
    expect(environment["provider"].startswith("libfabric " if nodes > 1 else "none, all PEs share memory"), environment)
    wanted = [(name, size) for name, (sized, _) in KINDS[command].items() for size in ((24, 4096) if sized else (0,))
              if name != "test" or pes > 1]
    expect([(row["what"], row["bytes"]) for row in rows] == wanted, [(row["what"], row["bytes"]) for row in rows])
    for row in rows:
        step = KINDS[command][row["what"]][1]
        expect(row["right"] is True and row["kernel"] == command and (row["pes"], row["nodes"]) == (pes, nodes), row)
        expect(row["step"] == (1 if step == 2 and pes == 1 else step), row)
        samples = sorted(row["samples"])
        expect(len(samples) == (1 if row["what"] == "start" else 3) and samples[0] > 0, row)
        expect(abs(row["us"] - samples[len(samples) // 2]) <= 1e-5 * row["us"] and row["us"] == row[row["figure"]], row)
        expect(0 < row["p50"] <= row["p99"] <= row["p99_9"] <= row["longest"], row)
        at_once = row["rate"] * row["us"] / 1e6
        pairs = max(pes // 2, 1)
        wanted_at_once = {"rma": pairs, "signal": pairs, "coll": 1, "init": 1,
                          "lock": pes - 1 if row["what"] == "test" else pes}[command]
        expect(abs(at_once - wanted_at_once) < 1e-3, (row, wanted_at_once))
        expect(abs(row["mb_s"] - row["rate"] * row["bytes"] * 1e-6) <= 1e-4 * row["mb_s"], row)


def kernel(command):
    check(command, 2, 1)
    check(command, 2, 2)
    check(command, 1, 1)
    said = run(command, *QUICK, "--kind", next(iter(KINDS[command]))).stdout
    heading = next(line for line in said.splitlines() if line.startswith("# what"))
    expect(heading.split() == "# what size latency us p50 p99 p99.9 longest MB/s messages/s".split(), said)
    for words in ("# shmem_bench " + command, "pes 2; nodes 1", "version ", "commit ", "build ", "governor ", "cores ", "provider "):
        expect(words in said, f"{words} in {said}")
    expect(("WARNING: built" in said) == (unfit != "Release"), said)


def options():
    for arguments, words in ((["rma", "--kind", "put,none"], "--kind must be put, get, put_nbi, get_nbi, or several with commas, not"),
                             (["rma", "--size", "8,x"], "--size must be bytes such as"),
                             (["rma", "--size", "2g"], "--size must be bytes such as"), (["lock", "--size", "8"], "--size means nothing"),
                             (["rma", "--window", "4097"], "--window must be"), (["coll", "--rounds", "0"], "--rounds must be"),
                             (["rma", "--plot", ""], "--plot must be the name of a file")):
        done = run(*arguments, code=2)
        expect(words in done.stderr and done.stdout == "", (arguments, done.stdout, done.stderr))
    done = run("rma", *QUICK, "--size", "1g", code=1, variables=["SHMEM_SYMMETRIC_SIZE=64m"])
    expect("has no room for 1073741824 bytes; take a smaller --size" in done.stderr, done.stderr)
    for command in (*KINDS, "atomics", "kv", "nvm", "paging"):
        said = run(command, "--help", pes=("1",)).stdout
        expect(said.startswith("usage: oshrun ") and "--json" in said and "--plot FILE" in said, said)
        for kind in KINDS.get(command, ()):
            expect(re.search(rf"\b{kind}\b", said), f"{kind} in {said}")
    alone = subprocess.run([bench, "--help"], capture_output=True, text=True, check=True, timeout=30,
                           env={**os.environ, "SHMEM_MAPPER": "nonsense"})  # no library is started for it
    expect("compare" in alone.stdout, alone.stdout)


def progress():
    """On the terminal, while rows go to a file."""
    with tempfile.TemporaryDirectory() as folder:
        rows = pathlib.Path(folder, "rows.json")
        command = f"'{oshrun}' -n 2 --timeout 60 '{bench}' rma {' '.join(QUICK)} --size 8,16 --kind put,get --json >'{rows}'"
        done = subprocess.run(["script", "-qec", command, "/dev/null"], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False, timeout=100)
        expect(done.returncode == 0, done.stdout)
        for step in range(1, 5):
            expect(f"shmem_bench rma: {step} of 4, " in done.stdout, done.stdout)
        expect("4 of 4, get, 16 bytes" in done.stdout and done.stdout.rstrip("\n").endswith("\x1b[K"), repr(done.stdout))
        expect(len(rows_of(rows.read_text())[1]) == 4, rows.read_text())
    done = run("rma", *QUICK, "--size", "8", "--kind", "put", "--json")
    expect("of 1" not in done.stdout + done.stderr, "no progress where nobody looks")


def plot():
    with tempfile.TemporaryDirectory() as folder:
        for arguments, lines, points in ((["rma", *QUICK, "--size", "8,64,512"], 4, 12),
                                         (["atomics", "--count", "10", "--rounds", "1", "--pattern", "RAND"], 5, 5)):
            picture = pathlib.Path(folder, "a.svg")
            run(*arguments, "--plot", str(picture))
            document = xml.dom.minidom.parse(str(picture))
            expect(len(document.getElementsByTagName("polyline")) == lines, picture.read_text())
            circles = document.getElementsByTagName("circle")
            expect(len(circles) == points, picture.read_text())
            expect(all(70 <= float(one.getAttribute("cx")) <= 630 and 40 <= float(one.getAttribute("cy")) <= 400 for one in circles),
                   picture.read_text())
            names = [one.firstChild.data for one in document.getElementsByTagName("text")]
            expect(any(name.startswith(("put_nbi", "RAND_CAS nbi")) for name in names), names)
        done = run("rma", *QUICK, "--size", "8", "--kind", "put", "--plot", folder + "/none/a.svg", code=1)
        expect("cannot write the picture to" in done.stderr, done.stderr)


def wrong():
    """Of operations that go wrong the rows say so, and the exit code."""
    library = sys.argv[5]
    for what, arguments in (("sum", ["coll", "--kind", "reduce"]), ("short", ["rma", "--kind", "put"]),
                            ("got_other", ["rma", "--kind", "get_nbi"]), ("taken", ["lock", "--kind", "test"]),
                            ("kept", ["lock", "--kind", "counter"]), ("short", ["signal", "--kind", "put_fence_word"])):
        done = run(*arguments, *QUICK, *(["--size", "24"] if arguments[0] != "lock" else []), code=1,
                   variables=[f"WRONG={what}", f"LD_PRELOAD={library}"])
        expect("WRONG" in done.stdout, (what, done.stdout))
        expect("results are wrong" in done.stderr, (what, done.stderr))


# ---- compare

def file_of(path, rows, better="less", environment=None):
    """A file as --json writes it: rows are (what, samples)."""
    lines = [json.dumps({"environment": {"host": "here", "pes": 2, "commit": "one", **(environment or {})}})]
    for what, samples in rows:
        median = sorted(samples)[len(samples) // 2]
        lines.append(json.dumps({"kernel": "rma", "what": what, "bytes": 8, "figure": "us", "unit": "us", "better": better,
                                 "samples": samples, "us": median, "rate": 1e6 / median, "right": True}))
    pathlib.Path(path).write_text("\n".join(lines) + "\n")


def compared(*arguments, code=0):
    done = subprocess.run([bench, "compare", *map(str, arguments)], capture_output=True, text=True, check=False, timeout=30,
                          env={**os.environ, "SHMEM_MAPPER": "nonsense"})  # no job, and no library
    expect(done.returncode == code, f"compare: exit code {done.returncode}, not {code}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def verdicts(said):
    return {line.split()[1]: re.search(r"%\s+(\S+)  (.*)$", line).groups() for line in said.splitlines() if line.startswith("rma ")}


def compare():
    os.chdir(tempfile.mkdtemp())
    ten = [10 + i / 100 for i in range(10)]
    slow = [11 + i / 100 for i in range(10)]
    near = [10.005 + i / 100 for i in range(10)]   # overlaps with ten
    little = [10.095 + i / 100 for i in range(10)]  # all of it above ten, but for less than 2 %
    file_of("a", [("same", ten), ("slower", ten), ("faster", slow), ("near", ten), ("little", ten), ("few", ten[:3])])
    file_of("b", [("same", ten), ("slower", slow), ("faster", ten), ("near", near), ("little", little), ("few", slow[:3])],
            environment={"commit": "two"})
    said = compared("a", "b", code=1)
    expect({name: words for name, (_, words) in verdicts(said).items()} == {
        "same": "same", "slower": "slower", "faster": "faster", "near": "same", "little": "same",
        "few": "too few rounds to tell"}, said)
    # 2 of the 184756 orders of 10 and 10; 2 of the 20 of 3 and 3.
    expect(verdicts(said)["slower"][0] == "1.1e-05" and verdicts(said)["few"][0] == "0.1", said)
    expect("# commit: one, then two" in said and "# host" not in said, said)
    expect("verdict: slower; of 6 rows 1 faster, 1 slower, 1 with too few rounds" in said, said)
    said = compared("b", "a", code=1)
    expect(verdicts(said)["slower"][1] == "faster" and verdicts(said)["faster"][1] == "slower", said)
    said = compared("--threshold", "0.5", "a", "b", code=1)
    expect(verdicts(said)["little"][1] == "slower", said)
    expect(verdicts(compared("--threshold", "50", "a", "b"))["slower"][1] == "same", "a threshold of 50 %")
    expect("verdict: no change" in compared("a", "a"), "a file beside itself")

    # More is better: the same figures the other way around.
    file_of("a", [("one", ten)], better="more")
    file_of("b", [("one", slow)], better="more")
    expect(verdicts(compared("a", "b"))["one"][1] == "faster", "more is better")
    expect("verdict: faster" in compared("a", "b") and compared("b", "a", code=1), "more is better, the other way")

    # Ties, by the normal distribution: U = 12.5 of 25 pairs has p = 1; known p of 5 and 5 without ties: 2 / 252.
    file_of("a", [("ties", [1, 1, 1, 1, 1]), ("five", [1, 2, 3, 4, 5]), ("mixed", [1, 2, 3, 4, 5])])
    file_of("b", [("ties", [1, 1, 1, 1, 1]), ("five", [6, 7, 8, 9, 10]), ("mixed", [1.5, 2.5, 3.5, 4.5, 0.5])])
    said = compared("a", "b", code=1)
    expect([verdicts(said)[name][0] for name in ("ties", "five", "mixed")] == ["1", "0.0079", "0.69"], said)

    # Of a hundred rows of which one looks like a change at p = 0.0079, none is believed; alone it is.
    shuffled = [3, 1, 5, 2, 4]
    many = [(f"row{i}", shuffled) for i in range(99)]
    file_of("a", many + [("odd", [1, 2, 3, 4, 5])])
    file_of("b", many + [("odd", [6, 7, 8, 9, 10])])
    expect("verdict: no change" in compared("a", "b"), "one of a hundred is chance")

    # Commands that write one figure a row: several runs in one file.
    runs = "".join(run("kv", *QUICK, "--elements", "100", "--kernel", "pingpong", "--json").stdout for _ in range(4))
    pathlib.Path("runs").write_text(runs)
    said = compared("runs", "runs")
    expect("verdict: no change; of 3 rows" in said and "0 with too few rounds" in said, said)

    # A file of several runs, rows of other sizes, and files that are none.
    file_of("a", [("one", [v]) for v in ten])
    file_of("b", [("one", [v]) for v in slow] + [("two", ten)])
    said = compared("a", "b", code=1)
    expect(verdicts(said)["one"][1] == "slower" and "1 rows are in one file only" in said, said)
    file_of("c", [("other", ten)])
    expect("no row in common" in compared("a", "c", code=2), "nothing in common")
    for text, words in (("", "has no results"), ("{}", ":1 is no result"), ("{\"figure\": \"us\"}", ":1 is no result"),
                        ("{\"figure\": \"us\", \"us\": \"x\"}", ":1 is no result"), ("{" * 100000, ":1 is no result"),
                        ("{\"figure\": \"us\", \"us\": 1", ":1 is no result"), ("[1]", ":1 is no result"),
                        ("{\"figure\": \"us\", \"us\": 1}} ", ":1 is no result"), ("{\"a\": \"\\", ":1 is no result")):
        pathlib.Path("bad").write_text(text)
        expect(words in compared("a", "bad", code=2), text[:50])
    expect("cannot read 'none'" in compared("none", "a", code=2), "a file that is not there")
    for arguments in ([], ["a"], ["a", "b", "c"], ["--threshold", "x", "a", "b"], ["--nonsense", "a", "b"]):
        expect("usage: shmem_bench compare" in compared(*arguments, code=2), arguments)
    expect("usage: shmem_bench compare" in compared("--help"), "help")


case = sys.argv[4]
if case in KINDS:
    kernel(case)
else:
    {"wrong": wrong, "options": options, "progress": progress, "plot": plot, "compare": compare}[case]()
