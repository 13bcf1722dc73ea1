"""The real device: every model on tests that were not used to fit it."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.device import on_processor
from vibrid.hybrid.characterise import Search, characterise, forces_of_law
from vibrid.hybrid.learned.histories import DeviceTest, Histories, stack
from vibrid.hybrid.updated import UpdatedLaw
from vibrid.papers.ocpnn.characterisation import candidates
from vibrid.papers.ocpnn.filters import updated_forces
from vibrid.papers.ocpnn.paper import PAPER
from vibrid.papers.ocpnn.real_models import STRETCH, Predicted, kinds, predictions
from vibrid.papers.ocpnn.real_tests import (
    EVERY,
    RATE,
    Fold,
    Named,
    companion_of,
    event_folds,
    folds,
    prepared,
    read_tests,
    scores,
    strong_part,
)
from vibrid.papers.paper import Check, Outcome, Run
from vibrid.report.style import CYCLE, MEASURED, label, legend_above, new_figure, styled

HERTZ = RATE / EVERY
SEEDS = 3
RECOMMENDED = "recommended: mean of both that know the companion's law"
EARTHQUAKE_WEIGHT = 10.0
"""Weight of an earthquake test in training; a harmonic test has 1. There are only three earthquakes."""
WHOLE, STRONG, BELOW = 1.25, 1.4, 2.0
"""Required ratios of the errors of LuGre to those of the network."""
METRICS = {
    "NRMSE": "NRMSE, %", "strong": "strong part, %", "slow": "below 8 Hz, %", "MAE": "MAE, kN", "R2": "R²",
    "TRAC": "TRAC", "energy": "energy / measured", "peak": "peak / measured",
}  # fmt: skip


class DeviceTests:
    """The tests as inputs of models, and the folds."""

    def __init__(self, run: Run):
        named = read_tests(run.real("brfd"))
        if run.quick:
            named = [t for t in named if t.setup == "ds2 36 lb" and (t.setting is None or t.setting[0] == 1.0)]
        self.named: list[Named] = named
        self.companions = [companion_of(t, named) for t in named]
        self.tests: list[DeviceTest] = [prepared(t, c) for t, c in zip(named, self.companions, strict=True)]
        if run.quick:
            cut = lambda p: p._replace(**{n: getattr(p, n)[1024:2048] for n in ("x", "v", "force", "companion")})  # noqa: E731
            self.tests = [cut(p) for p in self.tests]
        self.main: list[Fold] = folds(named)
        self.extra: list[Fold] = event_folds(named)
        self.is_earthquake = np.array([bool(t.event) for t in named])
        self.weights = np.where(self.is_earthquake, EARTHQUAKE_WEIGHT, 1.0)
        self.histories: Histories = jax.tree.map(jnp.asarray, stack(self.tests, STRETCH))


def _data(run: Run) -> DeviceTests:
    return DeviceTests(run)


def _of_laws(run: Run, make, *arguments):
    """`run.once` on the CPU, for laws: their steps are too small for an accelerator."""
    with on_processor():
        return run.once(make, *arguments)


def law_forces(run: Run, name: str) -> tuple[np.ndarray, list]:
    """Forces (tests, samples) of a law that is fitted for each fold on the tests it does not leave out, and the laws.

    A law starts with the first force of a test, which the networks know too.
    """
    data = _of_laws(run, _data)
    law, free = candidates()[name]
    quick: Search = {"population": 5, "generations": 25}
    if run.quick:
        quick = {"population": 2, "generations": 2, "polished": 1}
    forces, fitted = np.zeros(data.histories.force.shape), []
    for fold in data.main:
        run.progress.stage(f"{name} without {fold.name}")
        fit = characterise(
            law, free, data.histories, HERTZ, weights=~fold.left_out, reach=3.0, preloaded=True,
            progress=run.progress, **quick,
        )  # fmt: skip
        fitted.append(fit)
        predicted = np.asarray(forces_of_law(fit.law, data.histories, HERTZ, True))
        forces[fold.left_out] = predicted[fold.left_out]
    return forces, fitted


def companion_forces(run: Run, name: str) -> np.ndarray:
    """Forces (tests, samples) of a law that is fitted to the companion of each test alone: measurements of the
    tested device show its strength and the shape of its loop. Under an earthquake it slips too briefly for that; there
    the harmonic tests of the set-up, none of which its fold leaves out, have the same weight as the companion.
    """
    data = _of_laws(run, _data)
    law, free = candidates()[name]
    quick: Search = {"population": 2, "generations": 2 if run.quick else 8, "polished": 1}
    half = -(-data.histories.samples // 2)  # at half the rate
    forces, fitted = np.zeros(data.histories.force.shape), {}
    run.progress.stage(f"{name} on each companion", len(data.tests))
    for i, (test, companion) in enumerate(zip(data.named, data.companions, strict=True)):
        others = [t for t in data.named if t.setup == test.setup and not t.event] if test.event else []
        known = companion.name, bool(others)
        if known not in fitted:
            known_tests = stack([prepared(t, t, 2 * EVERY) for t in (companion, *others)], half)
            weights = [max(len(others), 1), *[1] * len(others)]
            fitted[known] = characterise(
                law, free, known_tests, HERTZ / 2, weights=weights, reach=2.0, preloaded=True, **quick
            ).law  # fmt: skip
        history = jax.tree.map(lambda leaf, i=i: leaf[i : i + 1], data.histories)
        forces[i] = np.asarray(forces_of_law(fitted[known], history, HERTZ, True))[0]
        run.progress.update(i + 1)
    return forces


SETTINGS = tuple(itertools.product((1e-4, 1e-3, 1e-2), (1e3, 3e3), (0.0, 60.0)))
"""σ_N, √R (N) and corner (Hz) of the filters in the grid."""


def filtered_forces(run: Run) -> tuple[np.ndarray, list]:
    """Forces of LuGre laws that a Kalman filter updates from the companion; its settings are the best of a grid on the
    tests that a fold does not leave out."""
    data, (_, fitted) = _of_laws(run, _data), _of_laws(run, law_forces, "LuGre")
    forces, chosen = np.zeros(data.histories.force.shape), []
    grid = SETTINGS[:2] if run.quick else SETTINGS
    for fold, fit in zip(data.main, fitted, strict=True):
        run.progress.stage(f"Kalman filters without {fold.name}")
        devices = [
            UpdatedLaw(fit.law, process_noise=noise, force_noise=force, corner=corner, memory="mean")
            for noise, force, corner in grid
        ]
        predicted, errors = updated_forces(devices, data.tests, HERTZ), []
        for by_test in predicted:
            nrmse = [scores(t, f)["NRMSE"] for t, f in zip(data.tests, by_test, strict=True)]
            errors.append(np.mean(np.array(nrmse)[~fold.left_out]))
        best = int(np.nanargmin(errors))
        chosen.append(grid[best])
        forces[fold.left_out, : predicted.shape[-1]] = predicted[best][fold.left_out]
    return forces, chosen


def trained(run: Run) -> dict[str, Predicted]:
    """Every kind of network, and the mean of those that know the law of the companion: the recommended committee."""
    data, by_name = _of_laws(run, _data), {}
    for name, kind in kinds().items():
        if run.quick:
            if not kind.law:
                continue
            kind = kind._replace(epochs=2)
        by_name[name] = predictions(
            run, name, kind, data.tests, data.main, data.extra, 1 if run.quick else SEEDS, data.weights,
            _of_laws(run, companion_forces, "backlash"),
        )  # fmt: skip
    both = [prediction for name, prediction in by_name.items() if kinds()[name].law]
    forces, extra, error = (np.mean([prediction[i] for prediction in both], axis=0) for i in range(3))
    seconds = sum(prediction.seconds for prediction in both)
    return {RECOMMENDED: Predicted(forces, extra, error, seconds), **by_name}


def _scored(run: Run, forces) -> list[dict[str, float]]:
    return [scores(test, force) for test, force in zip(_of_laws(run, _data).tests, forces, strict=True)]


def _mean(scored: list[dict], which) -> dict[str, float]:
    return {m: float(np.mean([s[m] for s, chosen in zip(scored, which, strict=True) if chosen])) for m in METRICS}


@PAPER.study("real-device", "Unseen tests of a real device", real_data=True, part="networks")
def real_device(run: Run) -> Outcome:
    data = _of_laws(run, _data)
    everything = np.ones(len(data.tests), bool)
    groups = {"all": everything, "earthquakes": data.is_earthquake, "harmonic": ~data.is_earthquake}
    models: dict[str, list] = {"zero force": [_scored(run, np.zeros(data.histories.force.shape))]}
    for law in ("LuGre", "backlash"):
        models[f"{law}, fitted"] = [_scored(run, _of_laws(run, law_forces, law)[0])]
        models[f"{law}, fitted to the companion"] = [_scored(run, _of_laws(run, companion_forces, law))]
    filtered, settings = _of_laws(run, filtered_forces)
    models["LuGre, Kalman filter"] = [_scored(run, filtered)]
    networks = run.once(trained)
    for name, prediction in networks.items():
        models[name] = [_scored(run, force) for force in prediction.forces]
    rows = []
    for group, which in groups.items():
        for name, runs in models.items():
            means = [_mean(scored, which) for scored in runs]
            row = {"tests": f"{group} ({which.sum()})", "model": name}
            row |= {text: float(np.mean([m[key] for m in means])) for key, text in METRICS.items()}
            if len(runs) > 1:
                row["NRMSE of the seeds, %"] = ", ".join(f"{m['NRMSE']:.2f}" for m in means)
            if name in networks:
                row["training, s"] = networks[name].seconds
            rows.append(row)
    rows += _event_rows(run, data, networks)
    checks = _checks(models, groups)
    pairs = "; ".join(f"{t.name} ← {c.name}" for t, c in zip(data.named, data.companions, strict=True) if t.event)
    settings = "; ".join(f"{s[0]:g}, {s[1] / 1e3:g} kN, {s[2]:g} Hz" for s in dict.fromkeys(settings))
    note = (
        "Each earthquake test is left out by itself, harmonic settings in three groups (all data sets and tensions); "
        "laws are fitted and filters chosen without the tests left out. The measurements are those of a companion, "
        f"another test of the same set-up, from which the capacities are measured too: {pairs}; for a harmonic test "
        "the nearest setting, amplitude before frequency. A test that is left out may be the companion of one that is "
        "not. Of a target test only the motion and the force before it are known. "
        "Kalman filters chosen (σ_N, √R, corner): "
        f"{settings}. Every kind but the paper's is a committee of three networks. Two kinds use a law with backlash "
        "that is fitted to the companion (for an earthquake, also to the harmonic tests of its set-up): one has its "
        "force as an input, one corrects it; the mean of both is recommended. Means over tests; of the networks, over "
        "seeds too. Sizes, epochs and the choice of these two kinds were made with knowledge of the errors of left-out "
        "tests of this set, so expect somewhat larger errors for another device."
    )
    return Outcome(rows, checks, note, _figure(run, data, networks))


def _event_rows(run: Run, data: DeviceTests, networks) -> list[dict]:
    """Tests of an earthquake that was left out of training at every scale."""
    rows = []
    for i, fold in enumerate(data.extra):
        for name, prediction in networks.items():
            results = [scores(data.tests[j], prediction.extra[s, i, j]) for s in range(len(prediction.extra))
                   for j in np.flatnonzero(fold.left_out)]  # fmt: skip
            row = {"tests": f"{fold.name} left out", "model": name}
            rows.append(row | {text: float(np.mean([s[key] for s in results])) for key, text in METRICS.items()})
    return rows


def _checks(models: dict, groups: dict) -> list[Check]:
    """The recommended network against the better of the fitted LuGre laws in each metric, for the worst seed."""
    checks = []
    for group, which in groups.items():
        laws = [_mean(models[name][0], which) for name in models if name.startswith("LuGre, fitted")]
        law = {key: min(means[key] for means in laws) for key in METRICS}
        seeds = [_mean(scored, which) for scored in models[RECOMMENDED]]
        for key, wanted, words in (
            ("NRMSE", WHOLE, "whole records"), ("strong", STRONG, "strong parts"), ("slow", BELOW, "below 8 Hz"),
        ):  # fmt: skip
            factors = [law[key] / seed[key] for seed in seeds]
            checks.append(Check(
                f"{group}, {words}: error of LuGre / of the recommended network, each seed",
                ", ".join(f"{f:.2f}" for f in factors), f"≥ {wanted:g}", bool(min(factors) >= wanted),
            ))  # fmt: skip
    return checks


def _figure(run: Run, data: DeviceTests, networks):
    """The strongest earthquake and a harmonic test: measured, LuGre, recommended network."""
    names = [t.name for t in data.named]
    shown = [names.index("ds2__ImperialValleyMCE"), names.index("ds2__1Hz36lbtension1amplitude")]
    law, figure = _of_laws(run, law_forces, "LuGre")[0], new_figure(9.5, 6.2)
    with styled():
        axes = figure.subplots(2, 2, width_ratios=(1.7, 1))
        for row, i in zip(axes, shown, strict=True):
            test = data.tests[i]
            time, strong = np.arange(len(test.x)) / HERTZ, np.flatnonzero(strong_part(test.v))
            part = slice(strong[0], min(strong[-1], strong[0] + int(4 * HERTZ)))
            lines = (("measured", test.force, MEASURED, 1.8), ("LuGre, fitted", law[i], CYCLE[0], 1.0),
                     ("recommended network", networks[RECOMMENDED].forces[0, i], CYCLE[1], 1.0))  # fmt: skip
            for name, force, colour, width in lines:
                for ax, across in ((row[0], time), (row[1], 1e3 * test.x)):
                    values = np.asarray(force)[: len(time)]
                    ax.plot(across[part], 1e-3 * values[part], color=colour, linewidth=width, label=name)
            row[0].set_title(test.name.removeprefix("ds2__"))
            row[0].set_xlabel(label("time", "s"))
            row[1].set_xlabel(label("deformation", "mm"))
            row[0].set_ylabel(label("force", "kN"))
    legend_above(figure, axes[0, 0])
    return figure
