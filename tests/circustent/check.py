#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check.py TOOL BIN FAKE

Runs tools/circustent with a program whose figures are known (fake.c), and compares table, data and picture with them.
Without gnuplot there is no picture, and that is said.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

tool, folder, fake = sys.argv[1:]
PATTERNS = ("RAND", "STRIDE1", "STRIDEN", "PTRCHASE", "CENTRAL", "SG", "SCATTER", "GATHER")


def run(work, *arguments, program=fake, **variables):
    # SHMEM_AMO of this environment is not that of the test.
    environment = {name: value for name, value in os.environ.items() if name != "SHMEM_AMO"}
    return subprocess.run([tool, "--bin", folder, "--out", work / "out", "--rounds", "1", *arguments, program],
                          env=dict(environment, **variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=100, check=False)


def expect(condition, what, result):
    if not condition:
        sys.exit(f"{what}; exit code {result.returncode}\n{result.stdout}\n{result.stderr}")


def rows(result):
    """{kernel: cells} for each number of PEs."""
    tables = {}
    for line in result.stdout.splitlines():
        words = line.split()
        if len(words) > 1 and words[1] == "PEs,":
            table = tables.setdefault(int(words[0]), {})
        elif words and (words[0] == "geomean" or words[0].endswith(("_ADD", "_CAS"))):
            key = " ".join(words[:2]) if words[0] == "geomean" else words[0]
            table[key] = words[len(key.split()):]
    return tables


def every_kernel(work):
    result = run(work, "--virtual-nodes", "0")
    expect(result.returncode == 0, "failed", result)
    right = {f"{pattern}_{kind}": [cell] for kind, cell in (("ADD", "2000"), ("CAS", "2e+04")) for pattern in PATTERNS}
    expect(rows(result) == {2: right}, f"{rows(result)} instead of {right}", result)


def every_column(work):
    peer = f"twin|{fake}|{folder}/oshrun -n {{n}}"
    result = run(work, "-n", "2,4", "--kernels", "RAND_ADD,GATHER_CAS", "--peer", peer)
    expect(result.returncode == 0, "failed", result)
    right = {}
    for pes, cells in ((2, ("2000", "2", "4", "2e+04", "20", "40")), (4, ("4000", "4", "8", "4e+04", "40", "80"))):
        right[pes] = {"RAND_ADD": [cells[0], cells[0], "1.00", cells[1], cells[2], "2.00"],
                      "GATHER_CAS": [cells[3], cells[3], "1.00", cells[4], cells[5], "2.00"]}
        right[pes].update({f"geomean {kind}": ["1.00", "2.00"] for kind in ("ADD", "CAS", "all")})
    expect(rows(result) == right, f"{rows(result)} instead of {right}", result)
    data = (work / "out.dat").read_text(encoding="utf-8")
    expect(data.count("\nGATHER_CAS 20 20 0.02 0.04\n") == 1 and data.count("\nRAND_ADD 4 4 0.004 0.008\n") == 1,
           f"data: {data}", result)
    if shutil.which("gnuplot"):
        picture = (work / "out.svg").read_text(encoding="utf-8")
        for text in ("<svg", "</svg>", "2 PEs", "4 PEs", "GATHER_CAS", "2 nodes offload", "twin"):
            expect(text in picture, f"'{text}' is not in the picture", result)
    else:
        expect("gnuplot-nox" in result.stderr, "does not say that gnuplot is missing", result)


def without_gnuplot(work):
    """A PATH with what the tool needs, and no gnuplot."""
    path = work / "path"
    path.mkdir()
    for name in ("env", "python3", "sh", "readlink", "dirname", "basename", "sed"):
        (path / name).symlink_to(sys.executable if name == "python3" else shutil.which(name))
    result = run(work, "--kernels", "SG_ADD", "--virtual-nodes", "0", PATH=str(path))
    expect(result.returncode == 0, "failed", result)
    expect(result.stderr.count("\n") == 1 and "gnuplot-nox" in result.stderr, "not one line about gnuplot", result)
    expect("SG_ADD 2" in (work / "out.dat").read_text(encoding="utf-8"), "no data", result)


def failures(work):
    result = run(work, "--kernels", "RAND_ADD,SG_ADD,SG_CAS", "--virtual-nodes", "0", "--timeout", "2",
                 FAKE_FAILS="SG_ADD", FAKE_HANGS="SG_CAS")
    expect(result.returncode == 1, "a failure goes unnoticed", result)
    table = rows(result)[2]
    cells = [table[name] for name in ("RAND_ADD", "SG_ADD", "SG_CAS")]
    expect(cells == [["2000"], ["-"], ["-"]], f"cells {cells}", result)
    expect("FAILED SG_ADD, 2 PEs, on node: exit code 3" in result.stderr, "SG_ADD is not named", result)
    expect("FAILED SG_CAS, 2 PEs, on node: not done after 2 s" in result.stderr, "SG_CAS is not named", result)


def words_of_failures(work):
    """What the program said last, not what oshrun says of its end."""
    result = run(work, "--kernels", "SG_ADD,SG_CAS", "--virtual-nodes", "0", FAKE_MUTE="SG_ADD", FAKE_TELLS="SG_CAS")
    expect(result.returncode == 1, "a failure goes unnoticed", result)
    expect("FAILED SG_ADD, 2 PEs, on node: printed no GAMS, but: fake: no time\n" in result.stderr, "SG_ADD", result)
    expect("FAILED SG_CAS, 2 PEs, on node: exit code 4: fake: library " in result.stderr, "SG_CAS", result)


def library_of_bin(work):
    """Measured is the library beside oshrun, not the one that the program was linked with."""
    for name in ("bin", "lib"):
        (work / name).mkdir()
    for name in ("oshrun", "oshcc"):
        shutil.copy(pathlib.Path(folder) / name, work / "bin")
    for path in (pathlib.Path(folder).parent / "lib").glob("libatoll.so*"):
        shutil.copy(path, work / "lib")
    result = run(work, "--kernels", "SG_ADD", "--virtual-nodes", "0", "--bin", work / "bin", FAKE_TELLS="SG_ADD")
    expect(f"fake: library {work}/lib/libatoll.so" in result.stderr, "another library", result)


def refusals(work):
    """One line with what is wrong, exit code 2, and nothing is measured."""
    for words, *arguments in (
            ("there is no oshrun in /nowhere", "--bin", "/nowhere"),
            ("'0' is no whole number of at least 1", "-n", "0"),
            ("'2x' is no whole number of at least 1", "-n", "2x"),
            ("'0' is no whole number of at least 1", "--rounds", "0"),
            ("'-1' is no whole number of at least 0", "--virtual-nodes=-1"),
            ("nothing to measure with -n 2: one of --virtual-nodes must be at most 2", "--virtual-nodes", "4"),
            ("'RAND' is none of RAND_ADD, ", "--kernels", "RAND"),
            ("'' is none of native, offload, auto", "--modes="),
            ("cannot write /nowhere/x.dat", "--out", "/nowhere/x"),
            ("there is no program '/nowhere/peer'", "--peer", "twin|/nowhere/peer|env"),
            ("the launcher 'run -n {pes}'", "--peer", f"twin|{fake}|run -n {{pes}}"),
            ("unrecognized arguments", "--nonsense")):
        result = run(work, *arguments)
        expect(result.returncode == 2 and not result.stdout, f"{arguments} are not refused", result)
        expect(words in result.stderr and result.stderr.count("\n") == 1, f"not one line with '{words}'", result)


def no_program(work):
    result = run(work, program=work / "nothing")
    expect(result.returncode == 2, "is not refused", result)
    expect(result.stderr.count("\n") == 1 and "must be a circustent built" in result.stderr, "not one line", result)


def main():
    for case in (every_kernel, every_column, without_gnuplot, failures, words_of_failures, library_of_bin, refusals,
                 no_program):
        with tempfile.TemporaryDirectory(prefix="atoll-circustent.") as name:
            case(pathlib.Path(name))
    return 0


if __name__ == "__main__":
    sys.exit(main())
