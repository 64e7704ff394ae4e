#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Applies small deliberate defects ("mutants") one at a time and reports which of them the tests notice.

usage: tests/mutants/run.py [--tree DIR] [--only REGEX] [--part I/N] [--seconds N] [LIST.toml...]
       tests/mutants/run.py --check [--suite BUILD] [LIST.toml...]

Works in a clone of the last commit (default: build/mutants; it is kept, so a second run builds only what has changed)
with the release preset.  README.md says what the lists hold.  A mutant is noticed if one of its tests fails, or does
not end within --seconds (default 120).  --check only holds the lists against the sources, and, with --suite, against the
tests of a build.  --part 2/3 tries each third
mutant, beginning with the second: each part in a tree of its own, beside the others.

Ends with code 0 if at least 95 % of the mutants are noticed."""
import argparse
import collections
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
NEEDED = 0.95
REQUIRED = {"name", "file", "old", "new"}
ALLOWED = REQUIRED | {"tests", "unnoticeable", "list"}


def load(paths):
    return [dict(entry, list=path.stem) for path in paths for entry in tomllib.loads(path.read_text())["mutant"]]


def faults_of(mutants):
    """What is wrong with the lists, a line each."""
    faults = [f"{name}: {times} mutants have this name"
              for name, times in collections.Counter(m["name"] for m in mutants).items() if times > 1]
    for mutant in mutants:
        if not REQUIRED <= mutant.keys() <= ALLOWED or ("tests" in mutant) == ("unnoticeable" in mutant):
            faults.append(f"{mutant.get('name')}: needs {sorted(REQUIRED)}, and either tests or unnoticeable")
            continue
        source = ROOT / mutant["file"]
        times = source.read_text().count(mutant["old"]) if source.exists() else 0
        if times != 1 or mutant["old"] == mutant["new"]:
            faults.append(f"{mutant['name']}: its old text occurs {times} times in {mutant['file']}, not once")
    return faults


def numbers_of(build, *configuration):
    """The tests of a build: numbers by name.  From a directory of their own, as a list that CTest makes replaces the
    log of tests that run."""
    with tempfile.TemporaryDirectory() as directory:
        (pathlib.Path(directory) / "CTestTestfile.cmake").write_text(f'subdirs("{pathlib.Path(build).resolve()}")\n')
        output = subprocess.check_output(["ctest", *configuration, "-N"], cwd=directory, text=True)
    return {name: number for number, name in re.findall(r"^ *Test +#(\d+): (.*)$", output, re.M)}


def without_tests(mutants, build):
    """Those that no test of a build is for, a line each."""
    names = numbers_of(build, "-C", "listed")
    return [f"{m['name']}: no test has a name like {m['tests']}" for m in mutants
            if "tests" in m and not any(re.search(m["tests"], name) for name in names)]


def descendants(process):
    """Their numbers: CTest's tests have sessions of their own, and outlive it."""
    found = []
    for task in pathlib.Path(f"/proc/{process}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *descendants(child)]
    return found


def end(processes, how):
    for process in processes:
        try:
            os.kill(process, how)
        except ProcessLookupError:
            pass


def run(command, cwd, seconds):
    """Exit code and output of a command; None as the code if it had to be ended."""
    with subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
                          stderr=subprocess.STDOUT, errors="replace", start_new_session=True) as process:
        started = []
        for ending in (None, signal.SIGTERM, signal.SIGKILL):
            if ending is not None:
                started = started or [process.pid, *descendants(process.pid)]
                end(started, ending)
            try:
                output = process.communicate(timeout=seconds if ending is None else 20)[0]
                return (process.returncode if ending is None else None), output
            except subprocess.TimeoutExpired:
                continue
    return None, ""


class Tree:
    """A clone of the repository's last commit, built."""

    def __init__(self, path, seconds):
        self.path, self.seconds = path, seconds
        head = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip()
        if not path.exists():
            subprocess.run(["git", "clone", "-q", "--no-checkout", str(ROOT), str(path)], check=True)
        else:
            subprocess.run(["git", "fetch", "-q", str(ROOT), head], cwd=path, check=True)
        subprocess.run(["git", "checkout", "-q", "--force", "--detach", head], cwd=path, check=True)
        print(f"Building {path}", flush=True)
        subprocess.run(["cmake", "--preset", "release"], cwd=path, check=True, stdout=subprocess.DEVNULL)
        code, output = self.build()
        if code != 0:
            sys.exit(f"the tree does not build:\n{output[-3000:]}")
        self.suite, self.all = self.numbers(), self.numbers("-C", "listed")

    def build(self):
        return run(["cmake", "--build", "--preset", "release"], self.path, 3600)

    def numbers(self, *configuration):
        """The tests of a configuration."""
        return numbers_of(self.path / "build/release", *configuration)

    def tests_of(self, mutant):
        """The numbers of its tests: those of the suite, or, if there are none, of all that there are."""
        for names in (self.suite, self.all):
            if found := [self.all[name] for name in names if re.search(mutant["tests"], name)]:
                return found
        sys.exit(f"{mutant['name']}: no test has a name like {mutant['tests']}")

    def test(self, numbers, seconds):
        """'' if all tests of these numbers pass, else the names of those that do not, or what else is wrong."""
        which = ",".join([numbers[0], numbers[0], "1", *numbers])
        code, output = run(["ctest", "--preset", "release", "-C", "listed", "-I", which, "--parallel", str(os.cpu_count()),
                            "--stop-on-failure", "--no-tests=error"], self.path, seconds)
        if code == 0:
            return ""
        failed = re.findall(r"^\s*\d+ - (\S+) \((\w+)", output, re.M)
        hang = f"not ended after {seconds} s" if code is None else ""
        return ", ".join(f"{name} {how}" for name, how in failed) or hang or output.strip().splitlines()[-1]

    def try_mutant(self, mutant):
        """'unbuilt' or 'noticed' or 'UNNOTICED', and a remark."""
        source = self.path / mutant["file"]
        original = source.read_text()
        try:
            source.write_text(original.replace(mutant["old"], mutant["new"]))
            code, output = self.build()
            if code != 0:
                errors = [line for line in output.splitlines() if "error" in line]
                return "unbuilt", (errors or output.splitlines())[0][:150]
            said = self.test(self.tests_of(mutant), self.seconds)
            return ("noticed", said) if said else ("UNNOTICED", "")
        finally:
            source.write_text(original)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", nargs="*", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--suite", type=pathlib.Path, metavar="BUILD", help="with --check: folder of a build")
    parser.add_argument("--tree", type=pathlib.Path, default=ROOT / "build/mutants")
    parser.add_argument("--only", default="", help="regular expression for names of mutants")
    parser.add_argument("--part", default="1/1", metavar="I/N", help="each Nth mutant, from the Ith on")
    parser.add_argument("--seconds", type=float, default=120, help="after which tests of a mutant count as hanging")
    options = parser.parse_args()
    mutants = load(options.lists or sorted(HERE.glob("*.toml")))
    if faults := faults_of(mutants) or (without_tests(mutants, options.suite) if options.suite else []):
        sys.exit("\n".join(faults))
    if options.check:
        print(f"{len(mutants)} mutants, each of which fits the sources")
        return
    part, parts = map(int, options.part.split("/"))
    mutants = [m for m in mutants if "tests" in m and re.search(options.only, m["name"])][part - 1::parts]
    tree = Tree(options.tree.resolve(), options.seconds)
    tests = sorted({number for mutant in mutants for number in tree.tests_of(mutant)}, key=int)
    if said := tree.test(tests, 3600):
        sys.exit(f"without any mutant: {said}")  # such a test notices nothing
    results = collections.Counter()
    for number, mutant in enumerate(mutants, 1):
        begun = time.monotonic()
        result, remark = tree.try_mutant(mutant)
        results[result] += 1
        print(f"{number}/{len(mutants)} {result:9} {mutant['list']}.{mutant['name']} ({time.monotonic() - begun:.0f} s) {remark}",
              flush=True)
    tree.build()
    share = results["noticed"] / max(1, len(mutants))
    print(f"{results['noticed']} of {len(mutants)} noticed, {100 * share:.1f} %; " +
          f"{results['UNNOTICED']} unnoticed, {results['unbuilt']} do not build")
    sys.exit(0 if share >= NEEDED else 1)


if __name__ == "__main__":
    main()
