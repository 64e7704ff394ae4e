#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: variables.py <oshrun> <program>

Values that are of no use end the job with one line, which says what is allowed; what is not used as it was asked for is
said in a line; and SHMEM_INFO says what is used."""
import re
import shutil
import subprocess
import sys
import tempfile

oshrun, program = sys.argv[1:3]
folder = tempfile.mkdtemp(prefix="nvm_variables.", dir=".")
NVM = f"SHMEM_HEAP=nvm:{folder}"
REFUSED = [
    (["SHMEM_HEAP=disk"], "SHMEM_HEAP is 'disk'; allowed are dram, nvm:<folder> and remote"),
    (["SHMEM_HEAP=nvm:"], "the folder for the files is missing"),
    (["SHMEM_HEAP=nvm:/no/such/folder"], "SHMEM_HEAP: /no/such/folder: No such file or directory"),
    (["SHMEM_NVM_DIR=/dev/null"], "SHMEM_NVM_DIR: /dev/null is not a folder"),
    (["SHMEM_NVM_DIR=/tmp", "SHMEM_NVM_PAGE=5k"], "SHMEM_NVM_PAGE is 5120 bytes; allowed are powers of two from 4096 to 64m"),
    (["SHMEM_NVM_ENGINE=fast"], "SHMEM_NVM_ENGINE"),
    (["SHMEM_NVM_POLICY=lru"], "SHMEM_NVM_POLICY=lru is not valid: allowed is"),
    (["SHMEM_NVM_CACHE=much"], "SHMEM_NVM_CACHE=much is not valid: allowed is"),
    (["SHMEM_NVM_AHEAD=-1"], "SHMEM_NVM_AHEAD=-1 is not valid: allowed is"),
    (["SHMEM_NVM_SIZE=1x"], "SHMEM_NVM_SIZE=1x is not valid: allowed is"),
]
with open("/proc/sys/vm/max_map_count", encoding="ascii") as limit:  # two mappings for a page, and some for the program
    MOST_PAGES = (int(limit.read()) - 8192) // 2
# Bytes of a pool that are not those that were asked for.
SAID = [
    (["SHMEM_NVM_PAGE=64m", "SHMEM_NVM_CACHE=64m"],
     r"SHMEM_NVM_CACHE is 64 MiB, but 1 GiB of memory .*: 16 pages of 64 MiB, the fewest .* lower SHMEM_NVM_PAGE"),
    (["SHMEM_NVM_PAGE=4k", "SHMEM_NVM_CACHE=64k"], None, 2),
    (["SHMEM_NVM_PAGE=4k", "SHMEM_NVM_CACHE=64k"], r": 32 pages of 4 KiB, the fewest", 4),
    (["SHMEM_NVM_PAGE=4k", "SHMEM_NVM_CACHE=64g"],
     rf"SHMEM_NVM_CACHE is 64 GiB, but \S+ [KMG]iB of memory .*: {MOST_PAGES} pages of 4 KiB, .*max_map_count\); raise SHMEM_NVM_PAGE"),
    (["SHMEM_NVM_PAGE=16k", "SHMEM_NVM_CACHE=260k"], None),  # whole pages
    (["SHMEM_NVM_PAGE=4k"], None),
]
INFO = [
    ([NVM, "SHMEM_SYMMETRIC_SIZE=64m"], r"^Symmetric heap on NVM: 64 MiB per PE in files \(.*\), 32 pages of 4 KiB in memory$"),
    ([NVM, "SHMEM_SYMMETRIC_SIZE=64m", "SHMEM_NVM_ENGINE=sync"], r" in files \(pread and pwrite, (O_DIRECT|page cache)\), "),
    ([NVM, "SHMEM_SYMMETRIC_SIZE=64m"], r"^Side heap in memory: "),
    ([f"SHMEM_NVM_DIR={folder}", "SHMEM_NVM_SIZE=48m"], r"^NVM heap: 48 MiB per PE in files "),
    ([f"SHMEM_NVM_DIR={folder}", "SHMEM_SYMMETRIC_SIZE=16m"], r"^Symmetric heap: 16 MiB per PE"),
]


def run(settings, what="leave", pes=2):
    arguments = [part for setting in settings for part in ("-x", setting)]
    return subprocess.run([oshrun, "-n", str(pes), *arguments, program, what], capture_output=True, text=True, timeout=30)


def lines(text, pattern):
    return re.findall(pattern, text, re.MULTILINE)


def sizes_of_nodes():
    """The heap has the same size on all nodes: the smallest that one of them asks for."""
    parts = [["-n", "1", "-x", NVM, "-x", "SHMEM_NVM_PAGE=4k", "-x", f"SHMEM_SYMMETRIC_SIZE={size}", "-x", "SHMEM_INFO=1",
              program, "leave"] for size in ("64m", "48m")]
    for first, second in (parts, parts[::-1]):
        done = subprocess.run([oshrun, "--virtual-nodes", "2", *first, ":", *second], capture_output=True, text=True, timeout=30)
        if done.returncode != 0 or len(lines(done.stdout, "^Symmetric heap on NVM: 48 MiB per PE")) != 1:
            sys.exit(f"nodes with heaps of different sizes: exit code {done.returncode}\n{done.stdout}{done.stderr}")


def main():
    for settings, expected in REFUSED:
        done = run(settings)
        if done.returncode != 1 or len(lines(done.stderr, r"^atoll: .*" + re.escape(expected) + ".*$")) != 1:
            sys.exit(f"{settings}: exit code {done.returncode}\n{done.stderr}")
    for settings, expected, *pes in SAID:
        done = run([NVM, *settings], "leave", *pes)
        said = lines(done.stderr, "^atoll: .*$")
        if done.returncode != 0 or len(said) != (expected is not None) or (expected and not re.search(expected, said[0])):
            sys.exit(f"{settings}: exit code {done.returncode}\n{done.stderr}")
    for settings, expected in INFO:
        done = run([*settings, "SHMEM_NVM_PAGE=4k", "SHMEM_NVM_CACHE=128k", "SHMEM_INFO=1"])
        if done.returncode != 0 or len(lines(done.stdout, expected)) != 1:
            sys.exit(f"{settings}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    sizes_of_nodes()
    done = run([NVM, "SHMEM_NVM_PAGE=64k"], "alignment")
    if done.returncode != 0 or len(lines(done.stderr, "^atoll: .*shmem_align: alignment is 134217728; allowed are")) != 1:
        sys.exit(f"alignment: exit code {done.returncode}\n{done.stderr}")
    done = run([], "hints")  # said once
    said = lines(done.stderr, "^atoll: .*$")
    if (done.returncode != 0 or len(said) != 2
            or "shmem_malloc_with_hints: there is no NVM heap, the block is in memory; set SHMEM_NVM_DIR" not in said[0]
            or not said[1].endswith("shmemx_nvm_open: there is no NVM heap; set SHMEM_HEAP=nvm:<folder>, or SHMEM_NVM_DIR to a folder")):
        sys.exit(f"hints: exit code {done.returncode}\n{done.stderr}")


try:
    main()
finally:
    shutil.rmtree(folder)
