"""A posterior

Samples of two stiffnesses and a damping, by NUTS: a corner plot of what the data and the priors leave open."""

import matplotlib.pyplot as plt

import vibrid as vb

tower = vb.ShearBuilding([20e3] * 2, [vb.Linear(22e6, 60e3)] * 2)
quake = vb.synthetic_motion(key=3, duration=10.0, rate=50.0, pga=3.0)
truth = tower.replace({"storeys[0].stiffness": 26e6})
data = vb.simulate(truth, quake).measure(vb.Sensors(absolute_acceleration=[0, 1]), noise=0.1, key=1)
fit = vb.identify(
    tower, data, ["storeys[*].stiffness", vb.Unknown("storeys[*].damping", tied=True)], vb.Bayes(), checks="none"
)
samples = fit.samples.reshape(-1, 3) / [1e6, 1e6, 1e3]
names = ("first storey [MN/m]", "second storey [MN/m]", "damping [kN s/m]")
figure, axes = plt.subplots(3, 3, figsize=(7, 7), layout="constrained")
for i, row in enumerate(axes):
    for j, ax in enumerate(row):
        if j > i:
            ax.remove()
        elif i == j:
            ax.hist(samples[:, i], bins=40, histtype="stepfilled", alpha=0.5)
        else:
            ax.plot(samples[:, j], samples[:, i], ".", markersize=1.5, alpha=0.4)
        if i == 2:
            ax.set_xlabel(names[j])
    axes[i, 0].set_ylabel(names[i] if i else "samples")
figure.savefig("posterior.png")
