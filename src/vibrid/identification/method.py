"""The interface of a method, and the refusal of problems that it cannot solve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias

import equinox as eqx
import jax
import numpy as np

from vibrid.core.arguments import Array, check_fields
from vibrid.core.errors import InputError, Refusal
from vibrid.core.progress import SILENT, Progress
from vibrid.core.registry import Registry

if TYPE_CHECKING:
    from vibrid.identification.problem import Problem
    from vibrid.identification.result import Identification

METHODS = Registry.of("method")

NEEDS = {
    "partial sensors": "displacement, velocity and acceleration are not measured at every degree of freedom",
    "latent states": "the laws have states that no sensor measures",
    "path laws": "a law remembers the path of its deformation",
    "unaveraged memory": "the memory of a law cannot be averaged over several parameter values",
    "several records": "there are several records",
    "different loads": "the records have different loads",
    "missing samples": "samples are missing or held out",
    "sensor delay": "a sensor is delayed",
    "sensor gain": "the gain of a sensor is unknown",
    "sensor offset": "the offset of a sensor is unknown",
    "load offset": "the offset of a measured excitation is unknown",
    "initial state": "the state at the start is unknown",
    "unknown loads": "the history of a load is unknown",
    "unknown noise": "the noise of a sensor is itself an unknown",
    "priors": "an unknown has a prior",
}
"""Abilities that a problem can require of a method, each with the reason in words."""


SETTINGS = ("hold", "substeps", "integrator")
"""Arguments of `identify` for the integration from sample to sample."""


class Method(eqx.Module):
    """A method that solves a `Problem`.

    `abilities` are the needs that it meets; `independent_of` are the settings (of `SETTINGS`) on which its estimate
    does not depend. It uses the other settings, or refuses the problem. The predictions, fits and bounds of its result
    are simulated with all settings.
    """

    abilities: ClassVar[frozenset[str]] = frozenset()
    independent_of: ClassVar[frozenset[str]] = frozenset()
    uncertainty: ClassVar[bool] = True  # whether the result has a covariance or samples
    online: ClassVar[bool] = False
    from_modes: ClassVar[bool] = False  # whether it fits measured modes, which it finds in records without excitation
    retired: ClassVar[dict[str, str]] = {}  # arguments that are no longer there, and the message for each

    def __new__(cls, *positional: Any, **named: Any) -> Self:
        for name in named:
            if name in cls.retired:
                raise InputError(cls.retired[name])
        return super().__new__(cls)

    def __init_subclass__(cls, **keywords: Any) -> None:
        """The types of settings are checked before their values."""
        super().__init_subclass__(**keywords)
        check_values = cls.__dict__.get("__check_init__")

        def check(self: Method) -> None:
            check_fields(self)
            if check_values is not None:
                check_values(self)

        cls.__check_init__ = check

    def solve(self, problem: Problem, key: int = 0, progress: Progress = SILENT) -> Identification:
        """Solve the problem; returns an `Identification`."""
        raise NotImplementedError


if TYPE_CHECKING:
    MethodChoice: TypeAlias = Method | type[Method] | str
else:
    MethodChoice = object  # annotation of the argument `method`; `as_method` checks it


def as_method(given: MethodChoice) -> Method:
    """A method from itself, its class, or its name in project files."""
    if isinstance(given, Method):
        return given
    if isinstance(given, str):
        return METHODS[given]()
    if isinstance(given, type) and issubclass(given, Method):
        return given()
    raise InputError(
        f"A method is an object such as TrajectoryFit(), or a name such as 'trajectory', not {given!r}; the names are "
        f"{', '.join(METHODS)}."
    )


class Sample(NamedTuple):
    """One time sample: readings with a mask, the inputs at its start and end, and the step. Fixed shapes."""

    readings: jax.Array | np.ndarray
    present: jax.Array | np.ndarray
    before: jax.Array | np.ndarray  # inputs at the previous sample
    inputs: jax.Array | np.ndarray  # inputs at this sample
    dt: float
    between: jax.Array | None = None  # (pieces, powers, inputs): polynomials between the two, as in `Drive`


class Sequential(Method):
    """A method that also runs sample by sample: `state = init(problem)`, `state = step(problem, state, sample)`, …"""

    online: ClassVar[bool] = True

    def init(self, problem: Problem, key: int = 0) -> Any:
        raise NotImplementedError

    def step(self, problem: Problem, state: Any, sample: Sample) -> Any:
        raise NotImplementedError

    def estimate(self, problem: Problem, state: Any) -> tuple[Array, Array]:
        """Values and standard deviations of the unknowns at a state, physical."""
        raise NotImplementedError

    def warnings(self, problem: Problem, state: Any) -> list[str]:
        """Messages: reasons why the estimate is uncertain."""
        return []


def refuse_impossible(problem: Problem, method: Method) -> None:
    """Refuse a problem of records that the method cannot solve, with the reason and the methods that can."""
    if method.from_modes:
        raise Refusal(
            f"{type(method).__name__} fits modes, and finds them in ambient vibration: these records have an "
            "excitation, which 'trajectory' and others use."
        )
    missing = sorted(problem.needs - method.abilities)
    if missing:
        known = {name: METHODS[name] for name in METHODS}
        able = [name for name, other in known.items() if problem.needs <= other.abilities and not other.from_modes]
        reasons = "; ".join(NEEDS[need] for need in missing)
        others = f"Methods that can: {', '.join(able)}." if able else "No method can solve all of it at once."
        raise Refusal(f"{type(method).__name__} cannot solve this problem: {reasons}. {others}")
