#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: names.py <C compiler> <include directory>

Semantics 26: a program that includes shmem.h gets names of the specification, macros that begin with ATOLL_, and
nothing else; what is not in the specification is in shmemx.h, whose names begin with shmemx_.  A trailing
underscore marks what only the headers themselves use.
"""
import os
import re
import subprocess
import sys

OLD = {"start_pes", "_my_pe", "_num_pes", "shmalloc", "shfree", "shrealloc", "shmemalign"}
OLD_TWINS = {"p" + name for name in OLD}
# Types and constants that no table of the headers counts.
TYPES = {"shmem_ctx_t", "shmem_team_t", "shmem_team_config_t", "shmem_ctx_session_config_t"}
CONSTANTS = (r"_?SHMEM_(?:(?:BARRIER|BCAST|COLLECT|REDUCE|ALLTOALLS?)_SYNC_SIZE|CMP_(?:EQ|NE|GT|GE|LT|LE)|M(?:AJOR|INOR)_VERSION|"
             r"VENDOR_STRING|MAX_NAME_LEN|SYNC_VALUE|REDUCE_MIN_WRKDATA_SIZE)|"
             r"SHMEM_(?:SYNC_SIZE|CTX_(?:DEFAULT|INVALID|NOSTORE|PRIVATE|SERIALIZED)|"
             r"CTX_SESSION_(?:BATCH|TOTAL_OPS)|MALLOC_(?:ATOMICS|SIGNAL)_REMOTE|SIGNAL_(?:ADD|SET)|"
             r"TEAM_(?:INVALID|NUM_CONTEXTS|SHARED|WORLD)|THREAD_(?:SINGLE|FUNNELED|SERIALIZED|MULTIPLE))")
# What programs that were written with another implementation find, too (docs/decisions.md 16, 24).
OF_OPEN_MPI = {f"shmem_{context}{type_}_atomic_{form}" for context in ("", "ctx_") for type_ in ("int", "long", "longlong")
               for op in ("and", "or", "xor") for form in (op, f"fetch_{op}", f"fetch_{op}_nbi")}
CONSTANTS_OF_OPEN_MPI = {"_SHMEM_ALLTOALL_SYNC_SIZE", "_SHMEM_ALLTOALLS_SYNC_SIZE"}
OF_SANDIA = {"SHMEM_DEF_H", "SHMEM_FUNCTION_ATTRIBUTES"}
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|__extension__|__restrict\w*|_Noreturn")


def preprocess(compiler, include, header, *options):
    command = [compiler, "-std=c11", "-I" + include, "-E", *options, "-x", "c", "-"]
    return subprocess.run(command, input=f"#include <{header}>\n", capture_output=True, text=True, check=True).stdout


def macros(compiler, include, header):
    return set(re.findall(r"^#define (\w+)", preprocess(compiler, include, header, "-dM"), re.MULTILINE))


def own_text(compiler, include, header):
    """What is left of the headers in `include` after preprocessing, without that of the system's."""
    lines, ours = [], False
    for line in preprocess(compiler, include, header).splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            ours = os.path.realpath(marker.group(1)).startswith(os.path.realpath(include) + os.sep)
        elif ours:
            lines.append(line)
    return "\n".join(lines)


def declared(text):
    """Names of functions, and of types."""
    text = ATTRIBUTE.sub("", text)
    functions = set(re.findall(r"(\w+)\s*\([^()]*\)\s*;", text))
    types = set(re.findall(r"typedef[^;{]*(?:\{[^}]*\})?[^;{]*?\b(\w+)\s*;", text))
    return functions, types


def main(compiler, include):
    wrong = []

    def check(names, pattern, where, allowed=frozenset()):
        wrong.extend(f"{where} has {name}" for name in sorted(names - allowed) if not re.fullmatch(pattern, name))

    system = macros(compiler, include, "stdint.h") | macros(compiler, include, "stddef.h")
    of_shmem = macros(compiler, include, "shmem.h")
    check(of_shmem - system, CONSTANTS + r"|ATOLL_\w+|shmem_\w+", "shmem.h: the macro table", OF_SANDIA)
    functions, types = declared(own_text(compiler, include, "shmem.h"))
    check(functions, r"shmem_\w+", "shmem.h: the functions", OLD)
    check(types, r"shmem_\w+_", "shmem.h: the types", TYPES)
    if len(functions) < 1788:
        wrong.append(f"shmem.h: found only {len(functions)} functions; is this script still right?")

    wrong.extend(f"shmem.h lacks {name}, which Open MPI has"
                 for name in sorted((OF_OPEN_MPI - functions) | (CONSTANTS_OF_OPEN_MPI - of_shmem)))

    more_functions, more_types = declared(own_text(compiler, include, "shmemx.h"))
    check(more_functions - functions, r"shmemx_\w+", "shmemx.h: the functions")
    check(more_types - types, r"shmemx_\w+", "shmemx.h: the types")
    check(macros(compiler, include, "shmemx.h") - of_shmem - system, r"SHMEMX_\w+|shmemx_\w+", "shmemx.h: the macros")
    extensions = more_functions - functions
    of_types = filter(None, (re.fullmatch(r"shmemx_(?!ctx_)[a-z0-9]+(_atomic_\w+)", name) for name in extensions))
    generics = {f"shmemx{found.group(1)}" for found in of_types}
    wrong.extend(f"shmemx.h has no macro {name}, the name without a type in C11"
                 for name in sorted(generics - macros(compiler, include, "shmemx.h")))
    if len(generics) < 6:
        wrong.append("shmemx.h: found too few names without a type; is this script still right?")
    if len(extensions) < 171:
        wrong.append(f"shmemx.h: found only {len(extensions)} functions; is this script still right?")

    twins, _ = declared(own_text(compiler, include, "pshmem.h"))
    check(twins - functions, r"pshmem_\w+", "pshmem.h: the functions", OLD_TWINS)
    missing = {"p" + name for name in functions if not name.endswith("_")} - twins
    wrong.extend(f"pshmem.h lacks {name}" for name in sorted(missing))
    more_twins, _ = declared(own_text(compiler, include, "pshmemx.h"))
    check(more_twins - more_functions, r"pshmemx_\w+", "pshmemx.h: the functions")
    wrong.extend(f"pshmemx.h lacks {name}" for name in sorted({"p" + name for name in extensions} - more_twins))
    for header, wanted in (("shmem.h", functions), ("shmemx.h", more_functions)):
        if not declared(own_text(compiler, include, "mpp/" + header))[0] >= wanted:
            wrong.append(f"mpp/{header} lacks functions of {header}")

    print("\n".join(wrong) or f"{len(functions)} functions, {len(of_shmem - system)} macros, {len(types)} types; "
          f"{len(extensions)} functions of extensions")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
