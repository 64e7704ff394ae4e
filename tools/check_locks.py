#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: tools/check_locks.py build_directory clang++

Has clang check the lock discipline that the annotations of src/base/thread_annotations.hpp state, in every source file of
the library and the tools that compile_commands.json of the build directory names and that can see an annotation.  Any
compiler may have configured the build; nothing is built.

Exit code 0 if all is well, 77 if clang++ is missing; otherwise 1, and what clang says of each access that breaks a rule.
"""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import check_layers

ANNOTATIONS = "src/base/thread_annotations.hpp"
CHECKED = ("src/", "transports/", "nvm/", "tools/")
# Of a compile command: what decides on what the source says.  The rest may be what only the other compiler knows.
KEPT = ("-D", "-U", "-I", "-std=")
KEPT_WITH_ARGUMENT = ("-isystem", "-iquote", "-include")
ADDED = ["-Wno-everything", "-Wthread-safety", "-Wthread-safety-beta", "-Werror"]

# Headers that take most of a check's time are read once, where enough files share their options.
COMMON = ["algorithm", "array", "atomic", "chrono", "cstdint", "cstring", "deque", "functional", "map", "memory", "mutex",
          "optional", "random", "set", "shared_mutex", "span", "string", "thread", "unordered_map", "vector"]
ENOUGH = 4


def sees_annotations(root, path, known):
    """Whether `path` includes ANNOTATIONS, be it through other files; known: what is known of other files."""
    if path == ANNOTATIONS:
        return True
    if path not in known:
        known[path] = False  # of a circle
        with open(os.path.join(root, path), encoding="utf-8") as file:
            names = [match[2] for match in check_layers.INCLUDE.finditer(file.read())]
        targets = filter(None, (check_layers.resolve(root, path, name) for name in names))
        known[path] = any(sees_annotations(root, target, known) for target in targets)
    return known[path]


def options_of(entry):
    """The options of a command of compile_commands.json, for a check by clang."""
    words = iter(shlex.split(entry["command"]) if "command" in entry else entry["arguments"])
    kept = []
    for word in words:
        if word in KEPT_WITH_ARGUMENT:
            argument = next(words)
            if not argument.endswith("cmake_pch.hxx"):  # precompiled by the other compiler
                kept += [word, argument]
        elif word.startswith(KEPT):
            kept.append(word)
    return tuple(kept + ADDED)


def sources(root, build):
    """{(folder, options): files} of what is to be checked, each file once."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    found, seen, known = {}, set(), {}
    for entry in entries:
        path = os.path.relpath(os.path.join(entry["directory"], entry["file"]), root)
        if path in seen or not path.startswith(CHECKED) or not path.endswith(".cpp"):
            continue
        seen.add(path)
        if sees_annotations(root, path, known):
            found.setdefault((entry["directory"], options_of(entry)), []).append(os.path.join(root, path))
    return found


def run(folder, command):
    """What the command says if it fails; None: it does not."""
    result = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return result.stderr if result.returncode != 0 else None


def check(pool, clang, found, scratch):
    """What clang says to each source that it does not accept."""
    pending = []
    for i, ((folder, options), files) in enumerate(sorted(found.items())):
        command = [clang, *options]
        if len(files) >= ENOUGH:
            header, read = os.path.join(scratch, f"common{i}.hpp"), os.path.join(scratch, f"common{i}.pch")
            with open(header, "w", encoding="utf-8") as file:
                file.writelines(f"#include <{name}>\n" for name in COMMON)
            if run(folder, [*command, "-x", "c++-header", header, "-o", read]) is None:
                command += ["-include-pch", read]
        pending += [pool.submit(run, folder, [*command, "-fsyntax-only", path]) for path in files]
    return [said for said in (one.result() for one in pending) if said is not None]


def main():
    root = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    build, clang = sys.argv[1:]
    try:
        subprocess.run([clang, "--version"], capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        print(f"check_locks.py: {clang} cannot be run; tools/setup tests installs it")
        return 77
    if not os.path.exists(os.path.join(build, "compile_commands.json")):
        print(f"check_locks.py: {build} has no compile_commands.json; configure it with a preset")
        return 77
    found = sources(root, build)
    if not found:
        print(f"check_locks.py: {build}/compile_commands.json names no source that sees {ANNOTATIONS}")
        return 1
    with (tempfile.TemporaryDirectory() as scratch,
          concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool):
        wrong = check(pool, clang, found, scratch)
    for said in wrong:
        print(said, end="")
    print(f"check_locks.py: {sum(map(len, found.values()))} files, {len(wrong)} break a rule")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
