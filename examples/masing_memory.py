"""Figure of the memory of a Masing law: the stored turning points, and the two curves that give the force.

python examples/masing_memory.py docs/figures/masing-memory.png
"""

import itertools
import sys

import numpy as np

import vibrid as vb
from vibrid.report.save import save_figure
from vibrid.report.style import CYCLE, MEASURED, RESIDUAL, new_figure, styled

TURNS = [0.0, 6.0, -3.0, 4.0, 0.5, 3.0, 1.5]
LAW = vb.Masing(stiffness=4.0, distribution=vb.laws.RayleighYield(3.0), ductility=2.5)


def main(path: str) -> None:
    x = np.concatenate([np.linspace(a, b, 60, endpoint=False) for a, b in itertools.pairwise(TURNS)])
    record = vb.Record(x, [vb.Channel("x", "imposed_displacement")], step=0.01)
    response = vb.simulate(vb.Device(LAW), record)
    force, memory = response.part("device")[1], response.states[0][0]
    n = int(memory.count[-1, 0])
    kept = memory.extremes[-1, 0, :n]
    at = [int(np.argmin(np.abs(x - e) + 1e3 * (np.arange(len(x)) % 60 > 1))) for e in kept]
    virgin = memory.count[:, 0] == 0
    figure = new_figure(9.0, 3.6)
    with styled():
        left, right = figure.subplots(1, 2)
        for ax, horizontal, vertical in ((left, np.arange(len(x)) / 60, x), (right, x, force)):
            ax.plot(horizontal, vertical, color=MEASURED, linewidth=1.2, label="curve 2, stretched twice")
            ax.plot(horizontal, np.where(virgin, vertical, np.nan), color=RESIDUAL, linewidth=2.4, label="virgin curve")
            for i, place in enumerate(at):
                ax.plot(horizontal[place], vertical[place], "o", color=CYCLE[0], markersize=6)
                ax.annotate(f"E{i}", (horizontal[place], vertical[place]), xytext=(6, 5), textcoords="offset points")
            ax.plot(horizontal[-1], vertical[-1], "s", color="black", markersize=6)
        left.margins(y=0.12)
        left.set(xlabel="path", ylabel="deformation x", title=f"{n} turning points are stored (dots)")
        right.set(xlabel="deformation x", ylabel="force f", title="each leg starts at the last dot")
        right.legend(loc="lower right")
    save_figure(figure, path)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "masing-memory.png")
