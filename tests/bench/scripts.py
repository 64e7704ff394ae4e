#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: scripts.py FOLDER BIN [all]

The scripts of FOLDER that measure: wrong arguments are refused in one line, without a traceback, and what
shmem_bench refuses is passed on.  Some experiments run; with `all`, all do.
"""
import pathlib
import subprocess
import sys
import tempfile

scripts, folder = map(pathlib.Path, sys.argv[1:3])
WHOLE_RUNS = sys.argv[3:] == ["all"]
WHOLE = "is no whole number of at least 1"


def run(script, *arguments, cwd=None):
    return subprocess.run([sys.executable, scripts / script, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=300, check=False, cwd=cwd)


def expect(condition, what, result):
    if not condition:
        sys.exit(f"{what}; exit code {result.returncode}\n{result.stdout}\n{result.stderr}")


def refused(code, words, script, *arguments):
    result = run(script, "--bin", folder, *arguments)
    expect(result.returncode == code and not result.stdout, f"{script} {arguments} is not refused", result)
    expect(words in result.stderr and result.stderr.count("\n") == 1, f"not one line with '{words}'", result)


def wrong_arguments():
    for script in ("compare_atomics.py", "compare_kv.py", "compare_nvm.py", "compare_small.py", "hot_spot.py",
                   "instructions.py"):
        refused(2, f"{script}: argument --bin: there is no oshrun in /nowhere; cmake", script, "--bin", "/nowhere")
        refused(2, WHOLE, script, "--rounds", "0")
        refused(2, "unrecognized arguments", script, "--nonsense")
    refused(2, WHOLE, "hot_spot.py", "-n", "x")
    refused(2, WHOLE, "hot_spot.py", "-n", "2,")
    refused(2, WHOLE, "compare_atomics.py", "-n", "0")
    for numbers in (("-n", "2", "--virtual-nodes", "1"), ("-n", "2", "--virtual-nodes", "4"), ("-n", "3")):
        refused(2, "--virtual-nodes must be 2 or more, and -n a multiple of it", "compare_atomics.py", *numbers)
    for script in ("compare_atomics.py", "compare_kv.py", "compare_nvm.py"):
        refused(2, "must be more than 0", script, "--seconds", "nan")
    refused(2, "'all' is none of pages, gets, mechanisms, sharing, computing, memory, cached", "compare_nvm.py", "--only", "gets,all")
    refused(2, "'all' is none of targets, single, batch, scale, nvm, paper, redis, lmdb", "compare_kv.py", "--only", "batch,all")
    refused(2, WHOLE, "compare_kv.py", "--elements", "1000,")
    refused(2, "/nowhere is no folder for data: No such file or directory", "compare_nvm.py", "--dir", "/nowhere")
    refused(2, "--pool must have room for 16 pages", "compare_nvm.py", "--pool", "1m")
    refused(2, WHOLE, "compare_nvm.py", "--pages", "64k,x")


def without_shmem_bench():
    """What a build of some targets only lacks is named."""
    with tempfile.TemporaryDirectory(prefix="atoll-scripts.") as work:
        (pathlib.Path(work) / "oshrun").symlink_to(folder / "oshrun")
        for script in ("compare_atomics.py", "compare_kv.py", "compare_nvm.py", "hot_spot.py"):
            refused(2, "there is no shmem_bench in ", script, "--bin", work)


def nothing_to_measure():
    for check in ((), ("--check",)):
        refused(1, "nothing to measure: PTRCHASE has only", "compare_atomics.py", "--rounds", "1",
                "--pattern", "PTRCHASE", "--form", "nbi", *check)
    refused(1, "--kind must be add, cas or add,cas, not 'all'", "compare_atomics.py", "--rounds", "1", "--kind", "all")


def what_runs():
    """A bound that is not there is none that is met; and no file is left where one is."""
    selection = ("--rounds", "1", "--seconds", "0.001", "--pattern", "CENTRAL", "--kind", "add", "--form", "nbi")
    with tempfile.TemporaryDirectory(prefix="atoll-scripts.") as work:
        result = run("compare_atomics.py", "--bin", folder, *selection, cwd=work)
        expect(result.returncode == 0 and "CENTRAL_ADD   nbi" in result.stdout, "failed", result)
        result = run("compare_atomics.py", "--bin", folder, *selection, "--check", cwd=work)
        expect(result.returncode == 1 and "no bound is for" in result.stderr, "a check of nothing is met", result)
        expect(not list(pathlib.Path(work).iterdir()), "leaves files", result)


def pages_that_run():
    """Each experiment, its verdicts, and its picture; nothing is left in the folder for data."""
    with tempfile.TemporaryDirectory(prefix="atoll-scripts.", dir=folder.parent) as work:
        data = pathlib.Path(work) / "data"
        data.mkdir()
        result = run("compare_nvm.py", "--bin", folder, "--dir", data, "--rounds", "1", "--inner", "1", "--seconds", "0.001",
                     "--pages", "16k", "--page", "16k", "--pool", "256k", "--readers", "2", "--sharers", "2",
                     *([] if WHOLE_RUNS else ["--only", "pages,gets"]), "--out", pathlib.Path(work) / "figures")
        if "O_DIRECT" in result.stderr:  # this file system has no such files
            return
        expect(result.returncode == 0 and "paper" in result.stdout, "failed", result)
        count, pictures = (18, ("gets", "pages", "sharing")) if WHOLE_RUNS else (4, ("gets", "pages"))
        expect(result.stdout.count(" ok") + result.stdout.count("MISSED") == count, f"not {count} verdicts", result)
        expect(not list(data.iterdir()), "leaves files", result)
        written = sorted(path.name for path in pathlib.Path(work).glob("figures-*.dat"))
        expect(written == [f"figures-{name}.dat" for name in pictures], f"wrote {written}", result)


def kv_that_runs():
    """Each experiment but that with another program's server, its verdicts, and its picture."""
    with tempfile.TemporaryDirectory(prefix="atoll-scripts.") as work:
        result = run("compare_kv.py", "--bin", folder, "--rounds", "1", "--inner", "1", "--seconds", "0.001", "--elements",
                     "1000,2000", "--batches", "1,16", "--pes", "2", "--weak", "2", "--values", "8", "--heap", "64m",
                     "--growth", "10000", "--wait", "0.1", *([] if WHOLE_RUNS else ["--only", "single,batch"]),
                     "--out", pathlib.Path(work) / "figures")
        expect(result.returncode == 0 and ("Figure 3" in result.stdout) == WHOLE_RUNS, "failed", result)
        count = 16 + 5 * (folder.parent / "tests/bin/kv_peers").exists() + 2 * (folder.parent / "tests/kv/kv_pauses").exists()
        if not WHOLE_RUNS:
            count = 6
        expect(result.stdout.count(" ok") + result.stdout.count("MISSED") == count, f"not {count} verdicts", result)
        written = sorted(path.name for path in pathlib.Path(work).glob("figures-*.dat"))
        pictures = ("batch", "paper", "scale", "single") if WHOLE_RUNS else ("batch", "single")
        expect(written == [f"figures-{name}.dat" for name in pictures], f"wrote {written}", result)


def paging_that_runs():
    """Experiments with few pages, and their verdicts.  Needs what is made beside shmem_bench."""
    build = folder.parent
    if not (build / "tests" / "bin" / "bare_fabric").exists():
        return
    result = run("compare_paging.py", "--build", build, "--rounds", "1", "--inner", "1", "--local", "8m", "--threads", "2",
                 "--pages", "1m", "--only", "fault,protocols,triad" if WHOLE_RUNS else "fault,triad")
    expect(result.returncode == 0 and "A5-A6" in result.stdout, "failed", result)
    count = 5 if WHOLE_RUNS else 3
    expect(result.stdout.count(" ok") + result.stdout.count("MISSED") == count, f"not {count} verdicts", result)
    if not WHOLE_RUNS:
        return
    result = run("compare_paging.py", "--build", build, "--rounds", "1", "--inner", "1", "--local", "8m", "--blocks", "3",
                 "--only", "stencil,mechanisms")
    expect(result.returncode == 0 and "without sweeper" in result.stdout, "failed", result)
    expect(result.stdout.count(" ok") + result.stdout.count("MISSED") == 1, "not 1 verdict", result)


def graphs_that_run():
    """A row for each kernel and each kind of update.  Needs the examples."""
    build = folder.parent
    if not (build / "examples" / "styles").exists():
        return
    result = run("compare_graphs.py", "--build", build, "--rounds", "1", "--scale", "6")
    rows = [line.split()[0] for line in result.stdout.splitlines() if line]
    expect(result.returncode == 0 and rows == ["edges/s", "bfs", "pagerank", "sssp", "components", "triangles", "updates/s",
                                               "histogram", "GUPS", "scatter", "inverse"], f"rows {rows}", result)
    result = run("requests.py", "--build", build, "--scale", "8")
    expect(result.returncode == 0 and result.stdout.count("%") == 6 and "cache lines" in result.stdout, "failed", result)


def main():
    for script in ("compare_paging.py", "compare_graphs.py", "requests.py"):
        result = run(script, "--build", "/nowhere")
        expect(result.returncode == 2 and "there is no bin/oshrun in /nowhere" in result.stderr, "is not refused", result)
    for case in (wrong_arguments, without_shmem_bench, nothing_to_measure, what_runs, pages_that_run, kv_that_runs,
                 paging_that_runs, graphs_that_run):
        case()
    return 0


if __name__ == "__main__":
    sys.exit(main())
