#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_man.py names|tools|lint|sections|examples <prefix> <library>

names     man finds each function that the library exports, and each name without a type; those with a p in front but not
tools     each program that is installed has a page
lint      mandoc has nothing to say of the pages, and each link leads to one
sections  each page says what it is about; those of functions also what goes wrong, which threads may call, and where the
          specification has them
examples  what the pages show compiles without a warning, and runs on two PEs of one node and of two"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

TOOLS = pathlib.Path(__file__).resolve().parent.parent.parent / "tools/man"
# mandoc looks for other pages in the system's folders alone; .Os names the project for the page's foot.
EXPECTED = ("STYLE: referenced manual not found", "STYLE: operating system explicitly specified", "outdated mandoc.db")


def need(tool):
    if shutil.which(tool) is None:
        print(f"there is no {tool} here")
        sys.exit(77)


def pages(prefix):
    """Pages that are no links, by file."""
    found = {}
    for file in sorted(prefix.glob("share/man/man*/*")):
        text = file.read_text()
        if not text.startswith(".so "):
            found[file] = text
    return found


def not_found(prefix, section, names):
    """Which of the names man does not find."""
    environment = {"PATH": os.environ["PATH"], "MANPATH": f"{prefix}/share/man", "LC_ALL": "C"}
    missing = []
    for first in range(0, len(names), 500):
        some = names[first:first + 500]
        result = subprocess.run(["man", "-w", section, *some], env=environment, capture_output=True, text=True, timeout=60)
        missing += re.findall(r"No manual entry for (\S+)", result.stderr)
        said = result.stdout.split("\n")[:-1]
        if len(said) + len(set(missing) & set(some)) != len(some):
            missing.append(f"(of {len(some)} names man has found {len(said)}: {result.stderr.strip()[:300]})")
    return missing


def names(prefix, library):
    need("man")
    need("nm")
    symbols = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    exported = sorted(set(re.findall(r" [TWi] (\w+)", symbols)))
    ours = [name for name in exported if not re.match(r"p(shmemx?_|_my_pe|_num_pes|start_pes|sh)", name)]
    counted = [name for name in ours if name.startswith(("shmem_", "shmemx_"))]
    sys.path.insert(0, str(TOOLS))
    import tables  # pylint: disable=import-outside-toplevel
    untyped = sorted(tables.generics())
    print(f"{len(counted)} functions, {len(ours) - len(counted)} old names, {len(untyped)} names without a type")
    failures = [f"man finds no {name}" for name in not_found(prefix, "3", ours + untyped + ["pshmem"])]
    if len(counted) < 1900 or len(untyped) < 70:
        failures.append("these are too few: is this script still right?")
    if not not_found(prefix, "3", ["shmem_no_such_name"]):
        failures.append("man finds what there is not")
    return failures


def tools(prefix, _):
    need("man")
    programs = sorted(file.name for file in (prefix / "bin").iterdir())
    print(*programs)
    failures = [f"man finds no {name}" for name in not_found(prefix, "1", programs)]
    failures += [f"man finds no {name}(7)" for name in not_found(prefix, "7", ["atoll"])]
    page = (prefix / "share/man/man1/oshrun.1").read_text()
    said = subprocess.run([prefix / "bin/oshrun", "--help"], capture_output=True, text=True, check=True).stdout
    for option in re.findall(r"^  (--[a-z-]+)", said, re.MULTILINE):
        if option not in page:
            failures.append(f"oshrun(1) lacks {option}")
    variables = re.findall(r"^ENV\((\w+)", (TOOLS.parent.parent / "src/base/env.def").read_text(), re.MULTILINE)
    environment = (prefix / "share/man/man7/atoll.7").read_text()
    failures += [f"atoll(7) lacks SHMEM_{name}" for name in variables if f"SHMEM_{name}" not in environment]
    return failures


def lint(prefix, _):
    need("mandoc")
    failures, real = [], pages(prefix)
    for file in sorted(prefix.glob("share/man/man*/*")):
        if file not in real:
            to = prefix / "share/man" / file.read_text().split()[1]
            if to not in real:
                failures.append(f"{file.name} leads to {to}, which is no page")
    result = subprocess.run(["mandoc", "-Tlint", "-Wall", *real], capture_output=True, text=True, timeout=100)
    said = (result.stdout + result.stderr).split("\n")
    failures += [one for one in said if one.strip() and not any(words in one for words in EXPECTED)]
    known = {(name.split(".")[0], name.split(".")[-1][0]) for name in (file.name for file in prefix.glob("share/man/man*/*"))}
    for file, text in real.items():
        failures += [f"{file.name} refers to {name}({section}), which there is not"
                     for name, section in re.findall(r"^\.Xr (\S+) (\d)", text, re.MULTILINE) if (name, section) not in known]
    print(f"{len(real)} pages")
    return failures


def sections(prefix, _):
    failures = []
    for file, text in pages(prefix).items():
        found = dict(re.findall(r"^\.Sh (.*)\n((?:(?!\.Sh ).*\n)*)", text, re.MULTILINE))
        wanted = ["NAME", "DESCRIPTION"]
        if ".Fo " in found.get("SYNOPSIS", ""):
            wanted += ["ERRORS", "THREADS", "SEE ALSO", "STANDARDS"]
        failures += [f"{file.name} has no section {name}" for name in wanted if not found.get(name, "").strip()]
        words = len(re.sub(r"^\..*$", "", found.get("DESCRIPTION", ""), flags=re.MULTILINE).split())
        if words < 12:
            failures.append(f"{file.name} says next to nothing: {words} words")
    return failures


def examples(prefix, _):
    functions, calls = [], []
    for file, text in pages(prefix).items():
        section = re.search(r"^\.Sh EXAMPLES\n(.*?)(?=^\.Sh )", text, re.MULTILINE | re.DOTALL)
        for block in re.findall(r"^\.Bd -literal.*\n((?:(?!\.Ed).*\n)*)\.Ed", section[1] if section else "", re.MULTILINE):
            code = re.sub(r"^\\&", "", block, flags=re.MULTILINE).replace("\\e", "\\")
            name = f"of_{file.name.split('.')[0]}_{len(calls)}"
            calls.append(f"  {name}();\n  shmem_barrier_all();\n")
            functions.append(f"static void {name}(void) {{\n{code}}}\n")
    print(f"{len(calls)} examples")
    source = "".join(f"#include <{name}>\n" for name in ("shmem.h", "shmemx.h", "stdint.h", "stdio.h", "string.h"))
    source += "".join(functions) + f"int main(void) {{\n  shmem_init();\n{''.join(calls)}  shmem_finalize();\n  return 0;\n}}\n"
    failures = [] if len(calls) > 25 else ["there were more"]
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "examples")
        pathlib.Path(program + ".c").write_text(source)
        environment = dict(os.environ, SHMEM_NVM_DIR=folder, SHMEM_SYMMETRIC_SIZE="256m",
                           SHMEM_MEMORY_SERVERS="1", SHMEM_MEMORY_PER_SERVER="128m")
        commands = [[prefix / "bin/oshcc", "-Wall", "-Wextra", "-Werror", program + ".c", "-o", program]]
        commands += [[prefix / "bin/oshrun", "-n", "2", "--timeout", "30", *nodes, program]
                     for nodes in ([], ["--virtual-nodes", "2"])]
        for command in commands:
            result = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                    timeout=60)
            if result.returncode != 0:
                return failures + [f"{command}: exit code {result.returncode}\n{result.stdout}{result.stderr}"]
    return failures


if __name__ == "__main__":
    case, where, of = sys.argv[1:4]
    wrong = {"names": names, "tools": tools, "lint": lint, "sections": sections, "examples": examples}[case](
        pathlib.Path(where), of)
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)
