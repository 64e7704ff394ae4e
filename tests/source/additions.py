#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""usage: additions.py <C++ compiler>

What CONTRIBUTING.md says of additions, tried in a copy of the sources: one of each kind, at the place that it names.  What
follows from a table must be there afterwards; what somebody may forget must be an error that says so."""
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COPIED = ("src", "include", "transports", "nvm", "tools/environment_page.py", "docs/environment.md")


class Tree:
    def __init__(self, folder, compiler):
        self.root, self.compiler, self.wrong = pathlib.Path(folder), compiler, []
        for name in COPIED:
            (self.root / name).parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copyfile)(ROOT / name, self.root / name)

    def replace(self, name, old, new):
        """In a file in which `old` occurs once, or the last time that it does."""
        path = self.root / name
        text = path.read_text(encoding="utf-8")
        at = text.rfind(old)
        if at < 0:
            sys.exit(f"additions.py: {name} has no '{old}' any more; adapt this script")
        path.write_text(text[:at] + new + text[at + len(old):], encoding="utf-8")

    def compile(self, what, source, expected=""):
        """`source` is a file of the tree or the text of one.  It must compile or, if something is expected, be refused so."""
        if "\n" in source:
            (self.root / "program.cpp").write_text(source, encoding="utf-8")
            source = "program.cpp"
        includes = [f"-I{self.root / folder}" for folder in ("src", "include", "transports", ".")]
        result = subprocess.run([self.compiler, "-std=gnu++20", "-fsyntax-only", "-Wall", "-Werror", *includes, str(self.root / source)],
                                capture_output=True, text=True, timeout=200)
        if (result.returncode == 0) if expected else (result.returncode != 0):
            self.wrong.append(f"{what}: {source} compiles" if expected else f"{what}: {source}:\n{result.stderr[:3000]}")
        elif expected and expected not in result.stderr:
            self.wrong.append(f"{what}: the error should say '{expected}', and is:\n{result.stderr[:3000]}")


def variable(tree):
    tree.replace("src/base/env.def", "ENV(NVM_ENGINE,", 'ENV(ADDITION, Count, addition, "7", "an addition")\nENV(NVM_ENGINE,')
    page = [sys.executable, tree.root / "tools/environment_page.py"]
    if subprocess.run([*page, "--check"], capture_output=True).returncode == 0:
        tree.wrong.append("variable: environment_page.py --check says nothing of the page that lacks it")
    subprocess.run(page, check=True, capture_output=True)
    if "SHMEM_ADDITION" not in (tree.root / "docs/environment.md").read_text(encoding="utf-8"):
        tree.wrong.append("variable: docs/environment.md does not have it")
    tree.compile("variable", '#include "base/env.hpp"\nauto value(const shm::Env& env) { return env.addition; }\n')


def counter(tree):
    tree.replace("include/shmem/stats.h", '")\n\n/* clang-format on */', '") \\\n  X(addition, "an addition")\n\n/* clang-format on */')
    tree.compile("counter", '#include "base/stats.hpp"\n#include "shmemx.h"\n'
                 "auto value(shmemx_stats_t& stats) { shm::count(shm::Stat::addition); return stats.addition; }\n"
                 "static_assert(sizeof(shmemx_stats_t) == 129 * 8);\n")


def atomic_operation(tree):
    tree.replace("include/shmemx.h", "  ROW(AMO_EXT, _atomic_fetch_min_nbi,    FETCH_OP_NBI)",
                 "  ROW(AMO_EXT, _atomic_fetch_min_nbi,    FETCH_OP_NBI) \\\n  ROW(BITWISE, _atomic_nand, STORE)")
    tree.compile("atomic operation", "src/api/amo.cpp", "_atomic_nand")
    tree.replace("src/base/atomic_op.hpp", "  max\n};\ninline constexpr int kAtomicOps = 10;",
                 "  max,\n  nand\n};\ninline constexpr int kAtomicOps = 11;")
    for source in ("transports/nic/mshr.cpp", "transports/ofi/atomic.cpp"):
        tree.compile("atomic operation", source, "an operation of base/atomic_op.hpp has no row here")


def quirk(tree):
    tree.replace("transports/ofi/quirks.def", 'PROVIDER("sockets",', 'PROVIDER("addition", 0, none, none, none, in_sessions, message, 0, 0, 0, 0, 64, no, "an addition")\n'
                 'PROVIDER("sockets",')
    tree.compile("quirk", "transports/ofi/quirks.cpp")


def algorithm(tree):
    tree.replace("src/coll/algorithms.def", 'ALGORITHM(chain, "chain")', 'ALGORITHM(addition, "addition")\nALGORITHM(chain, "chain")')
    tree.compile("algorithm", "src/coll/choose.cpp", "is in no rule of kRules")
    tree.replace("src/coll/choose.cpp", "    {Collective::scan, true, kAny,", "    {Collective::scan, true, 64, 2, Algorithm::addition},\n    {Collective::scan, true, kAny,")
    tree.compile("algorithm", "src/coll/choose.cpp")


def policy(tree):
    tree.replace("src/pages/policies.def", 'POLICY(vgasnet,', 'POLICY(addition, "addition", true, half)\nPOLICY(vgasnet,')
    tree.compile("policy", "nvm/options.cpp", "has other words than pages/policies.def")
    tree.replace("src/base/env.def", '"2q|vgasnet"', '"2q|addition|vgasnet"')
    tree.compile("policy", "nvm/options.cpp")
    tree.compile("policy", "src/pages/replacement.cpp")


def main(compiler):
    kinds = (variable, counter, atomic_operation, quirk, algorithm, policy)
    with tempfile.TemporaryDirectory(prefix="atoll-additions.") as folder:
        tree = Tree(folder, compiler)
        for kind in kinds:
            kind(tree)
    print("\n".join(tree.wrong) or f"{len(kinds)} additions follow from their tables")
    return 1 if tree.wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
