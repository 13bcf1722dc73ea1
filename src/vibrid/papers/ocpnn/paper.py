"""The paper, and what its items share."""

from __future__ import annotations

from vibrid.hybrid.actuator import Actuator, SecondOrder
from vibrid.hybrid.ats import AdaptiveTimeSeries
from vibrid.hybrid.banded import BandedFrictionDamper
from vibrid.hybrid.coordinator import HybridTest
from vibrid.hybrid.parts import Experimental, Modelled
from vibrid.papers.paper import Paper
from vibrid.papers.two_storey import DAMPERS_A_STOREY, FLOOR, ROOF, damper, two_storey_building
from vibrid.records.motions.similitude import Similitude
from vibrid.records.motions.synthetic import synthetic_motion
from vibrid.records.readers import read_record
from vibrid.records.record import Record

PAPER = Paper(
    "ocpnn",
    "Malik, Cao, Ricles & Downey, Online Cyber-Physical Neural Network Model for Real-Time Hybrid Simulation, "
    "Earthquake Engineering & Structural Dynamics (2025).",
)

SUBSTEPS = 4
"""Commands at 1024 Hz in one step of the frame."""
MOTIONS = {
    "Northern Calif-03, Ferndale City Hall": ("groundmotion/RSN20_NCALIF.FH_H-FRN044.AT2", 2.5),
    "Loma Prieta, Emeryville": ("groundmotion/RSN758_LOMAP_EMY260.AT2", 2.5),
}
"""The two motions of the tests, and our factors on them (the paper gives none; it scaled by less than three)."""


def motion(run, name: str) -> Record:
    """A motion of the paper, at the time scale of the half-scale building."""
    file, factor = MOTIONS[name]
    record = read_record(run.real(file))
    record = record.relabel({record.names[0]: {"direction": "x"}})  # the plane of the frame
    return Similitude(2.0).to_model(record.scale(factor))


def substitute(seconds: float = 28.0) -> Record:
    """A synthetic motion in the place of the paper's, for items that need no real records."""
    return synthetic_motion(3, duration=seconds, rate=1024.0, pga=4.0)


def laboratory() -> dict:
    """The machine of the tested damper, which the paper does not describe beyond its 330 mm/s: second order with a lag
    of 18 ms, a displacement sensor with 0.02 mm of noise, and ATS."""
    machine = Actuator(SecondOrder.with_lag(0.018), velocity_limit=0.33, stroke=0.089, noise=2e-5)
    return {"actuator": machine, "compensator": AdaptiveTimeSeries(0.018)}


def rths(second=None, *, tested: bool = False, exact: bool = False) -> HybridTest:
    """The hybrid test of the paper with a virtual damper in its first storey.

    Arguments
        second: the device of the second storey; the LuGre model of Table 1 by default.
        tested: whether the second storey is a second (virtual) specimen in a machine, as with two in a laboratory.
        exact: moved without a machine.
    """
    lab = {} if exact else laboratory()
    first = Experimental(BandedFrictionDamper.drawn(1), at=FLOOR, name="first_storey", count=DAMPERS_A_STOREY, **lab)
    place = {"at": ROOF, "to": FLOOR, "name": "second_storey", "count": DAMPERS_A_STOREY}
    device = damper(1) if second is None else second
    if tested:
        return HybridTest(two_storey_building(), [first, Experimental(device, **place, **lab)], substeps=SUBSTEPS)
    modelled = Modelled(device, **place, listens="first_storey")
    return HybridTest(two_storey_building(), [first], [modelled], substeps=SUBSTEPS)
