# SPDX-License-Identifier: BSD-3-Clause
"""Markdown, as far as the pages and docs/ use it, and comments of headers as mdoc(7)."""
import re
import textwrap

WIDE = 24  # a longer term of a list stands alone on its line


def escape(text):
    """Plain text."""
    return text.replace("\\", "\\e")


def line(text):
    """A line of text that is no request."""
    return "\\&" + text if text.startswith((".", "'")) else text


def inline(text):
    """Text with `code`, **bold**, *emphasis* and [links](to)."""
    text = re.sub(r"\[([^\]]*)\]\([^)\s]*\)", r"\1", text).replace("&lt;", "<")
    parts = re.split(r"(`[^`]*`)", text)
    done = []
    for part in parts:
        if part.startswith("`") and part.endswith("`") and len(part) > 1:
            done.append("\\fB" + escape(part[1:-1]) + "\\fP")
        else:
            part = re.sub(r"\*\*([^*]+)\*\*", "\\\\fB\\1\\\\fP", escape(part))
            done.append(re.sub(r"(?<![\w*\\])\*([^*\s][^*]*)\*(?!\w)", "\\\\fI\\1\\\\fP", part))
    return "".join(done)


def sentences(text):
    """A paragraph: each sentence begins a line, as mdoc wants it."""
    text = re.sub(r"\s+", " ", text).strip()
    found = re.split(r"(?<=[\w)`*'\"][.:?]) (?=[A-Z`\"(])", text)
    return [row for one in found for row in wrapped(inline(one))]


def wrapped(text):
    """Lines of text."""
    return [line(row) for row in textwrap.wrap(text, 78, break_long_words=False, break_on_hyphens=False)]


def literal(lines):
    return [".Bd -literal -offset indent", *(line(escape(one)) for one in lines), ".Ed"]


def items(pairs):
    """A list of terms with what they mean, each a list of lines of mdoc."""
    width = min(WIDE, max(len(term) for term, _ in pairs))
    out = [f".Bl -tag -width {'x' * max(width, 4)} -compact" if all(len(text) < 3 for _, text in pairs) else
           f".Bl -tag -width {'x' * max(width, 4)}"]
    for term, text in pairs:
        out.append(".It " + macro_argument(term))
        out += text
    return out + [".El"]


def macro_argument(text):
    """Text as the arguments of a macro that must not look for macros in it."""
    text = inline(text if "`" in text else f"`{text}`")
    return '"' + text.replace('"', '""').replace("\\fP", "\\fR") + '"'


def cells(row):
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip().strip("|"))]


def markdown(text):
    """Paragraphs, lists, tables and blocks of code; headings become subsections."""
    out, lines, i = [], text.strip("\n").split("\n"), 0
    while i < len(lines):
        one = lines[i]
        if not one.strip() or one.startswith("<!--"):
            i += 1
        elif one.startswith("```"):
            end = next(k for k in range(i + 1, len(lines)) if lines[k].startswith("```"))
            add(out, literal(lines[i + 1:end]))
            i = end + 1
        elif one.startswith("#"):
            out.append(".Ss " + inline(one.lstrip("# ")))
            i += 1
        elif one.startswith("|"):
            end = next((k for k in range(i, len(lines)) if not lines[k].startswith("|")), len(lines))
            heads = cells(lines[i])
            add(out, items([(row[0], beside(heads, row)) for row in map(cells, lines[i + 2:end])]))
            i = end
        elif re.match(r"[-*] ", one):
            found, i = bullets(lines, i)
            add(out, found)
        elif one.startswith("    "):
            end = next((k for k in range(i, len(lines)) if lines[k] and not lines[k].startswith("    ")), len(lines))
            add(out, literal([row[4:] for row in "\n".join(lines[i:end]).rstrip().split("\n")]))
            i = end
        else:
            end = next((k for k in range(i + 1, len(lines))
                        if not lines[k].strip() or re.match(r"[-*] |\||```|#", lines[k])), len(lines))
            add(out, sentences(" ".join(lines[i:end])))
            i = end
    return out


def beside(heads, row):
    """What a table says of its first column; of a table of more than two columns each is named."""
    if len(row) == 2:
        return sentences(row[1]) if row[1] else []
    last = sentences(row[-1])
    between = "; ".join(f"{head}: {cell}" for head, cell in zip(heads[1:-1], row[1:-1]) if cell and cell != "``")
    return last + ([".br", *wrapped(inline(f"({between})"))] if between else [])


def bullets(lines, i):
    """A list; one whose items all begin with a term and a colon is one of terms."""
    found = []
    while i < len(lines) and (re.match(r"[-*] ", lines[i]) or (lines[i].startswith("  ") and lines[i].strip())):
        if re.match(r"[-*] ", lines[i]):
            found.append(lines[i][2:])
        else:
            found[-1] += " " + lines[i].strip()
        i += 1
    terms = [re.match(r"((?:`[^`]*`(?:, | and )?)+): (.*)", one) for one in found]
    if all(terms):
        return items([(term[1], sentences(term[2])) for term in terms]), i
    out = [".Bl -bullet"]
    for one in found:
        out += [".It", *sentences(one)]
    return out + [".El"], i


def add(out, block):
    """A block behind what is there, with a paragraph between."""
    spaced = block and block[0].startswith((".Bl", ".Bd")) and "-compact" not in block[0]
    if out and not out[-1].startswith((".Ss", ".Sh")) and not spaced:
        out.append(".Pp")
    out += block


# ---- Comments of headers, and what tools say of themselves: lists of terms in columns

TERM = re.compile(r" {2,6}(\S+(?: [A-Z.,<][\w.,<>]*)?)( {2,})(\S.*)$")
SHORT = re.compile(r"(?=.{4,30} {3})( ?[\w`][\w ,/`*]*?)( {3,})(\S.*)$")
CODES = re.compile(r"(?:^| {2,})(OK\b[A-Z_, ]*(?:\(.*\))?(?:[A-Z_, ]*(?:\([^)]*\))?)*)$")


def columns(lines):
    """mdoc of text in which terms stand at the left and what they mean beside and below them."""
    out, paragraph, pairs = [], [], []

    def end_paragraph():
        if paragraph:
            add(out, sentences(" ".join(paragraph)))
            paragraph.clear()

    def end_items():
        if pairs:
            add(out, items([(term, meaning(text)) for term, text in pairs]))
            pairs.clear()

    for one in lines:
        term = TERM.match(one) or SHORT.match(one)
        if term:
            end_paragraph()
            pairs.append((term[1].strip(), [term[3]]))
        elif pairs and re.match(r" {7,}\S", one):
            pairs[-1][1].append(one.strip("\n"))
        elif re.match(r" {2,6}(\S+)$", one) and (pairs or not paragraph):
            end_paragraph()
            pairs.append((one.strip(), []))
        elif pairs and one.strip() and one.startswith(" "):
            pairs[-1][1].append(one)
        elif not one.strip():
            end_paragraph()
        else:
            end_items()
            paragraph.append(one.strip())
    end_paragraph()
    end_items()
    return out


def meaning(lines):
    """The text of a term: in it, what is returned stands at the right, and terms of its own have capitals."""
    out, text, behind, codes, inner, edge = [], [], [], [], [], 0
    for one in lines:
        code = CODES.search(one.rstrip())
        if code:
            codes.append(code[1].strip())
            one = one[:code.start()]
        within = re.match(r"( *)(SHMEMX_\w+) {2,}(.*)", one)
        if within:
            edge = len(within[1])
            inner.append((within[2], [within[3]]))
        elif inner and one.strip():
            (inner[-1][1] if len(one) - len(one.lstrip()) > edge else behind).append(one)
        elif one.strip():
            text.append(one.strip())
    if text:
        out += sentences(" ".join(text))
    if codes:
        if out and not out[-1].endswith("."):
            out[-1] += "."
        out += wrapped(escape("Returns " + " ".join(codes).rstrip(".") + "."))
    if inner:
        out += items([(term, sentences(" ".join(rest))) for term, rest in inner]) + sentences(" ".join(behind))
    return out


def comment(path, text, begin, end):
    """The lines of a header's comments from the one that begins with `begin` to before the one that begins with `end`."""
    lines = [re.sub(r"^ ?(?:/\*|\*)(?: |$)|\s*\*/$", "", one).rstrip() for one in text.split("\n")]
    first = next((i for i, one in enumerate(lines) if one.strip().startswith(begin)), None)
    if first is None:
        raise SystemExit(f"{path}: no line of a comment begins with '{begin}'")
    last = next((i for i in range(first + 1, len(lines)) if lines[i].strip().startswith(end)), None)
    if last is None:
        raise SystemExit(f"{path}: no line behind '{begin}' begins with '{end}'")
    return lines[first:last]


# ---- What tools say of themselves


def help_text(lines):
    """mdoc of a --help: usages and examples as they are, headings, options with what they do, and paragraphs."""
    out, i = [], 0
    while i < len(lines):
        one, end = lines[i], next((k for k in range(i + 1, len(lines)) if not lines[k].startswith(" ")), len(lines))
        if not one.strip():
            i += 1
        elif one.startswith("usage:"):
            add(out, literal([row[7:] for row in lines[i:end]]))
            i = end
        elif one.startswith("  ") or (end > i + 1 and re.match(r"  \S", lines[i + 1])):
            if not one.startswith("  "):
                if one.startswith(("examples:", "Examples:")) or len(one) < 40:
                    out.append(".Ss " + escape(one.rstrip(":")))
                else:
                    add(out, sentences(one))
                i += 1
            add(out, options(lines[i:end]))
            i = end
        else:
            end = next((k for k in range(i + 1, len(lines)) if not lines[k].strip() or (
                k + 1 < len(lines) and lines[k + 1].startswith("  ") and lines[k].endswith(":")) or
                        re.match(r"[A-Z][a-z]+(?: code)?: ", lines[k])), len(lines))
            end = min(end, next((k for k in range(i + 1, len(lines)) if lines[k].startswith("  ")), end))
            add(out, sentences(" ".join(lines[i:end])))
            i = end
    return out


def options(lines):
    """Indented lines: a list where they are an option and what it does, else as they are."""
    if not any(re.match(r" {2,3}\S.*? {2,}\S", one) for one in lines):
        return literal([one[2:] for one in lines])
    out, pairs = [], []
    for one in lines:
        term = re.match(r" {2}(\S.*?)(?: {2,}(\S.*))?$", one)
        if term and not one.startswith("   ") and (term[2] or re.match(r"-|[a-z_]+$", term[1])):
            pairs.append((term[1], [term[2]] if term[2] else []))
        elif term and not one.startswith("   "):
            out += items([(t, described(text)) for t, text in pairs]) + [".Pp"] if pairs else []
            out, pairs = out + sentences(one.strip()), []
        elif pairs:
            pairs[-1][1].append(one)
    if pairs:
        add(out, items([(term, described(text)) for term, text in pairs]))
    return out


def described(lines):
    """What an option does; columns in it stay as they are."""
    if any(re.search(r"\S {2,}\S", one.replace(".  ", ". ")) for one in lines):
        edge = min(len(one) - len(one.lstrip()) for one in lines[1:]) if len(lines) > 1 else 0
        return [".Bd -literal -compact", *(line(escape(one[edge:] if k else one)) for k, one in enumerate(lines)), ".Ed"]
    return sentences(" ".join(lines)) if lines else []
