"""Measured modes beside those of a model

A model whose first storey is too soft. With ± 2σ where they were measured, paired by shape and frequency."""

import numpy as np

import vibrid as vb

rng = np.random.default_rng(1)
tower = vb.ShearBuilding([20e3] * 4, [vb.Linear(28e6)] * 4, damping=vb.Modal(0.015))
wind = vb.Record(
    rng.standard_normal((60000, 4)) * 100.0, [vb.Channel(f"w{i}", "load", location=i) for i in range(4)], step=0.025
)
accelerations = vb.simulate(tower, wind, hold="zero").measure(
    vb.Sensors(absolute_acceleration=[0, 1, 2, 3]), noise=0.02, key=1
)
record = accelerations.select([name for name in accelerations.names if name.startswith("absolute")])
model = tower.replace({"storeys[0].stiffness": 18e6})
vb.ssi(record).plot(vb.modes(model)).savefig("pairs.png")
