#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: pages.py <C compiler> <folder of the tools> <version> <output folder>

Writes manual pages, in mdoc(7), as man1, man3 and man7 in the output folder: what docs/man/*.md say, with the prototypes of
the headers' tables, comments of the headers, the tools' own --help, and parts of docs/.  Each function, and each name without
a type, is a page or leads to one (.so).

A page of docs/man begins with '# name(section): what it is', and has '## ' sections.  Below the title may stand
  functions: families of functions, as tables.py calls them        section: of the specification, where no table says
  see: other pages                                                 include: the header, if it is not shmem.h
  names: more names that lead here
and anywhere in the text, as comments of Markdown
  header: <file> | <first words> | <words behind it>    a part of the comments of a header
  docs: <file> | <heading>                              a section of a page of docs/
  help: <tool> | <command>                              what the tool says of itself, or of a command of its own
  environment                                           docs/environment.md"""
import os
import pathlib
import re
import subprocess
import sys

import mdoc
import tables

ROOT = tables.ROOT
SUFFIX = "atoll"  # of the functions' pages: another implementation's may lie beside them
CALLERS = "Any thread that the thread level allows may call this; the library needs no lock of the program's."
WRONG = ("What cannot be done, such as a PE that is not there or an address that is not symmetric, ends the job with a line that "
         "says what was passed and what is allowed, and exit status 1.")
# In the order of mdoc(7); what a page calls otherwise comes behind the description.
ORDER = ["Description", "", "Types", "Returns", "Environment", "Files", "Exit status", "Examples", "Errors", "Threads", "See also"]
HEADINGS = {"Returns": "RETURN VALUES"}


class Page:
    def __init__(self, source, text):
        title, _, rest = text.partition("\n")
        match = re.fullmatch(r"(\S+)\((\d)\): (.*)", title.strip())
        if not match:
            sys.exit(f"{source}: a page begins with '# name(3): what it does', not with '{title}'")
        self.name, self.section, self.brief = match.groups()
        self.source, self.meta = source, {}
        rest = rest.lstrip("\n")
        while meta := re.match(r"(functions|see|section|include|names): (.*)\n+", rest):
            self.meta[meta[1]] = meta[2].replace("`", "").split()
            rest = rest[meta.end():]
        parts = re.split(r"^## (.*)\n", rest, flags=re.MULTILINE)
        self.parts = {"Description": parts[0], **dict(zip(parts[1::2], parts[2::2]))}
        self.families = []

    def get(self, key):
        return self.meta.get(key, [])

    @property
    def suffix(self):
        return self.section + (SUFFIX if self.section == "3" else "")

    @property
    def path(self):
        return f"man{self.section}/{self.name}.{self.suffix}"

    @property
    def functions(self):
        return [name for family in self.families for name in family.names]


class Writer:
    def __init__(self, compiler, tools, version):
        self.tools, self.version = tools, version
        self.families = tables.functions(compiler)
        self.generics, self.sections = tables.generics(), tables.sections()
        self.pages = [Page(file.name, text) for file in sorted((ROOT / "docs/man").glob("*.md"))
                      for text in re.split(r"^# (?=\S+\(\d\))", file.read_text(), flags=re.MULTILINE)[1:]]
        self.by_name = {page.name: page for page in self.pages}
        self.assign()
        self.leads_to = {name: page for page in self.pages for name in (*self.leading_here(page), page.name)}
        date = re.search(r"^## [\d.]+, (\d{4})-(\d\d)-(\d\d)", (ROOT / "docs/changelog.md").read_text(), re.MULTILINE)
        months = "January February March April May June July August September October November December".split()
        self.date = f"{months[int(date[2]) - 1]} {int(date[3])}, {date[1]}"

    def assign(self):
        """Each family of functions belongs to one page."""
        owner = {}
        for page in self.pages:
            for key in page.get("functions"):
                if key in owner:
                    sys.exit(f"docs/man/{page.source}: {page.name} has {key}, which {owner[key].name} has, too")
                owner[key] = page
        for family in self.families:
            if family.key not in owner:
                sys.exit(f"docs/man: no page has {family.key} ({family.shown}): add it to the 'functions:' of one")
            owner[family.key].families.append(family)
        known = {family.key for family in self.families}
        if unknown := sorted(set(owner) - known):
            sys.exit(f"docs/man/{owner[unknown[0]].source}: no header has {', '.join(unknown)}")

    # ---- The parts of a page

    def expand(self, page, text):
        out = []
        for part in re.split(r"^(<!-- (?:header|docs|help|environment)\b.*?-->)\n?", text, flags=re.MULTILINE | re.DOTALL):
            directive = re.fullmatch(r"<!-- (\w+):? ?(.*?) *-->", part, flags=re.DOTALL)
            if directive:
                words = [word.strip() for word in directive[2].split("|")]
                mdoc.add(out, getattr(self, "from_" + directive[1])(*words))
            elif part.strip():
                mdoc.add(out, mdoc.markdown(part.replace("VERSION", self.version) if page.section == "7" else part))
        return out

    @staticmethod
    def from_header(path, begin, end):
        return mdoc.columns(mdoc.comment(path, (ROOT / path).read_text(), begin, end))

    @staticmethod
    def from_docs(path, heading):
        text = (ROOT / path).read_text()
        found = re.search(rf"^(#+) {re.escape(heading)}\n(.*?)(?=^#{{1,2}} |\Z)", text, re.MULTILINE | re.DOTALL)
        if not found:
            sys.exit(f"{path}: there is no heading '{heading}', which a page of docs/man wants")
        return mdoc.markdown(found[2])

    def help_of(self, tool, *command):
        """Lines of its usage, and the others."""
        said = subprocess.run([f"{self.tools}/{tool}", *command, "--help"], stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, check=True).stdout
        lines = said.replace(self.tools, "/usr/bin").rstrip("\n").split("\n")
        first = next((i for i, one in enumerate(lines) if one.startswith("usage: ")), None)
        if first is None:
            sys.exit(f"docs/man: {tool} --help has no line that begins with 'usage: '")
        end = next((i for i in range(first + 1, len(lines)) if not lines[i].startswith("   ")), len(lines))
        return [one[7:] for one in lines[first:end]], lines[:first] + lines[end:]

    def from_help(self, tool, *command):
        usage, rest = self.help_of(tool, *command)
        return (mdoc.literal(usage) if command else []) + mdoc.help_text(rest)

    @staticmethod
    def from_environment(_=""):
        sys.path.insert(0, str(ROOT / "tools"))
        import environment_page  # pylint: disable=import-outside-toplevel
        return mdoc.markdown(environment_page.page().partition("\n")[2])

    def synopsis(self, page):
        headers = page.get("include") or ["shmem.h"]
        out = [".Sh SYNOPSIS", *(".In " + header for header in headers)]
        with_context, seen = [], set()
        for family in page.families:
            if family.has_context:
                with_context.append(family)
                continue
            if family.shown in seen:
                continue
            seen.add(family.shown)
            out += [".Ft " + family.returns, ".Fo " + family.shown,
                    *(f'.Fa "{one}"' for one in family.parameters), ".Fc"]
        return out, with_context

    def about_names(self, page, with_context):
        """Twins with a context, names without a type, element sizes and types."""
        out = []
        if with_context:
            shown = list(dict.fromkeys(family.shown for family in with_context))
            out += [".Pp", "Each has a twin whose first parameter, before the others, is a context,",
                    ".Vt shmem_ctx_t ctx :", *joined(shown, ".Fn ")]
        generic = []
        for family in page.families:
            name = family.shown.replace("_TYPENAME", "").replace("_ctx", "")
            if family.kind.startswith("typed") and name in self.generics and name not in generic:
                generic.append(name)
        if generic:
            out += [".Pp", "In C11 and C++ the type follows from the pointers"
                    + (",\nand the context may be there or not:" if with_context else ":"), *joined(generic, ".Fn ")]
        if any("SIZE" in family.shown for family in page.families):
            out += [".Pp", "SIZE is the number of bits of an element: "
                    + ", ".join(dict.fromkeys(name for f in page.families if "SIZE" in f.shown for name, _ in f.types)) + "."]
        lists = {}
        for family in page.families:
            if family.kind == "typed":
                lists.setdefault(tuple(family.types), []).append(family.shown)
        if not lists:
            return out
        out.append(".Sh TYPES")
        for types, shown in lists.items():
            if len(lists) > 1:
                out += [".Pp"] if out[-1] != ".Sh TYPES" else []
                out += ["Of", *joined(list(dict.fromkeys(shown)), ".Fn ", ":")]
            else:
                out += ["TYPENAME, and the TYPE that it stands for:"]
            out += [".Bd -ragged -offset indent -compact",
                    *mdoc.wrapped(", ".join(name if name == type_ else f"{name} ({type_})" for name, type_ in types)), ".Ed"]
        return out

    def write(self, page):
        """The page as mdoc."""
        names = [page.name] + [name for name in self.leading_here(page) if name != page.name]
        listed = [name for name in names if name in self.shown_names(page)][:40] or [page.name]
        out = [f".\\\" Written by tools/man/pages.py from docs/man/{page.source} and the headers.", f".Dd {self.date}",
               f".Dt {page.name.upper()} {page.section}", f".Os Atoll {self.version}", ".Sh NAME"]
        out += [f".Nm {name}" + (" ," if name != listed[-1] else "") for name in listed]
        out.append(".Nd " + mdoc.inline(page.brief))
        parts, context = dict(page.parts), []
        if page.families or page.get("include"):
            lines, context = self.synopsis(page)
            out += lines
        if tool := re.search(r"<!-- help: (\S+) -->", parts["Description"]):
            out += [".Sh SYNOPSIS", ".Bd -literal", *mdoc.literal(self.help_of(tool[1])[0])[1:]]
        if page.families:
            parts.setdefault("Errors", WRONG)
            parts.setdefault("Threads", CALLERS)
        for heading in sorted(parts, key=lambda one: ORDER.index(one) if one in ORDER else ORDER.index("")):
            out.append(".Sh " + HEADINGS.get(heading, heading.upper()))
            out += self.expand(page, parts[heading])
            if heading == "Description":
                out += self.about_names(page, context)
        out += self.see_also(page) + self.standards(page)
        return "\n".join(out) + "\n"

    def shown_names(self, page):
        """Names for the head of the page: of types only the one without."""
        plain = {family.shown for family in page.families if family.kind == "plain"}
        untyped = {generic_name(family) for family in page.families if family.kind in ("typed", "typed_ctx")}
        mem = {family.shown for family in page.families if "SIZE" not in family.shown and family.kind == "sized"}
        return {page.name, *plain, *mem, *(untyped & self.generics), *page.get("names")}

    def leading_here(self, page):
        """All names that this page is found by."""
        generic = [name for name in dict.fromkeys(generic_name(family) for family in page.families
                                                  if family.kind.startswith("typed")) if name in self.generics]
        return list(dict.fromkeys([*generic, *page.functions, *page.get("names")]))

    def see_also(self, page):
        wanted = list(dict.fromkeys(page.get("see")))
        for name in wanted:
            if name not in self.leads_to:
                sys.exit(f"docs/man/{page.source}: {page.name} refers to {name}, which is no page")
        others = [] if page.name == "atoll" else ["atoll"]
        refs = sorted({(self.leads_to[name].section, name) for name in [*wanted, *others]})
        return [".Sh SEE ALSO"] + [f".Xr {name} {section}" + (" ," if (section, name) != refs[-1] else "")
                                   for section, name in refs] if refs else []

    def standards(self, page):
        if not page.families:
            return []
        if any(name.startswith("shmemx_") for name in page.functions):
            return [".Sh STANDARDS", "An extension of Atoll."]
        given = page.get("section")
        numbers = given or sorted({self.sections[name] for name in self.shown_names(page) if name in self.sections},
                                  key=lambda one: [int(n) if n.isdigit() else n for n in one.split(".")])
        if not numbers:
            sys.exit(f"docs/man/{page.source}: {page.name}: docs/conformance.md has no section for it: say 'section:'")
        old = all(number.startswith("F") for number in numbers)
        return [".Sh STANDARDS", *mdoc.wrapped(f"OpenSHMEM 1.6, section{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"
                + (", deprecated." if old else "."))]


def generic_name(family):
    return family.shown.replace("_TYPENAME", "").replace("_ctx", "")


def joined(names, macro, last="."):
    return [f"{macro}{name} {last if name == names[-1] else ','}" for name in names]


def main(compiler, tools, version, folder):
    writer = Writer(compiler, os.path.abspath(tools), version)
    folder = pathlib.Path(folder)
    for section in ("man1", "man3", "man7"):
        (folder / section).mkdir(parents=True, exist_ok=True)
        for file in (folder / section).iterdir():
            file.unlink()
    for page in writer.pages:
        (folder / page.path).write_text(writer.write(page))
        for name in writer.leading_here(page):
            link = folder / f"man{page.section}" / f"{name}.{page.suffix}"
            if name != page.name:
                if name in writer.by_name:
                    continue  # a page of its own
                if link.exists():
                    sys.exit(f"docs/man/{page.source}: {page.name} and another page both have {name}")
                link.write_text(f".so {page.path}\n")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
