#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: tools/check_conformance.py [--index] [root]

Checks docs/conformance.md against the tests.  Its index has a row for each of the 138 statements about OpenSHMEM 1.6:
number, kind, what it says, files below tests/.  A test names a statement where it checks it: "Semantics 42" in a
comment, or "Semantics 42, 44-46".

 - every number from 1 to 138 has one row;
 - what can be observed (kind T) has at least one file, and each file that a row gives exists and names the number;
 - every file that the page names anywhere exists;
 - what is ambiguous (kind contains A) and each inconsistency has an entry among the decisions.

--index prints which files name which number.  Exit code 0 if all is well; otherwise one line for each mistake.
"""
import os
import re
import sys

STATEMENTS = 138
INCONSISTENCIES = 8
KINDS = {"T", "TA", "U", "O"}  # O: could be observed, but has no test yet
SUFFIXES = (".c", ".cpp", ".h", ".hpp", ".py", ".sh", ".txt", ".cmake")
NAMED = re.compile(r"[Ss]emantics\s+(\d+(?:-\d+)?(?:(?:,| and)\s*\d+(?:-\d+)?)*)")
ROW = re.compile(r"^\|\s*(\d+)\s*\|\s*(\w+)\s*\|([^|]*)\|([^|]*)\|\s*$", re.MULTILINE)
DECISION = re.compile(r"^\*\*(\d+|I\d+)\.", re.MULTILINE)
FILE = re.compile(r"`((?:headers|install|interop|issues|launcher|multi_host|spec|stress|unit)/[^`]+)`")


def numbers_in(text):
    """The statements that a test names."""
    text = re.sub(r"\n\s*(?:\*|//|#)?\s*", " ", text)  # a comment may go on in the next line
    found = set()
    for names in NAMED.findall(text):
        for first, last in re.findall(r"(\d+)(?:-(\d+))?", names):
            found |= set(range(int(first), int(last or first) + 1))
    return found


def named_by_file(root):
    """Path below tests/ -> numbers."""
    files = {}
    tests = os.path.join(root, "tests")
    for folder, _, names in os.walk(tests):
        for name in names:
            if name.endswith(SUFFIXES):
                path = os.path.join(folder, name)
                with open(path, encoding="utf-8", errors="replace") as file:
                    files[os.path.relpath(path, tests)] = numbers_in(file.read())
    return files


def check(text, files):
    """Returns what is wrong, as sentences."""
    wrong = []
    decisions = set(DECISION.findall(text))
    rows = ROW.findall(text)
    seen = [int(number) for number, *_ in rows]
    for number in range(1, STATEMENTS + 1):
        if seen.count(number) != 1:
            wrong.append(f"statement {number} has {seen.count(number)} rows in the index, not one")
    for number, kind, _, cell in rows:
        paths = FILE.findall(cell)
        if kind not in KINDS:
            wrong.append(f"statement {number}: kind is {kind}; allowed are {', '.join(sorted(KINDS))}")
        if "T" in kind and not paths:
            wrong.append(f"statement {number} can be observed and has no test")
        if "A" in kind and number not in decisions:
            wrong.append(f"statement {number} is ambiguous and has no decision")
        for path in paths:
            if path in files and int(number) not in files[path]:
                wrong.append(f"statement {number}: tests/{path} does not name it")
    wrong.extend(f"tests/{path} does not exist" for path in sorted(set(FILE.findall(text))) if path not in files)
    for i in range(1, INCONSISTENCIES + 1):
        if f"I{i}" not in decisions:
            wrong.append(f"inconsistency I{i} has no decision")
    return wrong


def main(arguments):
    index = "--index" in arguments
    roots = [argument for argument in arguments if not argument.startswith("-")]
    root = roots[0] if roots else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    files = named_by_file(root)
    if index:
        for number in range(1, STATEMENTS + 1):
            print(number, *sorted(path for path, numbers in files.items() if number in numbers))
        return 0
    with open(os.path.join(root, "docs", "conformance.md"), encoding="utf-8") as file:
        wrong = check(file.read(), files)
    print("\n".join(wrong) or f"{STATEMENTS} statements, {sum(map(len, files.values()))} mentions in tests")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
