# SPDX-License-Identifier: BSD-3-Clause
"""Scripts that consist of experiments: what they measure, how it is judged, and how they are run.

An experiment is a function of the options and the verdicts.  It prints its figures, adds what it judges to the verdicts,
and returns the arguments of plots.draw() but for the path, or None."""
import statistics
import sys
import time

import arguments
import plots


class Figures:
    """What was measured: the median of the rounds, by any key."""

    def __init__(self):
        self.found = {}

    def note(self, key, value):
        self.found.setdefault(key, []).append(value)

    def __getitem__(self, key):
        return statistics.median(self.found[key])

    def __contains__(self, key):
        return key in self.found


class Verdicts:
    """Ratios beside targets.  What is judged of several is the geometric mean or, if `each` is to meet the target, the
    worst."""

    def __init__(self):
        self.rows = []

    def at_least(self, what, ratios, target, paper="", each=False):
        mean = statistics.geometric_mean(ratios)
        self.rows.append((what, mean, ratios, f">= {target:g}", (min(ratios) if each else mean) >= target, paper))

    def at_most(self, what, ratios, target, paper="", each=False):
        mean = statistics.geometric_mean(ratios) if min(ratios) > 0 else statistics.mean(ratios)
        self.rows.append((what, mean, ratios, f"<= {target:g}", (max(ratios) if each else mean) <= target, paper))

    def show(self):
        print(f"\n{'ratio':<54}{'measured':>10}{'least':>9}{'most':>9}{'target':>9}  {'':<8}paper")
        for what, mean, ratios, target, met, paper in self.rows:
            print(f"{what:<54}{mean:>10.3g}{min(ratios):>9.3g}{max(ratios):>9.3g}{target:>9}  "
                  f"{'ok' if met else 'MISSED':<8}{paper}".rstrip())

    def missed(self):
        return sum(not row[4] for row in self.rows)


def add_options(parser, names, default=None):
    """--only of these names, and what all such scripts have."""
    def listed(text):
        found = text.split(",")
        for word in found:
            if word not in names:
                raise arguments.argparse.ArgumentTypeError(f"'{word}' is none of {', '.join(names)}")
        return found

    default = list(names if default is None else default)
    without = [name for name in names if name not in default]
    parser.add_argument("--only", type=listed, default=default,
                        help=f"these, with commas (default all{' but ' + ', '.join(without) if without else ''})")
    parser.add_argument("--rounds", type=arguments.whole, default=3, help="runs of each, in turn (default 3)")
    parser.add_argument("--out", help=f"write OUT-{default[0]}.dat, OUT-{default[0]}.svg and so on")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a target is missed")


def run(options, known):
    """Those of `known`, by name, that were asked for; returns the exit code."""
    verdicts = Verdicts()
    started = time.monotonic()
    for name in options.only:
        picture = known[name](options, verdicts)
        sys.stdout.flush()
        if picture is not None and options.out:
            plots.draw(f"{options.out}-{name}", *picture)
    verdicts.show()
    print(f"\nmedian of {options.rounds} runs of each, in turn; {time.monotonic() - started:.0f} s")
    return 1 if options.check and verdicts.missed() else 0
