"""How the equations of an implicit step are solved: full, in a band, or sparse; chosen by size and neighbours."""

from __future__ import annotations

import dataclasses

from vibrid.core.errors import Refusal
from vibrid.simulation.base import Integrator
from vibrid.simulation.newmark import Newmark
from vibrid.structures.arranged import places_of
from vibrid.structures.base import Structure
from vibrid.structures.device import ImposedTest
from vibrid.structures.model import Model
from vibrid.structures.pattern import Pattern

LEAST_CHAIN = 100
"""Degrees of freedom of a chain from which its band is taken without being asked for."""
LEAST_SPARSE = 400
"""Degrees of freedom from which a sparse factorisation is taken without being asked for."""
_MOST_SHARE = 0.05  # of entries that are not zero, for a sparse factorisation


def pattern_for(structure: Structure | Model, integrator: Integrator) -> Pattern | None:
    """The pattern in which the steps of an integrator are solved; None for full matrices."""
    if not isinstance(integrator, Newmark) or integrator.solver == "full" or isinstance(structure, ImposedTest):
        return None
    asked = integrator.solver != "auto"
    if not asked and structure.size < LEAST_CHAIN:
        return None
    model = structure if isinstance(structure, Model) else structure.model(())
    places = places_of(model) if type(model) is Model else None
    if places is None:
        if asked:
            raise Refusal(f"The equations of this structure are not solved '{integrator.solver}'; leave out solver=.")
        return None
    if asked:
        return Pattern(*places, model.size, banded=integrator.solver == "banded")
    if len(places[0]) > 0.5 * model.size**2:
        return None
    found = Pattern(*places, model.size, most_width=1)
    sparse = model.size >= LEAST_SPARSE and len(found.rows) <= _MOST_SHARE * model.size**2
    return found if found.banded or sparse else None


def with_pattern(model: Model, pattern: Pattern | None) -> Model:
    return model if pattern is None else dataclasses.replace(model, pattern=pattern)


def told(integrator: Integrator, pattern: Pattern | None) -> str:
    """The choice in words; none for integrators without equations."""
    if not isinstance(integrator, Newmark):
        return ""
    return f"steps solved {'with full matrices' if pattern is None else f'in {pattern}'}"
