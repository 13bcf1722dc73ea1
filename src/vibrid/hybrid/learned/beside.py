"""Laws that are fitted to the tests of a training beside its networks: a network must be better than they are."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from vibrid.core.progress import SILENT, Progress
from vibrid.hybrid.characterise import Search, characterise
from vibrid.hybrid.learned.answers import LawLayer, ScaledLaw
from vibrid.hybrid.learned.features import MotionFeatures
from vibrid.hybrid.learned.files import SavedModel
from vibrid.hybrid.learned.histories import DeviceTest
from vibrid.hybrid.learned.model import DeviceModel
from vibrid.hybrid.learned.network import Constant
from vibrid.hybrid.learned.recipes import steepest
from vibrid.laws import Backlash, LuGre

LAWS_BESIDE = ("backlash", "lugre")
_REACH = 3.0  # a parameter lies between e^−3 and e³ times its first guess


def laws_beside(
    tests: Sequence[DeviceTest], rate: float, names: Sequence[str] = LAWS_BESIDE, *, search: Search | None = None,
    progress: Progress = SILENT,
) -> list[SavedModel]:  # fmt: skip
    """Laws with friction, fitted to all tests by a global search, as device models.

    Arguments
        tests: at the rate of the models; each counts with its weight.
        rate: Hz.
        names: of the laws, among `LAWS_BESIDE`.
        search: sizes of the search (see `characterise`).
    """
    made = []
    for name in names:
        progress.stage(f"fitting the {name} law")
        law, free = _first_guess(name, tests)
        weights = [test.weight for test in tests]
        fit = characterise(
            law, free, list(tests), rate, weights=weights, reach=_REACH, progress=progress, **(search or {})
        )
        answer = LawLayer(fit.law, (free[0],))
        size, fastest = (max(float(np.abs(getattr(t, what)).max()) for t in tests) for what in ("x", "v"))
        model = DeviceModel(MotionFeatures(size, fastest), Constant(jnp.zeros(1)), answer, (), rate)
        facts = {"law": name, "values": fit.values, "tests": [t.name for t in tests], "training_error": fit.error}
        made.append(SavedModel(model, steepest(tests), facts))
    return made


def _first_guess(name: str, tests: Sequence[DeviceTest]) -> tuple[ScaledLaw, tuple[str, ...]]:
    """A law of the size of the tests, and its parameters that are searched."""
    force = float(np.mean([t.capacity for t in tests]))
    size, fastest = (max(float(np.abs(getattr(t, what)).max()) for t in tests) for what in ("x", "v"))
    if name == "backlash":
        law = Backlash(force, force, 0.05 * size, 0.12 * size, 1.8, 1.0, 0.01 * force / size, 0.01 * force / fastest)
        free = ("slip_positive", "slip_negative", "play", "take_up", "release", "exponent")
        return ScaledLaw(law, force, ("slip_positive",), ("slip_negative",)), free
    law = LuGre(20 * force / size, force / fastest, force, force, 1.1 * force, 1.1 * force, 0.1 * fastest)
    free = ("bristle_stiffness", "bristle_damping", "coulomb_positive", "coulomb_negative", "static_positive",
            "static_negative", "stribeck_velocity")  # fmt: skip
    strengths = tuple(zip(*((f"{kind}_positive", f"{kind}_negative") for kind in ("coulomb", "static")), strict=True))
    return ScaledLaw(law, force, *strengths), free
