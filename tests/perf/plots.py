# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of figures: NAME.dat with a column for each curve, and with gnuplot NAME.svg of it."""
import shutil
import subprocess
import sys


class Panel:
    """A picture's part: {curve: {x: y}} over the same kind of x."""

    def __init__(self, title, xlabel, ylabel, curves):
        self.title, self.xlabel, self.ylabel, self.curves = title, xlabel, ylabel, curves

    def places(self):
        return sorted({x for curve in self.curves.values() for x in curve})


def write_data(path, panels):
    """A block a panel, as gnuplot's `index` has them."""
    with open(path, "w", encoding="utf-8") as file:
        for panel in panels:
            file.write(f"# {panel.title}: {panel.ylabel}\n")
            file.write(" ".join(f'"{name}"' for name in [panel.xlabel, *panel.curves]) + "\n")
            for x in panel.places():
                values = [curve.get(x) for curve in panel.curves.values()]
                file.write(" ".join([f"{x:g}", *("?" if y is None else f"{y:.6g}" for y in values)]) + "\n")
            file.write("\n\n")


def script(data, picture, panels, logarithmic):
    yield f"set terminal svg size {120 + 480 * len(panels)},420 background 'white'"
    yield f"set output '{picture}'"
    yield "set datafile missing '?'; set style data linespoints; set grid y; set key below noenhanced; set logscale x 2"
    yield "set logscale y" if logarithmic else "set yrange [0:*]"
    yield f"set multiplot layout 1,{len(panels)}"
    for index, panel in enumerate(panels):
        ticks = ", ".join(f"'{label(x)}' {x:g}" for x in panel.places())
        yield f"set title '{panel.title}' noenhanced; set xlabel '{panel.xlabel}'; set ylabel '{panel.ylabel}'"
        yield f"set xtics ({ticks})"
        yield "plot " + ", ".join(f"'{data}' index {index} using 1:{place} title columnheader({place}) lw 2"
                                  for place in range(2, 2 + len(panel.curves)))
    yield "unset multiplot"


def label(x):
    """4096 as 4k."""
    for unit, name in ((1 << 20, "m"), (1 << 10, "k")):
        if x >= unit and x % unit == 0:
            return f"{x // unit:g}{name}"
    return f"{x:g}"


def draw(name, panels, logarithmic=False):
    data, picture = f"{name}.dat", f"{name}.svg"
    write_data(data, panels)
    if shutil.which("gnuplot") is None:
        print(f"no picture without gnuplot (Debian: gnuplot-nox); the figures are in {data}", file=sys.stderr)
        return
    result = subprocess.run(["gnuplot"], input="\n".join(script(data, picture, panels, logarithmic)) + "\n", text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
    if result.returncode != 0:
        sys.exit(f"gnuplot could not draw {picture}: {result.stdout.strip()}")
    print(f"{data} has the figures, {picture} shows them")
