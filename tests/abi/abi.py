#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: abi.py exports <exports.map> <libatoll.so> [<other library>...]
       abi.py check <C compiler> <version>
       abi.py changes <C compiler>
       abi.py dump <C compiler> <output.abi.gz>

What programs that are compiled rely on (docs/releasing.md).
exports   the library has the functions of the headers with their versions, and nothing else; others have no C++ names
check     what the headers declare is compatible with the last release (tests/abi/*.abi.gz), and what is new since
          has the next minor version or a later one
changes   changes of a copy of the headers that check must find
dump      what a release keeps: libabigail's description of the headers' interface
"""
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SKIP = 77
CHANGED, INCOMPATIBLE = 4, 8  # bits of abidiff's exit code
CONSTANT = re.compile(r"^#define (_?SHMEMX?_[A-Z0-9_]*[A-Z0-9]) +(.+)$", re.MULTILINE)
NO_NUMBERS = {"SHMEM_VENDOR_STRING", "_SHMEM_VENDOR_STRING", "SHMEM_FUNCTION_ATTRIBUTES"}


def run(*command, **options):
    return subprocess.run(command, check=True, capture_output=True, text=True, **options).stdout


def release_key(path):
    return tuple(int(n) for n in path.name.removesuffix(".abi.gz").split("."))


def last_release():
    return max(HERE.glob("*.abi.gz"), key=release_key)


# ---- exports

def map_versions(path):
    """{name: version} of a version script of cmake/exports.cmake."""
    wanted = {}
    for version, names in re.findall(r"(ATOLL_[0-9.]+) \{\s*global: ([^}]*?);\n", pathlib.Path(path).read_text()):
        wanted.update({name: version for name in names.split("; ")})
    return wanted


def exported(library):
    """{name: version} of what a library defines for others; the version is "" if it has none."""
    found = {}
    for line in run("nm", "-D", "--defined-only", "--with-symbol-versions", library).splitlines():
        name, _, version = line.split()[-1].partition("@@")
        if line.split()[-2] != "A":  # not the names of the versions themselves
            found[name] = version
    return found


def declared_names(compiler="cc"):
    """Functions of the headers, and their twins: by the prototypes, not by the tables that the version script comes from."""
    text = run(compiler, "-E", "-P", "-DSHMEM_NO_GENERICS", f"-I{ROOT}/include", "-x", "c", "-",
               input="#include <pshmem.h>\n#include <pshmemx.h>\n")
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", "", text)
    return {name for name in re.findall(r"(\w+)\s*\([^()]*(?:\([^()]*\)[^()]*)*\)\s*;", text)
            if not name.endswith("_t")}


def check_exports(script, library, others):
    wanted, found = map_versions(script), exported(library)
    wrong = [f"{os.path.basename(library)} exports {name}, which no header declares" for name in sorted(found.keys() - wanted)]
    wrong += [f"{os.path.basename(library)} does not export {name}" for name in sorted(wanted.keys() - found)]
    wrong += [f"{name} has version '{found[name]}', not {wanted[name]}" for name in sorted(found.keys() & wanted)
              if found[name] != wanted[name]]
    by_prototype = declared_names()
    wrong += [f"{name} is in one only of the headers and {script}" for name in sorted(by_prototype ^ wanted.keys())]
    if f"[libatoll.so.{soname_number()}]" not in run("readelf", "-d", library):
        wrong.append("the soname is not libatoll.so. and the major version")
    for other in others:
        names = exported(other)
        wrong += [f"{os.path.basename(other)} exports {name}" for name in sorted(names) if name.startswith("_Z")]
        if not any(name.startswith(("shmem", "malloc")) for name in names):
            wrong.append(f"{os.path.basename(other)} does not export what it is for")
    print("\n".join(wrong[:20]) or f"{len(found)} functions; versions {', '.join(sorted(set(found.values())))}")
    return 1 if wrong else 0


def version_of_project():
    return re.search(r"project\(Atoll VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text()).group(1)


def soname_number():
    return version_of_project().split(".")[0]


# ---- the interface as libabigail sees it

def write_interface(compiler, include, folder):
    """A source that has all functions, and the constants and enumerations that no function's type mentions."""
    macros = run(compiler, "-E", "-dM", f"-I{include}", "-x", "c", "-", input="#include <shmemx.h>\n")
    constants = sorted({name for name, _ in CONSTANT.findall(macros)} - NO_NUMBERS)
    text = run(compiler, "-E", "-P", "-DSHMEM_NO_GENERICS", f"-I{include}", "-x", "c", "-", input="#include <shmemx.h>\n")
    enums = re.findall(r"enum (shmemx_\w+) \{", text)
    if len(constants) < 50 or len(enums) < 3:
        sys.exit(f"found only {len(constants)} constants and {len(enums)} enumerations; is this script still right?")
    lines = [f'#include "{HERE}/interface.h"']
    # As sizes of arrays, which unlike values of variables are in the debugging information.
    lines += [f"char atoll_constant_{name}[4096 + (long){name}];" for name in constants]
    lines += [f"enum {name} atoll_enum_{name};" for name in enums]
    source = pathlib.Path(folder) / "interface.c"
    source.write_text("\n".join(lines) + "\n")
    return source


def describe(compiler, include, folder, *options):
    """The path of libabigail's description of the headers in `include`."""
    source = write_interface(compiler, include, folder)
    library, xml = os.path.join(folder, "interface.so"), os.path.join(folder, "interface.abi")
    run(compiler, "-std=gnu11", "-g", "-O0", "-w", "-fPIC", "-shared", "-nostdlib", "-DSHMEM_NO_GENERICS", f"-I{include}",
        *options, str(source), "-o", library)
    run("abidw", "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path", "--no-elf-needed", "--out-file", xml, library)
    return xml


def added_functions(report):
    return re.findall(r"^\s*\[A\] '(?:function|variable) [^']*?\b(\w+)(?:\([^']*)?'", report, re.MULTILINE)


def since_versions(folder):
    lines = (pathlib.Path(folder) / "exports.since").read_text().splitlines()
    return {line.split()[1]: line.split()[0] for line in lines if line and not line.startswith("#")}


def minor(version):
    return tuple(int(n) for n in version.split(".")[:2])


def complaints(compiler, version, include, since, old_text=None, options=()):
    """What is wrong with the headers in `include`, given the last release, or what it is taken to have been."""
    last = last_release()
    number = last.name.removesuffix(".abi.gz")
    if version.split(".")[0] != number.split(".")[0]:
        return []  # a major version may change everything
    with tempfile.TemporaryDirectory() as folder:
        old = os.path.join(folder, "old.abi")
        pathlib.Path(old).write_bytes(old_text or gzip.decompress(last.read_bytes()))
        try:
            new = describe(compiler, include, folder, *options)
        except subprocess.CalledProcessError as error:
            return [f"the headers cannot be compiled: {error.stderr[-500:]}"]
        # Where its members lie is told by atoll_offset_...
        grows = pathlib.Path(folder) / "grows"
        grows.write_text("[suppress_type]\n  name = shmemx_stats_t\n")
        abidiff = ["abidiff", "--suppressions", str(grows)]
        done = subprocess.run([*abidiff, "--no-added-syms", old, new], capture_output=True, text=True)
        if done.returncode & ~(CHANGED | INCOMPATIBLE):
            return [f"abidiff: {done.stdout}{done.stderr}"]
        if done.returncode:
            return [f"incompatible with {number}:\n{done.stdout}"]
        more = subprocess.run([*abidiff, old, new], capture_output=True, text=True).stdout
    wrong = []
    added = [name for name in added_functions(more) if not name.startswith("atoll_")]
    if more.strip() and minor(version) <= minor(number):
        wrong.append(f"new since {number}, which needs a minor version of its own:\n{more}")
    for name in added:
        if name not in since:
            wrong.append(f"{name} is new since {number}: say so in cmake/exports.since")
        elif not minor(number) < minor(since[name]) <= minor(version):
            wrong.append(f"cmake/exports.since: {name} is new since {number}, not in {since[name]}")
    return wrong


def needs_libabigail():
    if not shutil.which("abidw") or os.uname().machine != "x86_64":
        print("needs abidw (package abigail-tools) on x86-64, as which the description is kept")
        sys.exit(SKIP)


def check(compiler, version):
    wrong = complaints(compiler, version, ROOT / "include", since_versions(ROOT / "cmake"))
    print("\n".join(wrong) or f"compatible with {last_release().name}")
    return 1 if wrong else 0


# ---- that check finds what it must

CHANGES = (
    # file, what is there, what is there instead, what must be said
    ("shmem/functions.h", "F(void,  shmem_free,                (void* ptr), (ptr))", "", "incompatible"),
    ("shmem/functions.h", "shmem_team_ptr,            (shmem_team_t team, const void* dest, int pe)",
     "shmem_team_ptr,            (shmem_team_t team, const void* dest, long pe)", "incompatible"),
    ("shmem.h", "  int num_contexts; ", "  int more; int num_contexts; ", "incompatible"),
    ("shmem.h", "#define SHMEM_CMP_LT                     4", "#define SHMEM_CMP_LT                     3", "incompatible"),
    ("shmem/kv.h", "SHMEMX_KV_NOT_FOUND = 1,", "SHMEMX_KV_NOT_FOUND = 11,", "incompatible"),
    ("shmem/stats.h", "  X(gets, ", '  X(added, "among them")  X(gets, ', "incompatible"),
    ("shmem/remote.h", "F(void, shmemx_remote_free, (void* ptr), (ptr)) ",
     "F(void, shmemx_remote_free, (void* ptr), (ptr)) F(void, shmemx_new, (void), ()) ", "shmemx_new is new since"),
)
# And one that it must not complain of in a new minor version.
NEW_COUNTER = ("shmem/stats.h", "\")\n\n/* clang-format on */", "\")  X(added, \"at the end\")\n\n/* clang-format on */")


def changes(compiler):
    failed = []
    number = last_release().name.removesuffix(".abi.gz")
    next_minor = f"{number.split('.')[0]}.{int(number.split('.')[1]) + 1}.0"
    options = ["-DWITHOUT_TYPED"]  # a tenth of the time
    with tempfile.TemporaryDirectory() as folder:
        released = pathlib.Path(describe(compiler, ROOT / "include", folder, *options)).read_bytes()
    for file, old, new, said in (*CHANGES, (*NEW_COUNTER, "")):
        with tempfile.TemporaryDirectory() as folder:
            include = shutil.copytree(ROOT / "include", os.path.join(folder, "include"))
            path = pathlib.Path(include) / file
            if old not in path.read_text():
                failed.append(f"{file} no longer has {old}")
                continue
            path.write_text(path.read_text().replace(old, new, 1))

            def told(version=next_minor, **since):
                return "\n".join(complaints(compiler, version, include, since, released, options))

            answer = told()
            if said not in answer or not said and answer:
                failed.append(f"{file}, {new or 'without ' + old}: expected '{said}', was told '{answer[:500]}'")
            if "shmemx_new" in said:
                if "needs a minor version" not in told(number, shmemx_new=number.rsplit(".", 1)[0]):
                    failed.append("a new function in a patch version goes unnoticed")
                if told(shmemx_new=next_minor.rsplit(".", 1)[0]):
                    failed.append("a new function that is listed is refused")
    print("\n".join(failed) or f"{len(CHANGES) + 1} changes judged")
    return 1 if failed else 0


def dump(compiler, output):
    with tempfile.TemporaryDirectory() as folder:
        text = pathlib.Path(describe(compiler, ROOT / "include", folder)).read_bytes()
    pathlib.Path(output).write_bytes(gzip.compress(text, 9, mtime=0))
    return 0


def main(arguments):
    if len(arguments) >= 3 and arguments[0] == "exports":
        return check_exports(arguments[1], arguments[2], arguments[3:])
    if len(arguments) < 2 or arguments[0] not in ("check", "changes", "dump"):
        print(__doc__, file=sys.stderr)
        return 2
    needs_libabigail()
    return {"check": check, "changes": changes, "dump": dump}[arguments[0]](*arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
