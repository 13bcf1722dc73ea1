"""Loops of a hybrid test

Force over displacement of the tested and of the modelled damper."""

import vibrid as vb
from vibrid.report.hybrid_plots import loops_figure

building = vb.ShearBuilding([8.9e3, 9.1e3], [vb.Linear(9e6)] * 2, damping=vb.Modal(0.03))
quake = vb.synthetic_motion(3, duration=8.0, rate=1024.0, pga=4.0)
machine = vb.Actuator(vb.hybrid.SecondOrder.with_lag(0.018), velocity_limit=0.33, noise=2e-5)
tested = vb.Experimental(
    vb.BandedFrictionDamper(),
    at=0,
    name="first",
    count=4,
    actuator=machine,
    compensator=vb.hybrid.AdaptiveTimeSeries(0.015),
)
second = vb.Modelled(vb.BandedFrictionDamper(13e3), at=1, to=0, name="second", count=4)
result = vb.HybridTest(building, [tested], [second]).run(quake)
loops_figure(result).savefig("hybrid-loops.png")
