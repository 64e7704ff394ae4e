#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: tools/check_layers.py [root]

Checks who includes whom against the two tables below, which are the architecture:

    base  <-  boot, transports/{mapper,matcher,net}.hpp  <-  heap  <-  core  <-  coll, pages  <-  nvm, remote, kv  <-  setup  <-  api
              transports/{map,ofi,nic,faulty} know only transports/*.hpp and base

And that threads of the library are started by start_service_thread().

Exit code 0 if all is well; otherwise one line for each place that breaks a rule.
"""
import os
import re
import sys

# folder -> what its files may include beside their own folder's files.  "transports/seam" stands for
# transports/{mapper,matcher,net}.hpp, "transports/registry" for the one file that knows all transports, "nvm/names" for
# nvm/pages.hpp, "include/stats" for include/shmem/stats.h.
BELOW_CORE = ["src/base", "src/boot", "src/heap", "transports/seam", "transports/registry"]
ABOVE_CORE = BELOW_CORE + ["src/core", "include"]
MAY_INCLUDE = {
    "src/base": ["include/stats"],  # the table of counters, which the API shows too: one list of them
    "src/boot": ["src/base"],
    "transports/seam": ["src/base"],
    "transports/registry": ["src/base", "transports/seam", "transports/map", "transports/ofi", "transports/nic",
                            "transports/faulty"],
    "transports/map": ["src/base", "transports/seam"],
    "transports/ofi": ["src/base", "transports/seam"],
    "transports/nic": ["src/base", "transports/seam"],
    "transports/faulty": ["src/base", "transports/seam"],
    "src/heap": ["src/base", "src/boot", "transports/seam"],
    "src/core": BELOW_CORE + ["include"],  # include/: handles and constants of the specification
    "src/coll": ABOVE_CORE,
    "src/kv": ABOVE_CORE + ["src/coll"],  # tables are made together
    "src/pages": ABOVE_CORE,
    "nvm/names": [],
    "nvm/storage": ["src/base", "src/pages", "nvm/names"],
    "nvm/coherence": ["src/base", "src/pages", "transports/seam", "nvm/names", "nvm/storage"],
    "nvm": ABOVE_CORE + ["src/pages", "nvm/names", "nvm/storage", "nvm/coherence"],
    "src/remote": ABOVE_CORE + ["src/pages"],
    "src/setup": ABOVE_CORE + ["src/coll", "src/kv", "src/pages", "src/remote", "nvm", "nvm/storage"],
    "src/api": ABOVE_CORE + ["src/remote", "src/setup", "src/coll", "src/kv", "nvm", "nvm/names"],
    "include": ["include/stats"],
    "include/stats": [],
    "examples": ["include"],
    "tools/bench": ["include"],
    "tools/doctor": ["src/base", "transports/ofi", "include"],  # ofi: as shmem_info
    "tools/checks": ["src/base", "include", "tools/profile"],
    "tools/observe": ["src/base", "include", "tools/profile"],
    "tools/oshrun": ["src/base"],
    "tools/profile": ["include"],
    "tools/remote_malloc": ["src/base", "include"],
    # ofi: which providers open here; setup: how much memory a PE would register.
    "tools/shmem_info": ["src/base", "src/setup", "transports/ofi", "include", "tools/doctor"],
    "tools/shmem_memory": ["src/setup"],
    "tools/shmem_nvm": ["src/base", "nvm/storage"],
}

# Headers of dependencies -> the only places that may include them.
ONLY_IN = {
    r"rdma/.*": ["transports/ofi/"],
    r"pmix.*\.h": ["src/boot/", "tools/oshrun/"],
    r"hwloc.*\.h": ["src/boot/topology", "tools/oshrun/topology"],
    r"jemalloc/.*": ["src/heap/heap.cpp"],
    r"xxhash\.h": ["src/kv/hash"],
    r"gtest/.*|gmock/.*": [],
}

SCANNED = ["src", "transports", "nvm", "include", "examples", "tools"]
SUFFIXES = (".c", ".cpp", ".h", ".hpp", ".def")
SEARCH = ["src", "transports", "include", "."]
# Threads of the library take no signals of the program's: src/base/service_thread.hpp starts them.
STARTS_THREAD = re.compile(r"\bstd::thread\b\s*\w*\s*[({]\s*\[")
LIBRARY = ("src/", "transports/", "nvm/")
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]', re.MULTILINE)


def layer_of(path):
    """The row of MAY_INCLUDE that a file belongs to, or None."""
    if re.fullmatch(r"transports/(mapper|matcher|net)\.[a-z]+", path):
        return "transports/seam"
    if path == "include/shmem/stats.h":
        return "include/stats"
    if path == "nvm/pages.hpp":
        return "nvm/names"
    if re.fullmatch(r"transports/registry\.[a-z]+", path):
        return "transports/registry"
    tool = re.fullmatch(r"(tools/shmem_(?:info|memory|nvm))\.[a-z]+", path)
    if tool:
        return tool[1]
    folders = path.split("/")[:-1]
    for depth in range(len(folders), 0, -1):
        if "/".join(folders[:depth]) in MAY_INCLUDE:
            return "/".join(folders[:depth])
    return None


def resolve(root, includer, name):
    """The file of the tree that `name` means, as a path from the root, or None."""
    for folder in [os.path.dirname(includer)] + SEARCH:
        path = os.path.normpath(os.path.join(folder, name))
        if os.path.isfile(os.path.join(root, path)):
            return path
    return None


def sources(root):
    for top in SCANNED:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                if name.endswith(SUFFIXES):
                    yield os.path.relpath(os.path.join(folder, name), root)


def problem(root, path, quote, name):
    """What is wrong with one include; empty: nothing."""
    for pattern, places in ONLY_IN.items():
        if re.fullmatch(pattern, name) and not any(path.startswith(place) for place in places):
            return f"only {' and '.join(places) or 'tests'} may include <{name}>"
    target = resolve(root, path, name)
    if target is None:
        return f'"{name}" is not in the tree' if quote == '"' else ""
    here, there = layer_of(path), layer_of(target)
    if here == there or (there is not None and there in MAY_INCLUDE.get(here, [])):
        return ""
    return f"{here or 'this file'} may not include {target}"


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    failures, count = 0, 0
    for path in sources(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            text = file.read()
        for match in INCLUDE.finditer(text):
            count += 1
            what = problem(root, path, match[1], match[2])
            if not what:
                continue
            line = text.count("\n", 0, match.start(2)) + 1
            print(f"{path}:{line}: {what}")
            failures += 1
        for match in STARTS_THREAD.finditer(text) if path.startswith(LIBRARY) else ():
            line = text.count("\n", 0, match.start()) + 1
            print(f"{path}:{line}: start_service_thread() starts threads of the library")
            failures += 1
    print(f"check_layers.py: {count} includes, {failures} places break a rule")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
