"""The method contract, and the honest refusal of what a method cannot do."""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import equinox as eqx
import jax

from vibrid.core.arguments import check_fields
from vibrid.core.errors import InputError, Refusal
from vibrid.core.progress import SILENT, Progress
from vibrid.core.registry import Registry

METHODS = Registry.of("method")

NEEDS = {
    "partial sensors": "not every degree of freedom has displacement, velocity and acceleration measured",
    "latent states": "the laws have states that no sensor reads",
    "path laws": "a law remembers the path of its deformation",
    "unaveraged memory": "a law's memory cannot be averaged over guesses",
    "several records": "there are several records",
    "different loads": "the records bring different loads",
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
"""What a problem can ask of a method, each with the reason in words."""


SETTINGS = ("hold", "substeps", "integrator")
"""What `identify` is told of the way from sample to sample."""


class Method(eqx.Module):
    """A way to answer a `Problem`.

    `abilities` names the needs it can meet; `independent_of` the settings (of `SETTINGS`) that its estimate does not
    depend on, by its construction. The others it honours, or refuses the problem. Predictions, fits and bounds that
    stand beside an estimate are simulated, with all settings.
    """

    abilities: ClassVar[frozenset[str]] = frozenset()
    independent_of: ClassVar[frozenset[str]] = frozenset()
    uncertainty: ClassVar[bool] = True  # whether the answer carries a covariance or samples
    online: ClassVar[bool] = False
    retired: ClassVar[dict[str, str]] = {}  # arguments that are no longer there, and the message for each

    def __new__(cls, *positional, **named):
        for name in named:
            if name in cls.retired:
                raise InputError(cls.retired[name])
        return super().__new__(cls)

    def __init_subclass__(cls, **keywords):
        """Settings are checked against their types before a method looks at their values."""
        super().__init_subclass__(**keywords)
        own = cls.__dict__.get("__check_init__")

        def check(self):
            check_fields(self)
            if own is not None:
                own(self)

        cls.__check_init__ = check

    def solve(self, problem, key: int = 0, progress: Progress = SILENT):
        """Answer the problem with an `Identification`."""
        raise NotImplementedError


def as_method(given) -> Method:
    """A method from what a user wrote: the method itself, its class, or the name that project files use."""
    if isinstance(given, Method):
        return given
    if isinstance(given, str):
        return METHODS[given]()
    if isinstance(given, type) and issubclass(given, Method):
        return given()
    raise InputError(
        f"A method is one such as TrajectoryFit(), or a name such as 'trajectory', not {given!r}; names are "
        f"{', '.join(METHODS)}."
    )


class Sample(NamedTuple):
    """One time sample: readings with a mask, the inputs at its start and end, and the step. Fixed shapes."""

    readings: jax.Array
    present: jax.Array
    before: jax.Array  # inputs at the previous sample
    inputs: jax.Array  # inputs at this sample
    dt: float
    between: jax.Array | None = None  # (pieces, powers, inputs): the way between the two, as `Drive` has it


class Sequential(Method):
    """A method that also runs sample by sample: `state = init(problem)`, `state = step(problem, state, sample)`, …"""

    online: ClassVar[bool] = True

    def init(self, problem, key: int = 0):
        raise NotImplementedError

    def step(self, problem, state, sample: Sample):
        raise NotImplementedError

    def estimate(self, problem, state):
        """Values and standard deviations of the unknowns at a state, physical."""
        raise NotImplementedError

    def doubts(self, problem, state) -> list[str]:
        """Reasons not to trust the estimate, as sentences."""
        return []


def refuse_impossible(problem, method: Method) -> None:
    """Refuse a problem the method cannot answer, with the reason and the methods that could."""
    missing = sorted(problem.needs - method.abilities)
    if missing:
        able = [name for name in METHODS if problem.needs <= METHODS[name].abilities]
        reasons = "; ".join(NEEDS[need] for need in missing)
        could = f"Methods that can: {', '.join(able)}." if able else "No method here can answer all of it at once."
        raise Refusal(f"{type(method).__name__} cannot answer this: {reasons}. {could}")
