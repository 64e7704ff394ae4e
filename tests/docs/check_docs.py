#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: check_docs.py code|links|readme <folder of oshcc and oshrun>

code    compiles each ```c and ```cpp block of README.md and docs/*.md, and runs it as two PEs on one node and on two.  A
        block without main() is the inside of one; what it takes for granted stands above it: <!-- given: ... -->
links   each relative link leads to a file, and to a heading if it names one
readme  README.md has at most 120 lines of at most 110 columns"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"(?:<!-- given: (?P<given>.*?) -->\n+)?```(?P<language>c|cpp)\n(?P<code>.*?)```", re.DOTALL)
WRAPPER = """#include <shmem.h>
#include <shmemx.h>
#include <stdio.h>
#include <string.h>
{given}
int main(void) {{
  shmem_init();
{code}
  shmem_finalize();
  return 0;
}}
"""
CPP_WRAPPER = """#include <shmem.hpp>
#include <cstdio>
#include <string>
#include <vector>
{given}
int main() {{
  const shmem::library library;
{code}
}}
"""


def code(tools):
    failures, blocks = [], 0
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, SHMEM_NVM_DIR=folder, SHMEM_SYMMETRIC_SIZE="256m",
                           SHMEM_MEMORY_SERVERS="1", SHMEM_MEMORY_PER_SERVER="128m")
        for page in PAGES:
            for block in BLOCK.finditer(page.read_text()):
                blocks += 1
                line = page.read_text().count("\n", 0, block.start("code")) + 1
                text = block["code"]
                if "int main(" not in text:
                    wrapper = WRAPPER if block["language"] == "c" else CPP_WRAPPER
                    text = wrapper.format(given=block["given"] or "", code=text)
                source, program = pathlib.Path(folder, f"block.{block['language']}"), pathlib.Path(folder, "block")
                source.write_text(text)
                compiler = ["oshcc"] if block["language"] == "c" else ["oshc++", "-std=c++20"]
                commands = [[f"{tools}/{compiler[0]}", *compiler[1:], "-Wall", "-Wextra", "-Werror", "-Wno-unused", str(source), "-o", str(program)]]
                commands += [[f"{tools}/oshrun", "-n", "2", "--timeout", "30", *nodes, str(program)]
                             for nodes in ([], ["--virtual-nodes", "2"])]
                for command in commands:
                    result = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, text=True,
                                            capture_output=True, timeout=60)
                    if result.returncode != 0:
                        failures.append(f"{page.relative_to(ROOT)}:{line}: {' '.join(command)}: exit code "
                                        f"{result.returncode}\n{result.stdout}{result.stderr}")
                        break
    print(f"{blocks} blocks")
    return failures + ([] if blocks > 0 else ["no block was found"])


def anchors(page):
    headings = re.findall(r"^#+ +(.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(_):
    failures = []
    for page in [*PAGES, *ROOT.glob("*/README.md"), *ROOT.glob("*/*/README.md")]:
        text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
        for target in re.findall(r"\]\((?!\w+:)([^)\s]+)\)", text):
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            if not file.exists():
                failures.append(f"{page.relative_to(ROOT)}: {target}: there is no such file")
            elif anchor and anchor not in anchors(file):
                failures.append(f"{page.relative_to(ROOT)}: {target}: there is no such heading")
    return failures


def readme(_):
    lines = (ROOT / "README.md").read_text().splitlines()
    failures = [f"README.md:{number}: {len(line)} columns; allowed are 110"
                for number, line in enumerate(lines, 1) if len(line) > 110]
    return failures + ([f"README.md has {len(lines)} lines; allowed are 120"] if len(lines) > 120 else [])


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("code", "links", "readme"):
        sys.exit(__doc__)
    found = globals()[sys.argv[1]](sys.argv[2])
    sys.exit("\n".join(found) if found else 0)
