"""The real-time hybrid simulations: the building, and the coordinator against a simulation of the whole."""

from __future__ import annotations

import numpy as np

from vibrid.hybrid.banded import BandedFrictionDamper
from vibrid.hybrid.coordinator import HybridTest
from vibrid.hybrid.parts import Experimental, Modelled
from vibrid.hybrid.substructure import DeviceSubstructure
from vibrid.laws.linear import Linear
from vibrid.papers.ocpnn.paper import PAPER, substitute
from vibrid.papers.paper import Check, Outcome, Run
from vibrid.papers.two_storey import FLOOR, PERIODS, ROOF, SHARES, damper, two_storey_building
from vibrid.simulation.alpha import MKRAlpha
from vibrid.simulation.simulate import simulate
from vibrid.structures.modes import modes
from vibrid.structures.shear import ShearBuilding


@PAPER.table(2, "Natural periods and participation of the building", part="rths")
def table_2(run: Run) -> Outcome:
    result = modes(two_storey_building(), 2)
    shares = result.effective_mass / result.moving_mass
    rows = [
        {"mode": i + 1, "period, s (paper)": PERIODS[i], "period, s (ours)": float(result.periods[i]),
         "mass, % (paper)": 100 * SHARES[i], "mass, % (ours)": 100 * float(shares[i])}
        for i in range(2)
    ]  # fmt: skip
    near = bool(np.allclose(result.periods, PERIODS, rtol=0.02))
    return Outcome(
        rows,
        [Check("periods", ", ".join(f"{p:.3f} s" for p in result.periods), "within 2 %", near)],
        "Heights and masses are not in the paper; they were chosen to give these periods (vibrid.papers.two_storey).",
    )


@PAPER.study("rths-equality", "The coordinator against a simulation of the building with its dampers", part="rths")
def equality(run: Run) -> Outcome:
    """One scan against simulate() of the whole; an external device, step by step, against one scan."""
    record = substitute(6.0 if run.quick else 20.0).resample(256.0)
    scheme = MKRAlpha(0.75)
    whole = simulate(two_storey_building(dampers=True), record, integrator=scheme).displacement
    parts = (
        [Experimental(damper(1), at=FLOOR, name="first", count=4)],
        [Modelled(damper(1), at=ROOF, to=FLOOR, name="second", count=4)],
    )
    inside = HybridTest(two_storey_building(), *parts, scheme, rate=256.0).run(record).response.displacement
    frame = float(np.abs(inside - whole).max() / np.abs(whole).max())
    building = ShearBuilding(masses=[8.9e3, 9.1e3], storeys=[Linear(9e6, 3e4)] * 2)

    def test(device):
        modelled = Modelled(BandedFrictionDamper.drawn(2), at=1, to=0, name="second", count=4, companion="first")
        return HybridTest(building, [Experimental(device, at=0, name="first", count=4)], [modelled], substeps=4)

    specimen = BandedFrictionDamper.drawn(1)
    scan = test(specimen).run(record).response.displacement
    steps = test(DeviceSubstructure(specimen, 1 / 1024)).run(record).response.displacement
    apart = float(np.abs(scan - steps).max() / np.abs(scan).max())
    return Outcome(
        checks=[
            Check("fibre frame, dampers outside the structure / inside: largest difference of the response",
                  f"{frame:.1e}", "≤ 1e-9", frame <= 1e-9),
            Check("shear building, step by step / one scan: largest difference of the response",
                  f"{apart:.1e}", "≤ 1e-9", apart <= 1e-9),
        ]
    )  # fmt: skip
