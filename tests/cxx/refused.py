#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: refused.py <file> <compiler> <arguments>...

Compiles the file: each of its lines that end with "// refused: WORD", and no other one, must give an error whose
explanation has the word."""
import pathlib
import re
import subprocess
import sys


def errors(path, command):
    """What the compiler says."""
    limit = ["-ferror-limit=0"] if "clang" in command[0] else []
    return subprocess.run([*command, *limit, "-fsyntax-only", path], capture_output=True, text=True, timeout=300).stderr


def errors_of(said):
    """By line, with the notes that explain them."""
    found, line = {}, None
    for text in said.splitlines():
        place = re.search(r"refused\.cpp:(\d+):\d+: error:", text)
        line = int(place.group(1)) if place else line
        if line is not None:
            found[line] = found.get(line, "") + text + "\n"
    return found


def main(path, *command):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    words = {number: match.group(1) for number, line in enumerate(text.splitlines(), 1) if (match := re.search(r"// refused: (\S+)$", line))}
    wrong = []
    found = errors_of(errors(path, command))
    for number, word in words.items():
        if word not in found.get(number, ""):
            wrong.append(f"{path}:{number}: should be refused, with the word '{word}', but is:\n{found.get(number, 'not')[:2000]}")
    wrong += [f"{path}:{number}: should be fine, but is:\n{found[number][:2000]}" for number in sorted(set(found) - set(words))]
    print("\n".join(wrong) or f"{len(words)} lines are refused")
    return 1 if wrong or not words else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
