"""A semi-active device: the pretension changes during the test, and is an input of the network or not."""

from __future__ import annotations

import re

import numpy as np

from vibrid.hybrid.learned.answers import Direct
from vibrid.hybrid.learned.histories import DeviceTest
from vibrid.papers.ocpnn.paper import PAPER
from vibrid.papers.ocpnn.real_models import SEEN, ModelKind, network, predictions
from vibrid.papers.ocpnn.real_tests import INCH, KIP, RATE, Fold, scores, velocity_of
from vibrid.papers.paper import Check, Outcome, Run
from vibrid.report.style import CYCLE, MEASURED, label, legend_above, new_figure, styled

EVERY = 8  # samples at 1024 Hz for one of the network
POUND = 4.448
STROKE, BAND = 0.03 * INCH, 2000 * POUND
"""Scales of the actuators' strokes (m) and forces (N)."""
CAPACITY = (25e3, 18e3)
"""N; the same for all tests, which have the same set-up."""
INPUTS = {
    "nothing": (),
    "positions of the band actuators": (0, 1),
    "their forces too (the answer in disguise)": (0, 1, 2, 3),
}


def read_semi_active(folder) -> tuple[list[str], list[DeviceTest]]:
    """Tests at 128 Hz; the measured inputs are positions (m, relative to the first) and forces (N) of the two
    band actuators of the device. The measured velocity is scaled wrongly and is not used."""
    groups, tests = [], []
    for file in sorted(folder.glob("ds4__*.npz")):
        with np.load(file, allow_pickle=False) as stored:
            data = stored["data"].astype(float)
        x, force = INCH * data[:, 1], KIP * data[:, 2]
        measured = np.concatenate([INCH * (data[:, 4:6] - data[:1, 4:6]), POUND * data[:, 6:8]], axis=1)
        cut = slice(None, None, EVERY)
        tests.append(DeviceTest(file.stem, x[cut], velocity_of(x)[cut], force[cut], measured[cut], CAPACITY))
        groups.append(re.sub("^ds4__|forward$|backward$", "", file.stem))
    return groups, tests


@PAPER.study("semi-active", "Pretension that changes during a test", real_data=True, part="networks")
def semi_active(run: Run) -> Outcome:
    groups, tests = read_semi_active(run.real("brfd"))
    names = sorted(set(groups))
    main = [Fold(name, np.array([g == name for g in groups])) for name in names]
    seeds, epochs = (1, 2) if run.quick else (3, 30)
    if run.quick:
        tests = [t._replace(x=t.x[:512], v=t.v[:512], force=t.force[:512], companion=t.companion[:512]) for t in tests]
    sizes, rows, predicted = np.array([STROKE, STROKE, BAND, BAND]), [], {}
    for words, columns in INPUTS.items():
        inputs = [t._replace(companion=t.companion[:, list(columns)] if columns else t.companion[:, :1]) for t in tests]
        make = network(SEEN, Direct(), 16, (16,), bool(columns), sizes=sizes[list(columns) or [0]], rate=RATE / EVERY)
        kind = ModelKind(make, {"rate": 5e-3, "decay": 0.75, "every": 5}, epochs)
        prediction = predictions(run, f"semi-active, told {words}", kind, inputs, main, [], seeds, np.ones(len(inputs)))
        predicted[words] = prediction
        scored = [
            [scores(t, f, RATE / EVERY) for t, f in zip(inputs, forces, strict=True)] for forces in prediction.forces
        ]
        means = [float(np.mean([s["NRMSE"] for s in seed_scores])) for seed_scores in scored]
        row = {"told": words, "NRMSE, %": float(np.mean(means))}
        row["NRMSE of the seeds, %"] = ", ".join(f"{m:.2f}" for m in means)
        for key, text in (("slow", "below 8 Hz, %"), ("R2", "R²"), ("peak", "peak / measured")):
            row[text] = float(np.mean([s[key] for seed_scores in scored for s in seed_scores]))
        for kind_of in ("harmonic", "step"):
            which = [kind_of in t.name for t in inputs]
            errors = [s["NRMSE"] for seed_scores in scored for s, w in zip(seed_scores, which, strict=True) if w]
            row[f"{kind_of} pretension, %"] = float(np.mean(errors))
        rows.append(row | {"training, s": prediction.seconds})
    without, with_positions = rows[0], rows[1]
    checks = [
        Check("error told nothing / told the positions", f"{without['NRMSE, %'] / with_positions['NRMSE, %']:.2f}"),
        Check("the same, below 8 Hz", f"{without['below 8 Hz, %'] / with_positions['below 8 Hz, %']:.2f}"),
    ]  # fmt: skip
    note = (
        "Twelve tests with one sine of 1 in at 0.5 Hz, whose pretension follows a sine or a step of one or both band "
        "actuators; forward and backward tests of one course are left out together. A controller commands the "
        "positions of the actuators. Their forces react to the drum, so they contain the force of the device itself: a "
        "network with these inputs shows the result of a measurement, not a prediction."
    )
    return Outcome(rows, checks, note, _figure(tests, predicted))


def _figure(tests: list[DeviceTest], predicted: dict):
    shown = next(i for i, t in enumerate(tests) if "step0.03ea2forward" in t.name)
    test, figure = tests[shown], new_figure(9.0, 4.6)
    time = np.arange(len(test.x)) * EVERY / RATE
    with styled():
        upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
        upper.plot(time, 1e-3 * test.force, color=MEASURED, linewidth=1.8, label="measured")
        for colour, words in zip(CYCLE, ("nothing", "positions of the band actuators"), strict=False):
            force = predicted[words].forces[0, shown, : len(time)]
            upper.plot(time, 1e-3 * force, color=colour, linewidth=1.0, label=f"input: {words}")
        upper.set_ylabel(label("force", "kN"))
        for i, name in enumerate(("actuator 1", "actuator 2")):
            lower.plot(time, 1e3 * test.companion[:, i], color=CYCLE[2 + i], label=name)
        lower.set_ylabel(label("position", "mm"))
        lower.set_xlabel(label("time", "s"))
        lower.legend(loc="upper right")
        lower.set_xlim(time[0], time[-1])
    legend_above(figure, upper)
    return figure
