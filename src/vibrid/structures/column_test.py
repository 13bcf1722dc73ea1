"""A reinforced-concrete column in a testing machine: its top is moved, the lateral force is the response."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.parameters import Parameter, parameter, refuse_lists
from vibrid.laws.base import Law
from vibrid.structures.base import STRUCTURES
from vibrid.structures.device import IMPOSED, ImposedTest
from vibrid.structures.fiber_checks import refuse_lost_sections
from vibrid.structures.fiber_elements import ForceElement, Settled
from vibrid.structures.integration import HINGES, RULES, along_member
from vibrid.structures.model import Loads, Model
from vibrid.structures.nodes import as_choice
from vibrid.structures.sections import ReinforcedSection, gather_fibres

_LOAD_STEPS = 10


@STRUCTURES.register("column-test")
class ColumnTest(ImposedTest):
    """A column of fibre sections under an axial force and an imposed displacement of its top.

    A force-based member with one unknown force: the lateral force V gives the moments `V (L − x)` of a cantilever or
    `V (L/2 − x)` of a column held against rotation at both ends, and the axial force is the same in every section. No
    P-Δ.

    Arguments
        section: its `ReinforcedSection`.
        height: m.
        axial_force: N, compression positive; applied before the test and held.
        top: "free" (default) or "clamped".
        integration, points, hinges: as of a `FrameMember`; one hinge length for both ends.
        iterations: of the state determination in one step.
        softening: as of a `FiberFrame`.

    Sensors read `element_force` at "column".
    """

    section: ReinforcedSection
    height: Parameter = parameter("height of the column", "m", positive=True)
    axial_force: Parameter = parameter("axial force, compression positive", "N", default=0.0)
    top: str = eqx.field(static=True, converter=as_choice("top", "free", "clamped"), default="free")
    integration: str = eqx.field(static=True, converter=as_choice("integration", *RULES), default=HINGES)
    points: int = eqx.field(static=True, default=5)
    hinges: Parameter = parameter("plastic-hinge length", "m", positive=True, default=float("nan"))
    iterations: int = eqx.field(static=True, default=4)
    softening: str = eqx.field(static=True, converter=as_choice("softening", "refuse", "allow"), default="refuse")
    place: ClassVar[str] = "column"

    def __check_init__(self) -> None:
        refuse_lists(self, "A column test", "height", "axial_force", "hinges")

    def specimen(self) -> Law:
        law = self._law()
        state = _settle(law)
        return dataclasses.replace(law, settled=Settled(jnp.zeros(1), state))

    def _law(self) -> ForceElement:
        hinge = jnp.where(jnp.isnan(self.hinges), 0.5 * self.section.depth, self.hinges)
        places, weights = along_member(self.integration, self.points, self.height, jnp.stack([hinge, hinge]))
        arm = self.height * ((1.0 if self.top == "free" else 0.5) - places)
        zero = jnp.zeros_like(places)
        return ForceElement(
            fibres=gather_fibres(self.section),
            axial=zero[:, None],
            bending=arm[:, None],
            weights=weights * self.height,
            loads=jnp.stack([zero - self.axial_force, zero]),
            settled=None,
            iterations=self.iterations,
            components=1,
        )

    def laws(self) -> list[Law]:
        return [self._law()]

    def built(self, loads: Loads = IMPOSED) -> Model:
        return _built(self)

    def check_states(self, states: Any, when: np.ndarray, unit: str = "s") -> None:
        refuse_lost_sections([[self.place]], states, when, unit, self.softening == "allow")


@eqx.filter_jit
def _built(test: ColumnTest):
    return test.model()


def _settle(law: ForceElement):
    """The state under the axial force, the top held in place."""

    def step(s, factor):
        return dataclasses.replace(law, loads=factor * law.loads, iterations=8).determine(s, jnp.zeros(1)), None

    return jax.lax.scan(step, law.start(), jnp.arange(1, _LOAD_STEPS + 1) / _LOAD_STEPS)[0]
