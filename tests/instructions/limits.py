#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fails where a call takes more instructions than LIMITS allows.

callgrind counts what PE 0 executes in user mode while calls.c makes N calls and then more; the difference divided by
that of the numbers is what one takes, with the loop around it.  Nothing of that depends on the machine, its load or its cores: the same library
counts the same.  Another compiler, or other options, count otherwise: such builds are skipped.

Of the job cxx, shmem.hpp, no limits are written down: each call takes what C's takes.

    tests/instructions/limits.py node --build "Release GNU 12" --oshrun build/release/bin/oshrun --calls CALLS
"""
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True  # nothing new in the clone
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "perf"))
import arguments
import callgrind

BUILD = "Release GNU 12"  # without sanitizers

# Instructions of each call when its line was last changed.  A call may take 2 % more, at least 1; who needs more changes
# the line, and says in the commit what they are for; who needs fewer changes it too, so that they stay saved.
LIMITS = {
    "barrier": {"barrier_all": 110},  # of 2 PEs, the last to come
    "node": {
        "nothing": 3,
        "p": 26,
        "put": 45,
        "g": 24,
        "get": 54,
        "fetch_add": 29,
        "wait_until": 124,  # whose condition holds
        "fence": 15,
        "quiet": 17,
        "kv_get": 88,
        "kv_put": 124,
        "kv_insert_remove": 1540,
        "kv_get_batch": 80,
    },
    # Into a packet.  Each of a stream takes fewer, as what a call does for a new packet is shared: instructions.py.
    "network": {"remote_add": 161, "remote_p": 127, "remote_put_nbi": 142, "remote_get_nbi": 192, "remote_put_signal": 351, "remote_iput": 6},
}
# A heap on NVM costs nothing where data are in memory, but that calls look whether arguments lie there.
LIMITS["pool"] = {**LIMITS["node"], "kv_insert_remove": 1610}
# Calls that are written down: what one takes more is the same whatever it does.
LIMITS["trace"] = {"p": 146, "put": 172, "g": 142}
LIMITS["pairs"] = {"p": 108, "put": 134, "g": 104}
# Each argument is held against its object (SHMEM_CHECKS=full), here the one that the call before has used; put has two.
LIMITS["checked"] = {"p": 143, "put": 535, "g": 137}
JOBS = {"barrier": ["-n", 2], "node": ["-n", 2], "network": ["-n", 2, "--virtual-nodes", 2],
        "pool": ["-n", 2, "-x", "SHMEM_NVM_SIZE=16m", "-x", "SHMEM_NVM_CACHE=8m"],
        "trace": ["-n", 2], "pairs": ["-n", 2, "-x", "SHMEM_STATS=1"], "checked": ["-n", 2, "-x", "SHMEM_CHECKS=full"], "cxx": ["-n", 2]}
KINDS = {"pool": "node", "trace": "written_down", "pairs": "written_down", "checked": "written_down"}  # what calls.c is to do, if it is not the job's name
COLLECT = ["--toggle-collect=counted", "--dump-after=counted"]


def count(options, work):
    """Instructions of each call."""
    profile = work / "profile"
    preload = ["-x", f"LD_PRELOAD={options.preload}"] if options.preload else []
    folder = {"pool": ["-x", f"SHMEM_NVM_DIR={work}"], "trace": ["-x", f"SHMEM_TRACE={work}/trace.json"]}.get(options.job, [])
    said = callgrind.run([options.oshrun, *JOBS[options.job], *folder, *preload],
                         [options.calls, KINDS.get(options.job, options.job)], profile, COLLECT, 230)
    found = {}
    for number, line in enumerate(said.splitlines(), 1):
        name, n = line.rsplit(" ", 1)
        found.setdefault(name, {}).setdefault(int(n), []).append(callgrind.total(pathlib.Path(f"{profile}.{number}")))
    counts = {}
    for name, totals in found.items():
        fewer, more = sorted(totals)
        counts[name] = (min(totals[more]) - min(totals[fewer])) / (more - fewer)
    return counts


def compare_languages(counts):
    """Whether c.NAME and cxx.NAME of cxx_calls.cpp take the same, for each NAME; both with their loop."""
    names = sorted(name.partition(".")[2] for name in counts if name.startswith("c."))
    failed = set(counts) != {f"{language}.{name}" for name in names for language in ("c", "cxx")} or len(names) < 30
    if failed:
        print(f"counted were {', '.join(counts) or 'no calls'}")
    for name in names:
        c, cxx = counts.get(f"c.{name}", 0), counts.get(f"cxx.{name}", 0)
        wrong = "" if c == cxx and c > 4 else ": not the same" if c > 4 else ": nothing was counted"
        print(f"{name:<16}{c:>8g} instructions in C, {cxx:g} in C++{wrong}")
        failed |= wrong != ""
    return 1 if failed else 0


def main():
    parser = arguments.Parser(__doc__)
    parser.add_argument("job", choices=JOBS)
    parser.add_argument("--build", required=True, help=f"what built them; skipped (exit code 77) if not '{BUILD}'")
    parser.add_argument("--oshrun", type=pathlib.Path, required=True)
    parser.add_argument("--preload", default="", help="into all PEs (tests/no_hardware)")
    parser.add_argument("--calls", type=pathlib.Path, required=True, help="calls.c, or cxx_calls.cpp, compiled")
    options = parser.parse_args()
    if options.build != BUILD:
        print(f"limits.py: the limits are those of '{BUILD}', and this is '{options.build}'")
        return 77
    if callgrind.is_missing():
        return 77
    with tempfile.TemporaryDirectory(prefix="atoll-instructions.") as folder:
        counts = count(options, pathlib.Path(folder))
    if options.job == "cxx":
        return compare_languages(counts)
    limits = LIMITS[options.job]
    failed = set(counts) != set(limits)
    if failed:
        print(f"counted were {', '.join(counts) or 'no calls'} instead of {', '.join(limits)}")
    for name in sorted(set(counts) & set(limits)):
        most = limits[name] + max(1, limits[name] // 50)
        wrong = ": too many" if counts[name] > most else ": nothing was counted" if counts[name] < 1 else ""
        print(f"{name:<12}{counts[name]:>8g} instructions, at most {most}{wrong}")
        failed |= wrong != ""
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
