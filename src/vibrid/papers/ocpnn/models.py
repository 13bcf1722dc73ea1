"""Models of the damper of the second storey: networks trained on pairs of tests, and laws.

Every network is trained on the same pairs. "data-driven" and "physics-based" are the recommended recipes (a network
that predicts the force, or σ₀ and σ₁ of the LuGre law that fits the training tests), "offline" uses no measurements of
the tested device, and "corrected" adds a bounded correction to that law. The first-storey test of a pair is used in
training as well: it is another test of the same specimen, under larger motions.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from vibrid.core.device import on_processor
from vibrid.core.errors import FileProblem
from vibrid.core.files import make_folder
from vibrid.hybrid.characterise import Search, characterise
from vibrid.hybrid.device import LawDevice, LoopDevice
from vibrid.hybrid.learned.along import along
from vibrid.hybrid.learned.answers import ScaledLaw
from vibrid.hybrid.learned.files import SavedModel, load_model, save_model
from vibrid.hybrid.learned.histories import DeviceTest
from vibrid.hybrid.learned.recipes import Recipe, forces, train_models
from vibrid.hybrid.updated import UpdatedLaw
from vibrid.networks.checkpoint import fingerprint
from vibrid.papers.ocpnn.as_published import published_filter
from vibrid.papers.ocpnn.characterisation import HELD, lugre
from vibrid.papers.ocpnn.filters import FORCE, PROCESS, errors, updated_forces
from vibrid.papers.ocpnn.kept import stored_settings
from vibrid.papers.ocpnn.pairs import COMPANION_SIGNALS, Pair, pairs_of
from vibrid.papers.ocpnn.paper import side_by_side, trained_folder
from vibrid.papers.ocpnn.suite import HAZARD, real_suite, synthetic_suite
from vibrid.papers.paper import Run
from vibrid.records.force_scores import ForceScores, force_scores

RATE, EVERY = 1024.0, 4
SEEDS = 3
RECIPES = {
    "data-driven": Recipe(network="resonant"),
    "physics-based": Recipe(answer="law-layer", span=3.0, epochs=60),
    "offline": Recipe(network="resonant", uses_companion=False),
    "corrected": Recipe(answer="corrected", bound=1.0, epochs=60),
}


class PairsByUse(NamedTuple):
    """Pairs of tests by their use."""

    training: list[Pair]
    validation: list[Pair]
    held_out: list[Pair]


def data(run: Run, kind: str) -> PairsByUse:
    """Pairs from "real" or "synthetic" motions."""
    suite = real_suite(run) if kind == "real" else synthetic_suite()
    if run.quick:
        suite = suite.first(2, 1, 2)
    return PairsByUse(**pairs_of(run, suite))


def training_tests(pairs: list[Pair]) -> list[DeviceTest]:
    """Both tests of every pair, at the rate of the networks."""
    return [pair.test(EVERY, swapped) for swapped in (False, True) for pair in pairs]


def recipe_of(run: Run, name: str) -> Recipe:
    epochs = 4 if run.quick else RECIPES[name].epochs
    return RECIPES[name].replace(epochs=epochs, every=max(epochs // 25, 1))


def networks(run: Run, kind: str, name: str, seeds: tuple[int, ...] = ()) -> list[SavedModel]:
    """A network trained on pairs, from several initial weights, the best on the validation tests first."""
    return kept_networks(
        run, kind, recipe_of(run, name), lambda: training_tests(run.once(data, kind).training), seeds=seeds
    )


def kept_networks(
    run: Run, kind: str, recipe: Recipe, tests: Callable[[], list[DeviceTest]], *, seeds: tuple[int, ...] = (),
    words: tuple[str, ...] = (),
) -> list[SavedModel]:  # fmt: skip
    """Networks from several initial weights, the best on the validation tests first.

    Networks trained before, with the same recipe on the same motions, are read from `trained_folder()`; `words`
    identify the tests that `tests` returns in addition to the pairs.
    """
    motions = [f"{p.motion} {p.capacity:g}" for pairs in run.once(data, kind) for p in pairs]
    by_law = recipe.answer != "direct"
    purpose = (kind, stored_settings(recipe), motions, HAZARD.name, *(["on the fitted law"] if by_law else []), *words)
    files = {
        seed: trained_folder() / f"ocpnn-{fingerprint(*purpose, seed)}.npz"
        for seed in seeds or range(1 if run.quick else SEEDS)
    }
    missing = [seed for seed, file in files.items() if not file.exists()]
    unsaved = {}
    if missing:
        law = run.once(fitted_lugre, kind) if by_law else None
        validation = [p.test(EVERY) for p in run.once(data, kind).validation]
        make_folder(trained_folder())
        for saved in train_models(
            recipe,
            tests(),
            validation,
            law=law,
            companion_names=COMPANION_SIGNALS,
            seeds=missing,
            progress=run.progress,
        ):
            try:
                save_model(files[saved.facts["seed"]], saved)
            except FileProblem as problem:
                warnings.warn(f"{problem} The model is used, but not saved.", RuntimeWarning, stacklevel=2)
                unsaved[saved.facts["seed"]] = saved
    with on_processor():
        models = [unsaved.get(seed) or load_model(file) for seed, file in files.items()]
        return sorted(models, key=lambda saved: saved.facts["scores"]["nrmse"])


def fitted_lugre(run: Run, kind: str) -> ScaledLaw:
    """The LuGre law fitted to all training tests."""
    tests = training_tests(run.once(data, kind).training)
    search: Search = {"population": 4, "generations": 12}
    if run.quick:
        search = {"population": 2, "generations": 1, "polished": 1}
    with on_processor():
        return characterise(lugre(), HELD, tests, RATE / EVERY, progress=run.progress, **search).law


def laws(run: Run, kind: str) -> dict[str, Callable[[float], LoopDevice]]:
    """Devices without a network, by the capacity (N) they are set for."""
    fitted = run.once(fitted_lugre, kind)

    def fixed(law: ScaledLaw):
        return lambda capacity: LawDevice(law.scaled(np.array([capacity, capacity]), {})[0])

    return {
        "LuGre, fitted": fixed(fitted),
        "LuGre, Table 1": fixed(lugre()),
        "CUKF": tuned_filter(run, kind),
        "CUKF, settings of the paper": lambda capacity: published_filter(lugre(), capacity),
    }


def tuned_filter(run: Run, kind: str) -> Callable[[float], UpdatedLaw]:
    """The Kalman filter with the smallest error on the validation pairs."""
    tests = [pair.test() for pair in run.once(data, kind).validation]
    sizes = list(itertools.product(PROCESS, FORCE))[:: 9 if run.quick else 1]
    best: tuple[float, ScaledLaw, dict] = (np.inf, lugre(), {})
    with on_processor():
        for law, (corner, memory) in itertools.product(
            (run.once(fitted_lugre, kind), lugre()), ((20.0, "each"), (60.0, "each"), (0.0, "mean"))
        ):
            devices = [UpdatedLaw(law, process_noise=q, force_noise=r, corner=corner, memory=memory) for q, r in sizes]
            missed = [np.mean(errors(tests, predicted)) for predicted in updated_forces(devices, tests)]
            i = int(np.nanargmin(missed))
            if missed[i] < best[0]:
                noise = {"process_noise": sizes[i][0], "force_noise": sizes[i][1]}
                best = float(missed[i]), law, {**noise, "corner": corner, "memory": memory}
            run.progress.stage(f"filters: {best[0]:.2f} % with {best[2]}")
    return lambda capacity: UpdatedLaw(best[1], capacity, **best[2])


def law_forces(run: Run, make: Callable[[float], LoopDevice], pairs: list[Pair]) -> list[np.ndarray]:
    """Forces of a law for pairs at 1024 Hz, at the samples at which networks are scored."""

    def force_of(pair: Pair):
        return np.asarray(along(make(pair.capacity), pair.test(), RATE).force)[EVERY - 1 :: EVERY]

    run.progress.stage("forces of the laws", len(pairs))
    return side_by_side(force_of, [(pair,) for pair in pairs], run.progress)


def network_forces(saved: SavedModel, tests: list[DeviceTest]) -> list[np.ndarray]:
    with on_processor():
        return forces(saved.model, tests)


def scores(predicted: list[np.ndarray], tests: list[DeviceTest]) -> list[ForceScores]:
    return [force_scores(f, t.force, t.v) for f, t in zip(predicted, tests, strict=True)]
