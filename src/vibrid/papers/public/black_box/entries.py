"""The table of what users of black boxes would pick instead, on the data of the hysteretic Bouc–Wen benchmark."""

from __future__ import annotations

from typing import Any

import numpy as np

from vibrid.core import paths
from vibrid.papers.paper import Check, Outcome
from vibrid.papers.public.benchmark import Benchmark, BenchmarkTrial, load_benchmark
from vibrid.papers.public.black_box.picture import draw_boxes
from vibrid.papers.public.black_box.series import Budget, DrivenSeries
from vibrid.papers.public.black_box.tuning import METHODS, tuned
from vibrid.papers.public.bouc_wen import realisation
from vibrid.papers.public.bouc_wen.entries import OWN_SWEEP, PUBLIC_MULTISINE, public_test, public_training
from vibrid.papers.public.bouc_wen.fitting import (
    BOUC_WEN,
    MASS_AND_DAMPING,
    Stopwatch,
    bouc_wen_of,
    fit_bouc_wen,
    free_run,
    guess,
)

TWICE = "multisine of twice the force, own realisation"
GREY = "vibrid, the law given"

BENCHMARK = Benchmark(
    "black-box",
    "The data of the benchmark bouc-wen: what users of black boxes would pick instead of a law.",
    split="training: the multisine of the benchmark bouc-wen, averaged over its five periods; its last quarter chooses "
    "settings and ends trainings. Test: that of the benchmark, and a multisine of twice the force.",
    metric="rms of the error of the free-run displacement over the rms of the displacement, % (smaller is better)",
    settings="black_box.toml",
    not_run=(
        "published programs of polynomial state spaces and of dynoNet, which take hours of tuning: their published "
        "scores stand at the benchmark bouc-wen. Here every method has the same budget.",
    ),
)

Parts = dict[str, tuple[np.ndarray, np.ndarray, bool]]


def series_of(trial: BenchmarkTrial, u: np.ndarray, y: np.ndarray) -> DrivenSeries:
    return DrivenSeries.periodic(u, y, trial.settings["washout"], trial.settings["training_share"])


def parts_of(trial: BenchmarkTrial) -> Parts:
    """Force, displacement, and whether the motion is steady, of every test part. Every call is a reading."""
    twice = trial.settings["twice"]
    parts: Parts = {PUBLIC_MULTISINE: (*trial.test(PUBLIC_MULTISINE, lambda: public_test(trial)), True)}
    if not trial.quick:
        parts[OWN_SWEEP] = (*trial.test(OWN_SWEEP, realisation.sweep_test), False)
    made = trial.test(TWICE, lambda: realisation.multisine_test(twice["seed"], twice["rms"]))
    return parts | {TWICE: (*made, True)}


def box_errors(
    trial: BenchmarkTrial, name: str, found: dict[str, np.ndarray], series: DrivenSeries, parts: Parts
) -> dict:
    """Errors of the free runs of every seed, %, by part."""
    setting = trial.settings["methods"][name][int(found["setting"])]
    errors = {}
    for part, (u, y, steady) in parts.items():
        lead = trial.settings["washout"] if steady else 0
        driven = np.append(u[len(u) - lead :], u)
        runs = METHODS[name].run(setting, series, found["vectors"], series.scaled(driven))
        errors[part] = [_percent(series.measured(run)[lead:] - y, y) for run in runs]
    return errors


def law_fits(trial: BenchmarkTrial, u: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """The benchmark's own entry: the law given, all parameters guessed wrongly, from every seed."""
    settings, seeds = _of_bouc_wen(), seeds_of(trial)
    found: dict[str, list[Any]] = {"vectors": [], "seconds": []}
    for number, seed in enumerate(seeds):
        trial.progress.stage(f"{GREY}, guess {number + 1} of {len(seeds)}")
        watch = Stopwatch()
        fit = fit_bouc_wen(settings, u, y, guess(seed, settings["guess_factor"]))
        found["seconds"].append(watch.read()[1])
        m, c, k, beta, gamma, n, share = (float(paths.get(fit.structure, n)) for n in (*MASS_AND_DAMPING, *BOUC_WEN))
        alpha = (1.0 - share) * k
        unit = alpha ** (1.0 - n)
        found["vectors"].append([m, c, share * k, alpha, 1.0, beta * unit, gamma * unit, n])
    return {name: np.array(values, float) for name, values in found.items()}


def law_errors(found: dict[str, np.ndarray], parts: Parts) -> dict:
    """Errors of the fitted laws, %, by part."""
    settings, errors = _of_bouc_wen(), {}
    for part, (u, y, steady) in parts.items():
        structures = [bouc_wen_of(realisation.Oscillator(*map(float, vector))) for vector in found["vectors"]]
        errors[part] = [_percent(free_run(settings, structure, u, steady) - y, y) for structure in structures]
    return errors


def trained(trial: BenchmarkTrial, name: str, series: DrivenSeries) -> dict[str, np.ndarray]:
    """A black box with its best setting, from every seed; no test part is read. Stored for a command that resumes."""
    budget = Budget(0.2 if trial.quick else trial.settings["seconds"])
    tries = trial.settings["methods"][name][: 2 if trial.quick else None]
    return trial.resumed(name, lambda: tuned(METHODS[name], tries, series, seeds_of(trial), budget, trial.progress))


def seeds_of(trial: BenchmarkTrial) -> list[int]:
    return trial.settings["seeds"][: 2 if trial.quick else None]


@BENCHMARK.entry("methods", "Four black boxes and the law, one budget, ten seeds", real_data=True)
def methods(trial: BenchmarkTrial) -> Outcome:
    """Everything is trained first; then the test parts are read once."""
    u, y = public_training(trial)
    series = series_of(trial, u, y)
    boxes = {name: trained(trial, name, series) for name in METHODS}
    fitted = trial.resumed("law", lambda: law_fits(trial, u, y))
    parts = parts_of(trial)
    rows = [
        _row(METHODS[name].name, found, found["vectors"].shape[1], box_errors(trial, name, found, series, parts),
             trial.settings["methods"][name][int(found["setting"])])
        for name, found in boxes.items()
    ]  # fmt: skip
    rows.append(_row(GREY, fitted, 7, law_errors(fitted, parts), {"law": "Bouc–Wen"}))
    best = {part: min(rows[:-1], key=lambda row, part=part: row[f"{part}, median"]) for part in parts}
    checks = [
        Check(
            f"{part}: best black box, and the law (median)",
            f"{best[part][f'{part}, median']:.3g} % ({best[part]['method']}), {rows[-1][f'{part}, median']:.2g} %",
        )
        for part in parts
    ]
    return Outcome(rows, checks, _NOTE, draw_boxes(rows, list(parts)))


_NOTE = (
    "Errors in % of the rms of the displacement. Every black box: four settings with the first seed, 20 s of processor "
    "time for one training, the best on the last quarter of the training period trained from ten seeds. Networks are "
    "not at their best after 20 s; longer trainings change their numbers. A seed draws first weights, for pysindy the "
    "bootstrapped rows, for the law the wrong guess of every parameter. diverged: free runs whose error is above the "
    "motion itself, in any part. The law has one thing more: the form of its equation."
)


def _row(label: str, found: dict[str, np.ndarray], parameters: int, errors: dict, setting: dict) -> dict[str, Any]:
    said = ", ".join(f"{key} {value}" for key, value in setting.items())
    row: dict[str, Any] = {"method": label, "setting": said, "parameters": parameters}
    row["processor s, median"] = float(f"{np.median(found['seconds']):.3g}")
    for part, values in errors.items():
        row[f"{part}, median"] = float(f"{np.median(values):.3g}")
        row[f"{part}, worst"] = float(f"{np.max(values):.3g}")
    everything = np.array(list(errors.values()))
    row["diverged"] = int(np.any(~(everything < 100.0), axis=0).sum())
    return row


def _of_bouc_wen() -> dict[str, Any]:
    return BenchmarkTrial(load_benchmark("bouc-wen")).settings


def _percent(off: np.ndarray, y: np.ndarray) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        share = 100.0 * float(np.sqrt(np.mean(np.square(off)) / np.mean(np.square(y))))
    return min(share, 1e6) if np.isfinite(share) else 1e6
