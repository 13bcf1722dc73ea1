"""Our entries to the collection: a grey box where the physics is known, a black box elsewhere; scores of free runs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from vibrid.papers.paper import Outcome
from vibrid.papers.public.benchmark import Benchmark, BenchmarkTrial
from vibrid.papers.public.black_box.series import Budget
from vibrid.papers.public.collection import layouts
from vibrid.papers.public.collection.boxes import StateSpaceBox, fit_cubic, run_cubic
from vibrid.papers.public.collection.layouts import FreeRunData
from vibrid.papers.public.collection.tanks import fit_tanks, levels

_METRIC = "rms of the error of the free run, in the unit of the output, and over its deviation (smaller is better)"
_NOT_HAND = (
    "the published files, which are not at hand: the loader and the entry were run on made-up files of the same layout "
    "alone (tests/papers/test_collection.py), and their SHA-256 is not known.",
)


def _benchmark(name: str, citation: str, split: str) -> Benchmark:
    return Benchmark(name, citation, split=split, metric=_METRIC, settings="collection.toml", not_run=_NOT_HAND)


SILVERBOX = _benchmark(
    "silverbox",
    "T. Wigren & J. Schoukens, Three free data sets for development and benchmarking in nonlinear system "
    "identification, European Control Conference, Zurich 2013: a cubic oscillator of electronics.",
    "as in nonlinear_benchmarks: training 75 % of the multisines; test the rest, and the arrow of growing amplitude.",
)
TANKS = _benchmark(
    "cascaded-tanks",
    "M. Schoukens, P. Mattsson, T. Wigren & J.-P. Noël, Cascaded tanks benchmark combining soft and hard "
    "nonlinearities, Workshop on Nonlinear System Identification Benchmarks, Brussels 2016.",
    "two records of 1024 samples: the first for training, the second for the test.",
)
WIENER_HAMMERSTEIN = _benchmark(
    "wiener-hammerstein",
    "J. Schoukens, J. Suykens & L. Ljung, Wiener–Hammerstein benchmark, 15th IFAC Symposium on System Identification, "
    "Saint-Malo 2009.",
    "as in nonlinear_benchmarks: 100 000 samples for training, 78 800 for the test.",
)
F16 = _benchmark(
    "f16",
    "J.-P. Noël & M. Schoukens, F-16 aircraft benchmark based on ground vibration test data, Workshop on Nonlinear "
    "System Identification Benchmarks, Brussels 2017.",
    "full multisines: level 3 for training, level 4 (validation) for the test; nonlinear_benchmarks has no split.",
)


def _scores(trial: BenchmarkTrial, parts: dict[str, Callable[[], FreeRunData]], run, scored_from: int) -> list[dict]:
    """A row for every test part, each read once."""
    rows = []
    for name, read in parts.items():
        data = trial.test(name, read)
        off = (run(data) - data.y)[scored_from:]
        rms = float(np.sqrt(np.mean(np.square(off))))
        relative = 100.0 * rms / float(np.std(data.y[scored_from:]))
        rows.append(
            {"test part": name, "rms error": float(f"{rms:.4g}"), "of the deviation, %": float(f"{relative:.3g}")}
        )
    return rows


@SILVERBOX.entry("grey-box", "A cubic oscillator, all parameters unknown", real_data=True)
def silverbox(trial: BenchmarkTrial) -> Outcome:
    own = trial.settings["silverbox"]
    data = layouts.silverbox(trial.data, "training").cut(0, own["samples"])
    fitted = fit_cubic(data, own["substeps"], trial.settings["washout"])
    rows = _scores(
        trial,
        {
            name: lambda name=name: layouts.silverbox(trial.data, name)
            for name in ("multisine", "arrow", "arrow within")
        },
        lambda part: run_cubic(fitted, part, own["substeps"]),
        own["scored_from"],
    )
    return Outcome(rows, note=layouts.shas(trial.data, layouts.SILVERBOX))


@TANKS.entry("grey-box", "Torricelli's law with overflow", real_data=True)
def tanks(trial: BenchmarkTrial) -> Outcome:
    own = trial.settings["tanks"]
    values = fit_tanks(layouts.cascaded_tanks(trial.data, "training"), own["highest"], own["substeps"])
    rows = _scores(
        trial,
        {"test": lambda: layouts.cascaded_tanks(trial.data, "test")},
        lambda part: np.asarray(levels(values, part.u, part.step, own["highest"], own["substeps"])),
        own["scored_from"],
    )
    return Outcome(rows, note=layouts.shas(trial.data, layouts.TANKS))


def _black_box(trial: BenchmarkTrial, own: dict, read: Callable[[str], FreeRunData]) -> list[dict]:
    budget = Budget(1.0 if trial.quick else trial.settings["seconds"])
    data = read("training").cut(0, own["samples"])
    box = StateSpaceBox(data, own, trial.settings["washout"], trial.settings["training_share"], budget)
    return _scores(trial, {"test": lambda: read("test")}, box.run, own["scored_from"])


@WIENER_HAMMERSTEIN.entry("black-box", "A polynomial state space", real_data=True)
def wiener_hammerstein(trial: BenchmarkTrial) -> Outcome:
    own = trial.settings["wiener-hammerstein"]
    rows = _black_box(trial, own, lambda part: layouts.wiener_hammerstein(trial.data, part))
    return Outcome(rows, note=layouts.shas(trial.data, layouts.WIENER_HAMMERSTEIN))


@F16.entry("black-box", "A polynomial state space", real_data=True)
def f16(trial: BenchmarkTrial) -> Outcome:
    own = trial.settings["f16"]
    rows = _black_box(trial, own, lambda part: layouts.f16(trial.data, part, own["output"]))
    return Outcome(rows, note=layouts.shas(trial.data, layouts.F16_TRAINING, layouts.F16_TEST))
