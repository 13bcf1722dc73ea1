"""Are the residuals noise?

Residuals, their autocorrelation and their spectrum: what the verdict of a fit rests on."""

import matplotlib.pyplot as plt
import numpy as np

import vibrid as vb

building = vb.ShearBuilding([20e3] * 2, [vb.BoucWen(20e6, 60.0, 60.0)] * 2, damping=vb.Viscous(80e3))
quake = vb.synthetic_motion(key=4, duration=15.0, rate=100.0, pga=4.0)
truth = building.replace({"storeys[0].stiffness": 26e6})
data = vb.simulate(truth, quake, substeps=4).measure(vb.Sensors(absolute_acceleration=[0, 1]), noise=0.05, key=1)
fit = vb.identify(building, data, ["storeys[*].stiffness", "storeys[*].beta"])
residual = data["absolute_acceleration_1"] - fit.predict(data).readings(vb.Sensors(absolute_acceleration=[1]))[:, -1]
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
left.plot(data.time, residual, linewidth=0.6)
left.set(xlabel="time [s]", ylabel="residual [m/s²]")
centred = residual - residual.mean()
lags = [float(np.mean(centred[k:] * centred[: len(centred) - k]) / centred.var()) for k in range(1, 41)]
right.bar(range(1, 41), lags)
right.axhspan(-2 / len(centred) ** 0.5, 2 / len(centred) ** 0.5, alpha=0.2)
right.set(xlabel="lag [samples]", ylabel="autocorrelation")
figure.savefig("residuals.png")
