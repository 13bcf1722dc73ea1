"""Requirements on every method, for two floors with known parameters whose motion is measured completely."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vibrid.conformance.base import Checks, expect, finite
from vibrid.conformance.problems import TWO_GUESS, TWO_TRUTH, TWO_UNKNOWN, two
from vibrid.identification.identify import identify
from vibrid.identification.method import NEEDS, SETTINGS, Method
from vibrid.identification.result import Identification

CHECKS = Checks()


@dataclass(frozen=True)
class MethodExample:
    """A method, and the relative error of its estimates that is accepted at 1 % noise."""

    method: Method
    tolerance: float = 0.03

    @cached_property
    def fit(self) -> Identification:
        """Its result, computed once for all checks."""
        return identify(TWO_GUESS, two(0.01), TWO_UNKNOWN, self.method)


@CHECKS("its abilities are words that problems use")
def declares_abilities(example: MethodExample) -> None:
    for abilities, known in ((example.method.abilities, NEEDS), (example.method.independent_of, SETTINGS)):
        strange = sorted(set(abilities) - set(known))
        expect(not strange, f"{', '.join(strange)} is not one of {', '.join(known)}.")


@CHECKS("finds the parameters of a linear building")
def finds_a_linear_building(example: MethodExample) -> None:
    fit = example.fit
    expect(isinstance(fit, Identification), f"its result is a {type(fit).__name__}, not an Identification.")
    error = np.abs(fit.estimate / TWO_TRUTH - 1.0)
    worst = int(np.argmax(np.where(np.isfinite(error), error, np.inf)))
    observed = f"{fit.names[worst]} is {fit.estimate[worst]:.5g} and should be {TWO_TRUTH[worst]:g}"
    expect(bool(error[worst] <= example.tolerance), f"{observed}, within {100 * example.tolerance:g} %.")


@CHECKS("states its uncertainty", when=lambda example: example.method.uncertainty)
def says_how_sure_it_is(example: MethodExample) -> None:
    fit = example.fit
    finite(fit.deviation, "the standard deviation of an estimate")
    expect(bool((fit.deviation > 0).all()), "a standard deviation is not positive.")
    expect(fit.interval().shape == (4, 2), "there is not one interval for each unknown.")


@CHECKS("its result is complete: names, predictions, table, versions")
def answer_is_whole(example: MethodExample) -> None:
    fit = example.fit
    expect(fit.method == type(example.method).__name__, f"the result names the method '{fit.method}'.")
    expect(fit.names[0] == "storeys[0].stiffness", f"the first unknown is called '{fit.names[0]}'.")
    shapes = [np.shape(prediction) for prediction in fit.predictions]
    expect(shapes == [(401, 6)], f"predictions of 401 samples and 6 sensors were expected, not {shapes}.")
    finite(fit.predictions[0], "a prediction")
    expect("storeys[1].damping" in str(fit) and bool(fit.versions["jax"]), "the printed result lacks an unknown.")
