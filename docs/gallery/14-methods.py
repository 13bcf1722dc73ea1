"""Methods on the same data

Estimates with their intervals: which agree, how far each is from the bound, and how long it took."""

import vibrid as vb

tower = vb.ShearBuilding([20e3] * 2, [vb.Linear(22e6, 60e3)] * 2)
quake = vb.synthetic_motion(key=3, duration=10.0, rate=100.0, pga=3.0)
truth = tower.replace({"storeys[0].stiffness": 26e6})
data = vb.simulate(truth, quake).measure(vb.Sensors(absolute_acceleration=[0, 1]), noise=0.1, key=1)
vb.compare(tower, data, ["storeys[*].stiffness"], ["trajectory", "ukf", "ekf"]).plot().savefig("methods.png")
