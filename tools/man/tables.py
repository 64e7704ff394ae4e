# SPDX-License-Identifier: BSD-3-Clause
"""The functions of the headers, as their tables have them: families of functions that differ in type or element size."""
import dataclasses
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COMPLEX = {"shmem_complexd_": "double _Complex", "shmem_complexf_": "float _Complex"}


@dataclasses.dataclass
class Family:
    """Functions of one row.  `key` is what pages call it by: the name, or the row's OP, with x_ in front if it is an
    extension, and old_ if it is deprecated."""
    key: str
    kind: str        # plain, typed, typed_ctx, sized, sized_ctx
    shown: str       # the name, with TYPENAME or SIZE where they differ
    returns: str
    parameters: list
    names: list
    types: list      # (TYPENAME, TYPE) of each

    @property
    def has_context(self):
        return self.kind.endswith("_ctx")


def tidy(text):
    """A type or parameter as C programmers write it."""
    text = re.sub(r"__attribute__ *\(\(+ *noreturn *\)+\)|__attribute__\(\(noreturn\)\)", "_Noreturn", text)
    text = re.sub(r"\s+", " ", text).strip()
    text = re.sub(r"\s*\*\s*", " *", text)
    return text.replace("* ", "*")


def split_parameters(text):
    """The parameters between the parentheses of a function: of pointers to functions there are none."""
    text = text.strip()
    assert text.startswith("(") and text.endswith(")"), text
    return [tidy(one) for one in text[1:-1].split(",")]


def functions(compiler):
    """All families, in the order of the tables."""
    command = [compiler, "-E", "-P", f"-I{ROOT}/include", str(ROOT / "cmake/man_functions.c")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [family(record) for record in text.split("atoll_man ")[1:]]


def family(record):
    kind, what, returns, parameters, *rest = (part.strip() for part in record.split("atoll_to"))
    if kind == "plain":
        return Family(what, kind, what, tidy(returns), split_parameters(parameters), [what], [])
    prefix, types, op, tail = (what.split() + [""])[:4]
    names, list_ = [], []
    for one in rest[0].split("atoll_next"):
        if not one.strip():
            continue
        name, type_ = (word.strip() for word in one.split("atoll_is"))
        list_.append((name, COMPLEX.get(tidy(type_), tidy(type_))))
        context = "_ctx" if kind.endswith("_ctx") else ""
        names.append(f"{prefix}{context}_{name}{op}" if kind.startswith("typed") else f"{prefix}{context}{op}{name}{tail}")
    context = "_ctx" if kind.endswith("_ctx") else ""
    size = "mem" if types == "MEM" else "SIZE"
    shown = f"{prefix}{context}_TYPENAME{op}" if kind.startswith("typed") else f"{prefix}{context}{op}{size}{tail}"
    key = op + tail
    if prefix == "shmemx":
        key = "x" + key
    elif types.startswith(("ACTIVE", "OLD")):
        key = "old" + key
    return Family(key, kind, shown, tidy(returns), split_parameters(parameters), names, list_)


def generics():
    """Names without a type, which the headers define as macros of C11 and overloads of C++."""
    text = (ROOT / "include/shmem/generic.h").read_text() + (ROOT / "include/shmemx.h").read_text()
    return set(re.findall(r"^#define (shmemx?_\w+[a-z])\(\.\.\.\)", text, re.MULTILINE))


def sections():
    """Which section of the specification has a name: docs/conformance.md says."""
    found = {}
    for number, title in re.findall(r"^\| ((?:[A-Z]|\d+)(?:\.\d+)*) ([^|]*)\|", (ROOT / "docs/conformance.md").read_text(),
                                    re.MULTILINE):
        for name in re.findall(r"`(\w+)`", title):
            found.setdefault(name, number)
    return found
