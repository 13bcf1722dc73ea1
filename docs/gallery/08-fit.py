"""A fit

Measured and computed readings of a hysteretic building, residuals, and the loops behind them."""

import vibrid as vb

building = vb.ShearBuilding([20e3] * 2, [vb.BoucWen(20e6, 60.0, 60.0)] * 2, damping=vb.Viscous(80e3))
quake = vb.synthetic_motion(key=4, duration=15.0, rate=100.0, pga=4.0)
truth = building.replace({"storeys[0].stiffness": 26e6})
data = vb.simulate(truth, quake, substeps=4).measure(vb.Sensors(absolute_acceleration=[0, 1]), noise=0.05, key=1)
fit = vb.identify(building, data, ["storeys[*].stiffness", "storeys[*].beta"])
fit.plot().savefig("fit.png")
