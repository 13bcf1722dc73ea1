"""Intervals and bounds

The 95 % interval of each unknown over the Cramér–Rao bound, with the true values."""

import vibrid as vb
from vibrid.report.parameter_plots import plot_intervals

building = vb.ShearBuilding([20e3] * 2, [vb.BoucWen(20e6, 60.0, 60.0)] * 2, damping=vb.Viscous(80e3))
quake = vb.synthetic_motion(key=4, duration=15.0, rate=100.0, pga=4.0)
truth = building.replace({"storeys[0].stiffness": 26e6})
data = vb.simulate(truth, quake, substeps=4).measure(vb.Sensors(absolute_acceleration=[0, 1]), noise=0.05, key=1)
fit = vb.identify(building, data, ["storeys[*].stiffness", "storeys[*].beta"])
true = {"storeys[0].stiffness": 26e6, "storeys[1].stiffness": 20e6, "storeys[0].beta": 60.0, "storeys[1].beta": 60.0}
plot_intervals(fit, true_values=true).figure.savefig("intervals.png")
