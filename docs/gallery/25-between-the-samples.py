"""Between the samples

A sine of 15 Hz sampled at 100 Hz: what is assumed between the samples matters more than the integrator."""

import matplotlib.pyplot as plt
import numpy as np

import vibrid as vb

oscillator = vb.ShearBuilding([1.0], [vb.Linear((2 * np.pi * 3.0) ** 2, 1.0)])


def shaken(rate):
    t = np.arange(0.0, 3.0, 1 / rate)
    ground = np.sin(2 * np.pi * 15.0 * t) * np.minimum(1.0, t)
    return vb.Record(ground[:, None], [vb.Channel("ground", "ground_acceleration")], step=1 / rate)


figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
fine = vb.simulate(oscillator, shaken(3200))
ax.plot(fine.time, 1e3 * fine.displacement[:, 0], color="0.6", linewidth=2.5, label="exact")
for hold in ("zero", "linear", "cubic"):
    response = vb.simulate(oscillator, shaken(100), hold=hold, integrator=vb.RungeKutta4(), substeps=8)
    ax.plot(response.time, 1e3 * response.displacement[:, 0], label=hold)
ax.set(xlabel="time [s]", ylabel="displacement [mm]", xlim=(1.5, 2.2), ylim=(-0.13, 0.17))
ax.legend(loc="upper right", ncols=4)
figure.savefig("holds.png")
