"""Online tracking

The stiffness of a storey while the samples arrive, with its band, by an unscented filter."""

import vibrid as vb
from vibrid.report.parameter_plots import plot_convergence

tower = vb.ShearBuilding([20e3] * 2, [vb.Linear(22e6, 60e3)] * 2)
quake = vb.synthetic_motion(key=3, duration=10.0, rate=100.0, pga=3.0)
truth = tower.replace({"storeys[0].stiffness": 26e6})
data = vb.simulate(truth, quake).measure(vb.Sensors(absolute_acceleration=[0, 1]), noise=0.1, key=1)
fit = vb.identify(tower, data, ["storeys[*].stiffness"], "ukf")
plot_convergence(fit, "storeys[0].stiffness").figure.savefig("online.png")
