#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: tools/check_size.py [--verbose] [root]

Keeps files, functions and macros small enough to be read.  Exit code 0 if all are within the limits below;
otherwise one line for each that is not.  Warnings do not fail; --verbose prints the share of comment per header.
"""
import os
import re
import sys

MAX_FILE, WARN_FILE = 600, 400  # lines
MAX_FUNCTION = 60
MAX_MACRO, MAX_TEST_MACRO = 10, 20  # tests of every type are macros of programs
MAX_CONDITIONALS = 5  # of #if and its kin in a file, include guards not counted
WANTED_COMMENT = 0.30  # of a header's lines

# Tables, and the tests of them, are macros by nature.
TABLES = re.compile(r"\.def$|^include/|^tests/headers/")

# Known breaches, to be removed with what they excuse: (file, beginning of what is wrong) -> why it is so today.
EXCUSED = {
    ("src/api/define.hpp", "macro of 11 lines"): "one parameter a line",
}

SCANNED = ["src", "transports", "nvm", "include", "examples", "tools", "tests"]
SUFFIXES = (".c", ".cpp", ".h", ".hpp", ".def")

# Comments, strings and characters, in the order in which a compiler sees them.
TOKENS = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif)\b", re.MULTILINE)
GUARD = re.compile(r"\A\s*#[ \t]*ifndef[ \t]+(\w+)\s*\n\s*#[ \t]*define[ \t]+\1\b")
SCOPE = re.compile(r"\b(namespace|class|struct|union|enum|extern)\b")


def blank(match):
    """Same number of lines, nothing in them; a string stays an expression."""
    text = match.group(0)
    return ("" if text.startswith("/") else '""') + "\n" * text.count("\n")


def functions(code):
    """(first line, last line, name) of each function body in code without comments, strings and directives."""
    found, stack, start = [], [], 0
    last_closed = None
    for brace in re.finditer(r"[{};]", code):
        kind = brace.group(0)
        head = code[start:brace.start()].strip()
        inside = any(entry is not None for entry in stack)
        if kind == "{":
            name = None
            if not inside:
                called = re.findall(r"([\w~:]+|operator\W{1,3})\s*\(", head)
                follows = last_closed is not None and (head == "" or head.startswith(","))
                if follows:  # the braces before were a member initializer
                    name = last_closed
                elif called and not (SCOPE.match(head) and ")" not in head) and not head.endswith("="):
                    name = called[0]
            first = code.count("\n", 0, brace.start() - len(code[start:brace.start()].lstrip())) + 1
            stack.append((first, name) if name else None)
        elif kind == "}":
            entry = stack.pop() if stack else None
            last_closed = None
            if entry is not None and not any(entry is not None for entry in stack):
                found.append((entry[0], code.count("\n", 0, brace.start()) + 1, entry[1]))
                last_closed = entry[1]
        else:
            last_closed = None
        start = brace.end()
    return found


def check(path, text):
    """Lists of failures and warnings of one file, as (line, what)."""
    failures, warnings = [], []
    lines = text.count("\n")
    if lines > MAX_FILE:
        failures.append((1, f"{lines} lines; at most {MAX_FILE}"))
    elif lines > WARN_FILE:
        warnings.append((1, f"{lines} lines; try to stay below {WARN_FILE}"))
    code = TOKENS.sub(blank, text)
    conditionals = len(CONDITIONAL.findall(code)) - (1 if GUARD.match(code) else 0)
    if conditionals > MAX_CONDITIONALS and not TABLES.search(path):
        failures.append((1, f"{conditionals} conditionals of the preprocessor; at most {MAX_CONDITIONALS}"))
    if not TABLES.search(path):
        most = MAX_TEST_MACRO if path.startswith("tests/") else MAX_MACRO
        for directive in DIRECTIVE.finditer(code):
            length = directive.group(0).count("\n") + 1
            if length > most:
                line = code.count("\n", 0, directive.start()) + 1
                failures.append((line, f"macro of {length} lines; at most {most}"))
        without = DIRECTIVE.sub(lambda m: "\n" * m.group(0).count("\n"), code)
        for first, last, name in functions(without):
            if last - first + 1 > MAX_FUNCTION:
                failures.append((first, f"{name}: {last - first + 1} lines; at most {MAX_FUNCTION}"))
    return failures, warnings


def comment_share(text):
    marked = TOKENS.sub(lambda m: re.sub(r"[^\n]+", "\0", m.group(0)) if m.group(0)[0] == "/" else m.group(0), text)
    lines = [line for line in marked.split("\n") if line.strip()]
    return sum("\0" in line for line in lines) / max(len(lines), 1)


def main():
    arguments = [a for a in sys.argv[1:] if a != "--verbose"]
    root = arguments[0] if arguments else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
    bad, files, shares = 0, 0, []
    for top in SCANNED:
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(n for n in names if n.endswith(SUFFIXES)):
                path = os.path.relpath(os.path.join(folder, name), root)
                with open(os.path.join(root, path), encoding="utf-8") as file:
                    text = file.read()
                files += 1
                failures, warnings = check(path, text)
                excused = [f for f in failures if any(path == p and f[1].startswith(w) for p, w in EXCUSED)]
                failures = [f for f in failures if f not in excused]
                bad += len(failures)
                for line, what in failures:
                    print(f"{path}:{line}: {what}")
                for line, what in warnings:
                    print(f"{path}:{line}: warning: {what}")
                if path.startswith(("src/", "transports/", "nvm/")) and name.endswith(".hpp"):
                    shares.append((comment_share(text), path))
    if "--verbose" in sys.argv:
        for share, path in sorted(shares):
            print(f"{100 * share:4.0f} % comment  {path}")
    mean = 100 * sum(share for share, _ in shares) / max(len(shares), 1)
    few = sum(share < WANTED_COMMENT for share, _ in shares)
    print(f"check_size.py: {files} files, {bad} beyond a limit; headers are {mean:.0f} % comment on average, "
          f"{few} of {len(shares)} below {100 * WANTED_COMMENT:.0f} %")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
