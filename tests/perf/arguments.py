# SPDX-License-Identifier: BSD-3-Clause
"""The command lines of the scripts beside this one, and the commands that they run: what is wrong is said in one line,
with exit code 2 for an argument and 1 for a command."""
import argparse
import json
import os
import pathlib
import shlex
import subprocess
import sys


class Parser(argparse.ArgumentParser):
    """Shows the docstring of the script as it is."""

    def __init__(self, description):
        super().__init__(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}; --help has the options\n")


def whole(text):
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number of at least 1")
    return int(text)


def several(text):
    return [whole(word) for word in text.split(",")]


def size(text):
    """64k, 4m."""
    unit = {"k": 1 << 10, "m": 1 << 20}.get(text[-1:].lower(), 1)
    return whole(text[:-1] if unit > 1 else text) * unit


def sizes(text):
    return [size(word) for word in text.split(",")]


def seconds(text):
    try:
        value = float(text)
    except ValueError:
        value = 0
    if not 0 < value <= 3600:
        raise argparse.ArgumentTypeError(f"'{text}' must be more than 0 and at most 3600")
    return value


def folder(*programs):
    """For --bin: a folder that has these."""
    def parse(text):
        path = pathlib.Path(text).resolve()
        for name in programs:
            if not os.access(path / name, os.X_OK):
                raise argparse.ArgumentTypeError(f"there is no {name} in {text}; cmake --build --preset release makes "
                                                 "build/release/bin with all that is needed")
        return path
    return parse


def last_line(text):
    """What oshrun says of a PE's end only if there is nothing else."""
    lines = [line for line in reversed(text.split("\n")) if line.strip()]
    return next((line for line in lines if not line.startswith("oshrun: PE ")), lines[0] if lines else "no word")


def finished(command, timeout, **variables):
    """A command that has run, with `stdout` and `stderr`; the script ends if it fails."""
    command = list(map(str, command))
    wrong = f"{pathlib.Path(sys.argv[0]).name}: {shlex.join(command)}:"
    try:
        result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                                env=dict(os.environ, **variables), timeout=timeout, check=False)
    except OSError as error:
        sys.exit(f"{wrong} {error.strerror}")
    except subprocess.TimeoutExpired:
        sys.exit(f"{wrong} not done after {timeout} s")
    if result.returncode != 0:
        sys.exit(f"{wrong} exit code {result.returncode}: {last_line(result.stderr)}")
    return result


def output(command, timeout, **variables):
    """What a command prints; the script ends if it fails."""
    return finished(command, timeout, **variables).stdout


def results(said):
    """The results that `shmem_bench --json` prints, without the line on where they were measured."""
    return [row for row in map(json.loads, said.splitlines()) if "environment" not in row]
