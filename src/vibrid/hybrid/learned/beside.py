"""Rivals of the networks of a training: laws that are fitted to the same tests, and the mean of the networks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import jax.numpy as jnp
import numpy as np

from vibrid.core.progress import SILENT, Progress
from vibrid.hybrid.characterise import characterise
from vibrid.hybrid.learned.answers import LawLayer, ScaledLaw
from vibrid.hybrid.learned.committee import mean_model
from vibrid.hybrid.learned.features import MotionFeatures
from vibrid.hybrid.learned.files import SavedModel
from vibrid.hybrid.learned.histories import DeviceTest
from vibrid.hybrid.learned.model import DeviceModel
from vibrid.hybrid.learned.network import Constant
from vibrid.hybrid.learned.passive import PassivePort
from vibrid.hybrid.learned.recipes import score_tests, steepest
from vibrid.laws import Backlash, LuGre
from vibrid.records.force_scores import ForceScores

LAWS_BESIDE = ("backlash", "lugre")
_REACH = 3.0  # a parameter lies between e^−3 and e³ times its first guess


def laws_beside(
    training: Sequence[DeviceTest], validation: Sequence[DeviceTest], rate: float, names: Sequence[str] = LAWS_BESIDE,
    *, with_all: bool = False, progress: Progress = SILENT,
) -> list[SavedModel]:  # fmt: skip
    """Laws with friction, fitted to the training tests by a global search, as device models.

    Arguments
        training: tests at the rate of the models; each counts with its weight.
        validation: tests by which they are scored; without any, by those for training.
        rate: Hz.
        names: of the laws, among `LAWS_BESIDE`.
        with_all: whether the laws that are returned are fitted to the validation tests too; those that are scored are
            not.
    """
    if not names:
        return []
    every = [*training, *validation] if with_all else training
    made = []
    for name in names:
        progress.stage(f"fitting the {name} law")
        model, facts = _fitted(name, training, rate, progress)
        scores = dataclasses.asdict(ForceScores.mean(score_tests(model, validation or training, told=False)))
        twin = None
        if len(every) > len(training):
            twin, (model, facts) = model, _fitted(name, every, rate, progress)
        made.append(SavedModel(model, steepest(every), {**facts, "scores": scores}, twin))
    return made


def _fitted(name: str, tests: Sequence[DeviceTest], rate: float, progress: Progress) -> tuple[DeviceModel, dict]:
    """A law fitted to tests, as a device model, and facts about it."""
    size, fastest = (max(float(np.abs(getattr(t, what)).max()) for t in tests) for what in ("x", "v"))
    law, free = _first_guess(name, float(np.mean([t.capacity for t in tests])), size, fastest)
    weights = [test.weight for test in tests]
    fit = characterise(law, free, list(tests), rate, weights=weights, reach=_REACH, progress=progress)
    model = DeviceModel(MotionFeatures(size, fastest), Constant(jnp.zeros(1)), LawLayer(fit.law, (free[0],)), (), rate)
    return model, {"law": name, "values": fit.values, "tests": [t.name for t in tests], "training_error": fit.error}


def mean_beside(models: Sequence[SavedModel], tests: Sequence[DeviceTest]) -> list[SavedModel]:
    """The mean of passive networks that were trained from several initial weights, scored by tests as they are; none of
    a single network or of other kinds."""
    if len(models) < 2 or any(type(saved.model.answer) is not PassivePort for saved in models):
        return []
    model = mean_model([saved.model for saved in models])
    twin = mean_model([saved.scored for saved in models]) if models[0].twin is not None else None
    seeds = sorted(saved.facts["seed"] for saved in models)
    scores = dataclasses.asdict(ForceScores.mean(score_tests(model if twin is None else twin, tests, told=False)))
    facts = {**models[0].facts, "seed": seeds, "scores": scores}
    facts["training_error"] = float(np.mean([saved.facts["training_error"] for saved in models]))
    return [SavedModel(model, models[0].stiffness, facts, twin)]


def best_first(models: Iterable[SavedModel]) -> list[SavedModel]:
    """Models in the order of their mean error, whole and strong part."""
    return sorted(models, key=lambda saved: saved.facts["scores"]["nrmse"] + saved.facts["scores"]["strong"])


def _first_guess(name: str, force: float, size: float, fastest: float) -> tuple[ScaledLaw, tuple[str, ...]]:
    """A law of the size of the tests (N, m, m/s), and its parameters that are searched."""
    if name == "backlash":
        law = Backlash(force, force, 0.05 * size, 0.12 * size, 1.8, 1.0, 0.01 * force / size, 0.01 * force / fastest)
        free = ("slip_positive", "slip_negative", "play", "take_up", "release", "exponent")
        return ScaledLaw(law, force, ("slip_positive",), ("slip_negative",)), free
    law = LuGre(20 * force / size, force / fastest, force, force, 1.1 * force, 1.1 * force, 0.1 * fastest)
    free = ("bristle_stiffness", "bristle_damping", "coulomb_positive", "coulomb_negative", "static_positive",
            "static_negative", "stribeck_velocity")  # fmt: skip
    strengths = tuple(zip(*((f"{kind}_positive", f"{kind}_negative") for kind in ("coulomb", "static")), strict=True))
    return ScaledLaw(law, force, *strengths), free
