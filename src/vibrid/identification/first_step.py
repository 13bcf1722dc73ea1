"""Steps per sample for a device whose motion is imposed, before its fit begins.

An explicit step that is too long for a law does not only bias an estimate: the state grows without bound, so that
nothing near the first guess can be fitted. The check after a fit (`checks.time_step`) would come too late.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vibrid.laws.base import Law, StaticLaw, has_rate
from vibrid.laws.commanded import Commanded
from vibrid.records.record import Record
from vibrid.simulation.excitation import inputs_of
from vibrid.simulation.simulate import simulate
from vibrid.simulation.step_error import ALLOWED
from vibrid.structures.base import Structure
from vibrid.structures.device import ImposedTest

FINEST = 64
"""Most steps per sample that are tried."""


def first_steps(structure: Structure, records: Sequence[Record], hold: str = "linear") -> int:
    """Steps per sample with which the force at the first guess has an error below 1 % of its peak, in the fastest
    record; 1 for structures that move by themselves, and for laws that follow the path of the deformation."""
    if not records or not isinstance(structure, ImposedTest) or not any(map(is_integrated, structure.laws())):
        return 1
    fastest = max(records, key=lambda record: float(np.max(np.abs(inputs_of(structure, record)[:, 1]))))
    steps = 1
    while steps < FINEST and not is_fine(structure, fastest, hold, steps):
        steps *= 2
    return steps


def is_fine(structure: Structure, record: Record, hold: str, substeps: int) -> bool:
    """Whether the error of the time step is below 1 % of the peak."""
    return simulate(structure, record, hold=hold, substeps=substeps).step_error().largest < ALLOWED


def is_integrated(law: Law) -> bool:
    """Whether a law has a state that obeys a differential equation."""
    law = law.base if isinstance(law, Commanded) else law
    return has_rate(law) and not isinstance(law, StaticLaw)
