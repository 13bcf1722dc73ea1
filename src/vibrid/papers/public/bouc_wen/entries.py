"""Our entries to the hysteretic Bouc–Wen benchmark."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vibrid.identification.identify import identify
from vibrid.identification.methods.trajectory import TrajectoryFit
from vibrid.papers.paper import Check, Outcome
from vibrid.papers.public.benchmark import Benchmark, BenchmarkTrial, DataFile, PublishedScore
from vibrid.papers.public.bouc_wen import realisation
from vibrid.papers.public.bouc_wen.choice import judge_laws
from vibrid.papers.public.bouc_wen.fitting import MASS_AND_DAMPING, Stopwatch, fit_bouc_wen, free_run, guess, piece, rms
from vibrid.papers.public.bouc_wen.realisation import PERIOD, RATE

_SOURCE = (
    "Public data of the benchmark are at https://www.nonlinearbenchmark.org; this file holds the arrays u (N), y (m) "
    "and rate (Hz) of the multisine in the repository of dynoNet (https://github.com/forgi86/dynonet)."
)
TRAINING = DataFile(
    "bouc_wen_train_multisine.npz", "5dc96041b2b6f68c70f3f7b8b4031ce4229ae7e2c131ea596dc80909d614dd30", _SOURCE
)
TEST = DataFile(
    "bouc_wen_test_multisine.npz", "020907d6ab6a92eba91e12599f8f83b0b2b79d6c55a93c3f157c140a14413110", _SOURCE
)
PUBLIC_MULTISINE, OWN_MULTISINE, OWN_SWEEP = (
    "multisine, public file",
    "multisine, own realisation",
    "sweep, own realisation",
)

BENCHMARK = Benchmark(
    "bouc-wen",
    "J.-P. Noël & M. Schoukens, Hysteretic benchmark with a dynamic nonlinearity, Workshop on Nonlinear System "
    "Identification Benchmarks, Brussels 2016.",
    split="training: multisine 5–150 Hz of 50 N rms, five periods of 8192 samples at 750 Hz, noise of 8e-3 mm rms. "
    "Test, without noise: one steady period of another multisine, and a sine sweep 20–50 Hz of 40 N from rest.",
    metric="rms of the error of the free-run displacement, m (smaller is better)",
    settings="bouc_wen.toml",
    published=(
        PublishedScore("PNLSS, multisine", 1.87e-5, "Esfahani et al., Mech. Syst. Signal Process. 104, 2018"),
        PublishedScore("dynoNet, multisine", 4.5e-5, "Forgione & Piga, Int. J. Adapt. Control 35, 2021"),
    ),
    not_run=(
        "the published file of the sweep is not at hand. Its 153 000 samples last longer than the 180 s of a sweep "
        "from 20 to 50 Hz at 10 Hz/min; our own realisation has 135 000 samples.",
    ),
)


def _arrays(path: Path) -> tuple[np.ndarray, np.ndarray]:
    with np.load(path, allow_pickle=False) as data:
        return np.asarray(data["u"], float), np.asarray(data["y"], float)


def public_training(trial: BenchmarkTrial) -> tuple[np.ndarray, np.ndarray]:
    """Force of a period, and the displacement averaged over the periods: the force is the same in all of them."""
    u, y = _arrays(trial.file(TRAINING))
    return u[:PERIOD], y.reshape(-1, PERIOD).mean(axis=0)


def public_test(trial: BenchmarkTrial) -> tuple[np.ndarray, np.ndarray]:
    """The file of the multisine test; to be called by `trial.test` alone."""
    return _arrays(trial.file(TEST))


def own_training(trial: BenchmarkTrial) -> tuple[np.ndarray, np.ndarray]:
    recipe = trial.settings["realisation"]
    u, y = realisation.training(recipe["training"], recipe["periods"], recipe["noise_rms"])
    return u, y.mean(axis=0)


def test_parts(trial: BenchmarkTrial, public: bool) -> dict[str, tuple[np.ndarray, np.ndarray, bool]]:
    """The test parts: force, displacement, and whether the motion is steady. Every call is a reading."""
    seed = trial.settings["realisation"]["test"]
    parts = {}
    if public:
        parts[PUBLIC_MULTISINE] = (*trial.test(PUBLIC_MULTISINE, lambda: public_test(trial)), True)
    else:
        made = trial.test(OWN_MULTISINE, lambda: realisation.multisine_test(seed))
        parts[OWN_MULTISINE] = (*made, True)
    if not trial.quick:
        parts[OWN_SWEEP] = (*trial.test(OWN_SWEEP, realisation.sweep_test), False)
    return parts


def scores(trial: BenchmarkTrial, structure, parts) -> dict[str, float]:
    """The rms error of a structure's free run on every test part, m."""
    return {
        f"{name} (m)": rms(free_run(trial.settings, structure, u, steady) - y) for name, (u, y, steady) in parts.items()
    }


def given_law(trial: BenchmarkTrial, u: np.ndarray, y: np.ndarray, public: bool) -> Outcome:
    """Fits from every seed's guess first; then the test parts are read once and all fits are scored."""
    settings = trial.settings
    seeds = settings["seeds"][: 1 if trial.quick else None]
    fits, rows = [], []
    for number, seed in enumerate(seeds):
        trial.progress.stage(f"guess {number + 1} of {len(seeds)}")
        watch = Stopwatch()
        fits.append(fit_bouc_wen(settings, u, y, guess(seed, settings["guess_factor"])))
        wall, cpu = watch.read()
        rows.append({"seed of the guess": seed, "s": round(wall, 1), "processor s": round(cpu, 1)})
    parts = test_parts(trial, public)
    rows = [row | scores(trial, fit.structure, parts) for row, fit in zip(rows, fits, strict=True)]
    worst = {name: max(row[f"{name} (m)"] for row in rows) for name in parts}
    slowest = max(row["processor s"] for row in rows[1:] or rows)
    checks = [
        Check(f"worst of {len(rows)} guesses, {name}", f"{value:.2g} m", "≤ 1e-6 m", value <= 1e-6)
        for name, value in worst.items()
    ]
    checks.append(Check("slowest fit, once compiled, processor time", f"{slowest:.1f} s", "≤ 10 s", slowest <= 10))
    return Outcome(
        rows,
        checks,
        "Mass, damping, both stiffnesses, both shapes and the exponent are unknown, each guess off by a factor between "
        "1/3 and 3. The first row includes compilation. Times were measured on a machine shared with other work.",
    )


@BENCHMARK.entry("own-realisation", "The law given, our own realisation of training and test")
def own_realisation(trial: BenchmarkTrial) -> Outcome:
    return given_law(trial, *own_training(trial), public=False)


@BENCHMARK.entry("public-files", "The law given, public files of training and multisine test", real_data=True)
def public_files(trial: BenchmarkTrial) -> Outcome:
    return given_law(trial, *public_training(trial), public=True)


@BENCHMARK.entry("chosen-law", "The law not given: chosen among five by held-out likelihood", real_data=True)
def chosen_law(trial: BenchmarkTrial) -> Outcome:
    settings, (u, y) = trial.settings, public_training(trial)
    judged = judge_laws(settings, u, y, RATE, trial.progress)
    best = judged[0]
    assert best.fit is not None
    simulation = settings["simulation"]
    fit = identify(
        best.fit.structure, piece(u, y, simulation["lead"]), [*MASS_AND_DAMPING, *best.candidate.unknown],
        TrajectoryFit(segments=1), hold=simulation["hold"], substeps=simulation["substeps"], checks="none",
    )  # fmt: skip
    found = scores(trial, fit.structure, test_parts(trial, public=True))
    rows = [
        {
            "law": j.candidate.name,
            "unknowns": 2 + len(j.candidate.unknown),
            "training rms (m)": j.training_rms,
            "held-out rms (m)": j.held_out_rms,
            "held-out ln likelihood per sample": j.likelihood,
        }
        for j in judged
    ]
    checks = [Check("law chosen", best.candidate.name)]
    checks += [Check(name, f"{value:.2g} m", "≤ 1e-5 m", value <= 1e-5) for name, value in found.items()]
    return Outcome(
        rows,
        checks,
        "Each law is fitted to the first half of the training period and judged on the second half, from a start that "
        "the frequency response gives: no parameter is given. The chosen one is fitted to the whole period before the "
        "test part is read; only it is scored on the test part.",
    )
