#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: tools/environment_page.py [--check]

Writes docs/environment.md from src/base/env.def and env_foreign.def.  With --check it only says whether that page is what it would write."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/environment.md"
HEAD = """# Environment variables

This page is written by `tools/environment_page.py` from `src/base/env.def`. `shmem_info` prints the same, with the values in force
on this machine. A value that is not allowed ends the program with a line that says what is. A flag is off for `0`, `off`, `no` and
`false`, and on for anything else. Where "any" is the value, a variable that is set is on, whatever it is set to. Where the
values are "0, 1 or full", 0 may be written as `off`, `no` or `false`, and 1 as `on`, `yes` or `true`, and nothing else is allowed.
Under `oshrun` set a variable in the environment, or with `-x NAME=VALUE`.

A name that begins with `SHMEM_` or `SMA_` and is at most two typing errors away from one that counts is misspelt, as likely as not:
PE 0 says so in a line, once. Of names that are farther from all of them nothing is said: scripts, tools and programs have variables
of their own that begin so, and a line about each, in every job, would hide those that matter.
"""
FOREIGN_HEAD = """
## Names of other implementations

None of these is ignored in silence: PE 0 says once whether it counts, and what to use instead. A name that begins with
`SHMEM_` means the same with `SMA_`.

| variable | of | here |
|---|---|---|
"""
FOREIGN_ROW = re.compile(r'^FOREIGN\((\w+), "([^"]*)", "([^"]*)", "([^"]*)"\)$')
ROW = re.compile(r'^ENV\((\w+), (\w+), \w+, "([^"]*)", "([^"]*)"\)$')


def page():
    lines = [HEAD]
    for line in (ROOT / "src/base/env.def").read_text().splitlines():
        if line.startswith("// ---- "):
            lines.append(f"\n## {line[8:]}\n\n| variable | values | default | meaning |\n|---|---|---|---|\n")
        elif row := ROW.match(line):
            name, kind, default, text = row.groups()
            values = {"Switch": "any", "Flag": "0 or 1", "Level": "0, 1 or full", "Size": "bytes", "Count": "number", "Entries": "number", "Seconds": "seconds", "Patience": "seconds",
                      "Text": "text", "Choice": ", ".join(f"`{word}`" for word in default.split("|"))}[kind]
            text = text[0].upper() + text[1:]
            said = re.search(r"; default: (.*)$", text)  # where it is not a word of the row
            if said:
                text, default = text[:said.start()], said[1]
            elif kind == "Switch":
                default = "not set"
            else:
                default = f"`{default.split('|')[0]}`"
            lines.append(f"| `SHMEM_{name}` | {values} | {default} | {text} |\n".replace("<", "&lt;"))
        elif line.startswith("ENV("):
            sys.exit(f"tools/environment_page.py: cannot read the row {line}")
    lines.append(FOREIGN_HEAD)
    for line in (ROOT / "src/base/env_foreign.def").read_text().splitlines():
        if row := FOREIGN_ROW.match(line):
            name, whose, ours, text = row.groups()
            text = f"Is taken for `SHMEM_{ours}`" if ours else text[0].upper() + text[1:]
            lines.append(f"| `{name}` | {whose} | {text} |\n")
        elif line.startswith("FOREIGN("):
            sys.exit(f"tools/environment_page.py: cannot read the row {line}")
    return "".join(lines)


def main():
    if sys.argv[1:] == ["--check"]:
        if not PAGE.exists() or PAGE.read_text() != page():
            sys.exit("docs/environment.md differs from src/base/env.def: run tools/environment_page.py")
    elif sys.argv[1:]:
        sys.exit(__doc__)
    else:
        PAGE.write_text(page())


if __name__ == "__main__":
    main()
