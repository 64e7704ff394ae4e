#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: site_test.py

Builds the site (tools/site) and looks at each of its pages in a browser, as wide as a telephone: links lead somewhere, code
is as in the tree, figures are visible, nothing but what scrolls is wider than the page, no other host is asked, and the
search finds what is there.  A page with one defect of each kind shows that these are noticed.
Exit code 77 where mkdocs or a browser is missing."""
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.parse

sys.dont_write_bytecode = True  # nothing new in the clone
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
import browser

WIDTH, HEIGHT = 390, 844
LONGEST = 570  # seconds, of a machine that does much else
# What the search is asked, and the page that must be among what it finds first.
SEARCHES = {"symmetric_array": "docs/cpp.html", "SHMEM_SYMMETRIC_SIZE": "docs/environment.html",
            "hash table": "docs/kv.html"}
LOOK = """(() => {
  const width = WIDTH + 1, scrolls = e => ['auto', 'scroll'].includes(getComputedStyle(e).overflowX);
  const inside = e => { for (let p = e.parentElement; p; p = p.parentElement)
    if (scrolls(p) && p.getBoundingClientRect().right <= width && p.closest('[role=main]')) return true; return false; };
  const content = document.querySelector('[role=main]');
  const wide = [...content.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > width && !inside(e));
  return {
    links: [...document.querySelectorAll('a[href]')].map(e => e.href),
    ids: [...document.querySelectorAll('[id]')].map(e => e.id),
    code: [...content.querySelectorAll('pre')].map(e => e.textContent),
    unseen: [...document.querySelectorAll('img')].filter(e => !e.complete || e.naturalWidth == 0).map(e => e.src),
    wide: wide.map(e => e.outerHTML.slice(0, 120)).slice(0, 3),
    scrolls: document.documentElement.scrollWidth > width,
    raw: [...content.querySelectorAll('p')].map(e => e.textContent).filter(t => /^([*|-] |\\|)/m.test(t)),
    heading: content.querySelectorAll('h1').length,
  };
})()""".replace("WIDTH", str(WIDTH))
FOUND = """new Promise(resolve => { const look = () => {
  const links = [...document.querySelectorAll('#mkdocs-search-results a')].map(e => e.href);
  links.length > 0 ? resolve(links) : setTimeout(look, 50); }; look(); })"""
DEFECTS = """<!DOCTYPE html><meta name="viewport" content="width=device-width"><div role="main"><h1>Defects</h1>
<a href="nowhere.html">1</a> <a href="docs/kv.html#nothing">2</a> <img src="nothing.svg"> <p>* no list</p>
<pre>int main;\n</pre><div style="width: 800px">too wide</div><script src="http://localhost/x.js"></script></div>"""


def code_of(page):
    """The blocks of code of a page of the tree: between fences, or indented by four, in a list by six."""
    blocks, block, fenced, before, in_list = [], [], False, "", False
    for line in [*page.read_text(encoding="utf-8").split("\n"), "end"]:
        indent = " " * (6 if in_list else 4)
        if line.startswith("```"):
            if fenced:
                blocks.append("\n".join(block))
            block, fenced = [], not fenced
        elif fenced:
            block.append(line)
        elif line.startswith(indent) and (block or not before.strip()):
            block.append(line.removeprefix(indent))
        elif block and not line.strip():
            block.append("")
        else:
            if block:
                blocks.append("\n".join(block))
            block = []
            if line.strip():
                in_list = re.match(r"[*-] |\d+\. ", line) is not None or (in_list and line.startswith(" "))
        before = line
    return [block.strip("\n") for block in blocks if block.strip()]


def faults_of(name, seen, ids, site):
    """What is wrong with a page that the browser has seen."""
    wrong = [f"{name}: {kind}: {what}" for kind in ("unseen", "wide", "raw") for what in seen[kind]]
    if seen["scrolls"]:
        wrong.append(f"{name}: is wider than {WIDTH} pixels")
    if seen["heading"] != 1:
        wrong.append(f"{name}: has {seen['heading']} headings of the first level")
    for link in seen["links"]:
        parts = urllib.parse.urlsplit(link)
        if parts.hostname != "127.0.0.1":
            continue
        target = urllib.parse.unquote(parts.path).lstrip("/") or "index.html"
        if not (site / target).is_file():
            wrong.append(f"{name}: {target}: there is no such page")
        elif parts.fragment and target in ids and urllib.parse.unquote(parts.fragment) not in ids[target]:
            wrong.append(f"{name}: {target}#{parts.fragment}: there is no such heading")
    return wrong


def main():
    if shutil.which("mkdocs") is None:
        print("site_test.py: skipped: needs mkdocs (tools/setup tests installs it)")
        return 77
    if browser.program() is None:
        print(f"site_test.py: skipped: needs a browser, one of {', '.join(browser.NAMES)} (tools/setup tests installs one)")
        return 77
    signal.alarm(LONGEST)
    with tempfile.TemporaryDirectory(prefix="atoll-site.") as folder:
        site = pathlib.Path(folder).resolve()
        subprocess.run([ROOT / "tools/site", "--output", site], check=True, stdin=subprocess.DEVNULL)
        (site / "defects.html").write_text(DEFECTS, encoding="utf-8")
        return look_at(site)


def look_at(site):
    pages = sorted(str(page.relative_to(site)) for page in site.rglob("*.html") if page.name not in ("404.html", "search.html"))
    seen, found = {}, {}
    with browser.served(str(site)) as address:
        window = browser.Browser(WIDTH, HEIGHT)
        try:
            window.call("Network.setBlockedURLs", urls=["*/search/*"])  # each page would index all others
            for page in pages:
                window.go(f"{address}/{page}")
                seen[page] = window.evaluate(LOOK)
            window.call("Network.setBlockedURLs", urls=[])
            for words in SEARCHES:
                window.go(f"{address}/search.html?q={urllib.parse.quote(words)}")
                found[words] = [urllib.parse.urlsplit(link).path.lstrip("/") for link in window.evaluate(FOUND)]
        finally:
            window.close()
        elsewhere = {request for request in window.requests if not request.startswith((address, "data:"))}
    ids = {page: set(what["ids"]) for page, what in seen.items()}
    faults = {page: faults_of(page, what, ids, site) for page, what in seen.items()}
    blocks = 0
    for page, what in seen.items():
        source = page_source(page)
        expected = code_of(source) if source else ["as in the tree"]
        blocks += len(expected)
        if [text.strip("\n") for text in what["code"]] != expected:
            faults[page].append(f"{page}: its code is not that of the tree: {differing(what['code'], expected)}")
    wrong = []
    noticed = faults.pop("defects.html")
    if len(noticed) != 7 or elsewhere != {"http://localhost/x.js"}:
        wrong.append("of the page of defects was noticed only: " + "; ".join([*noticed, *elsewhere]))
    for words, page in SEARCHES.items():
        if page not in [link.partition("#")[0] for link in found[words][:5]]:
            wrong.append(f"the search for '{words}' finds {', '.join(found[words][:5])} first, and not {page}")
    wrong += [fault for page in sorted(faults) for fault in faults[page]]
    print("\n".join(wrong) or f"{len(faults)} pages, {sum(len(what['links']) for what in seen.values())} links, {blocks} blocks of code")
    return 1 if wrong or len(faults) < 30 else 0


def page_source(page):
    """The file of the tree that a page is of."""
    source = ROOT / page.replace(".html", ".md")
    return next((path for path in (source, source.parent / "README.md") if path.is_file() and page != "defects.html"), None)


def differing(got, expected):
    for one, other in zip(got, expected):
        if one.strip("\n") != other:
            return f"{one[:200]!r} instead of {other[:200]!r}"
    return f"{len(got)} blocks instead of {len(expected)}, from {[*got, *expected][min(len(got), len(expected))][:200]!r}"


if __name__ == "__main__":
    sys.exit(main())
