"""The hybrid tests of the paper: the first storey is a virtual specimen in a machine with ATS, the second a model."""

from __future__ import annotations

from typing import NamedTuple

from vibrid.hybrid.coordinator import HybridTest
from vibrid.hybrid.device import LoopDevice
from vibrid.hybrid.parts import Experimental, Modelled
from vibrid.papers.ocpnn.pairs import CAPACITIES, STOREYS, specimen
from vibrid.papers.ocpnn.paper import SUBSTEPS, laboratory
from vibrid.papers.ocpnn.suite import at_half_scale, real_suite
from vibrid.papers.paper import Run
from vibrid.papers.two_storey import DAMPERS_A_STOREY, FLOOR, ROOF, two_storey_building
from vibrid.records.record import Record

TESTED, PLACE = STOREYS
SPECIMENS = {"validation": 500, "held_out": 550, "training": 600}
"""Key of the first specimen of the hybrid tests of a split; the training pairs have other specimens."""


class Case(NamedTuple):
    """A motion, and the specimen that is tested under it."""

    motion: str
    record: Record
    capacity: float
    key: int


def hybrid_test(case: Case, second: LoopDevice) -> HybridTest:
    """The test of the paper, at one capacity."""
    first = Experimental(
        specimen(case.key, case.capacity, 0), at=FLOOR, name=TESTED, count=DAMPERS_A_STOREY, **laboratory()
    )
    modelled = Modelled(second, at=ROOF, to=FLOOR, name=PLACE, count=DAMPERS_A_STOREY, companion=TESTED)
    return HybridTest(two_storey_building(), [first], [modelled], substeps=SUBSTEPS)


def cases(run: Run, split: str) -> list[Case]:
    """The motions of a split at three capacities."""
    motions = getattr(real_suite(run), split)
    motions = dict(list(motions.items())[:1]) if run.quick else motions
    split_cases = []
    for i, (name, scaled) in enumerate(motions.items()):
        record = at_half_scale(scaled)
        split_cases += [Case(name, record, capacity, SPECIMENS[split] + i) for capacity in CAPACITIES]
    return split_cases
