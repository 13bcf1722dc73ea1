"""A live plot while a test runs: parameters with ± 2σ as the samples arrive.

python examples/online_live_plot.py              # a window, four times real speed
python examples/online_live_plot.py live.png     # no window: the last plot in a file
"""

import sys
from pathlib import Path

import matplotlib
import numpy as np

import vibrid as vb
from vibrid.identification.online.live import LiveRun, live_problem
from vibrid.project import load_project
from vibrid.records.streams import replay

PROJECT = Path(__file__).parent / "masing-damper.toml"
EVERY = 25  # samples between plots


def main(file: str | None) -> None:
    if file:
        matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    project = load_project(PROJECT)
    test = project.measure(project.simulate())
    first = vb.Record(test.data[:20], test.channels, step=test.step)
    run = LiveRun(project.method, live_problem(project.structure, project.sensors, project.unknown, first))
    names, units = run.problem.unknowns.names, run.problem.unknowns.units
    true_values = [float(vb.core.paths.get(project.structure, name)) for name in names]
    figure, axes = plt.subplots(len(names), 1, sharex=True, figsize=(8, 7), layout="constrained")
    times, path, band, last = [], [], [], None
    for arrival in replay(test.data, test.step, np.inf if file else 4.0):
        x, force = arrival.values
        velocity = 0.0 if last is None else (x - last) / test.step
        last = x
        run.feed([x, velocity], [force])
        if arrival.number % EVERY == 0:
            values, deviations = run.estimate()
            times.append(arrival.time)
            path.append(values)
            band.append(2 * deviations)
            if not file:
                draw(axes, times, np.array(path), np.array(band), true_values, names, units)
                plt.pause(0.001)
    draw(axes, times, np.array(path), np.array(band), true_values, names, units)
    if file:
        figure.savefig(file, dpi=100)
    else:
        plt.show()


def draw(axes, times, path, band, true_values, names, units) -> None:
    for i, ax in enumerate(axes):
        ax.clear()
        ax.axhline(true_values[i], color="#009e73", linestyle=":", label="true")
        ax.plot(times, path[:, i], color="#0072b2", label="estimate")
        low, high = path[:, i] - band[:, i], path[:, i] + band[:, i]
        ax.fill_between(times, low, high, color="#0072b2", alpha=0.2, label="± 2σ")
        ax.set_ylim(0.0, 2.5 * true_values[i])
        ax.set_ylabel(f"{names[i].removeprefix('law.')}\n[{units[i] or '-'}]")
    axes[0].legend(ncols=3, loc="upper right")
    axes[-1].set_xlabel("time [s]")


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else None)
