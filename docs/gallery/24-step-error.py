"""The error of the time step

Displacement of a yielding storey with three integrators over the step, against steps that are sixteen times finer."""

import matplotlib.pyplot as plt

import vibrid as vb

storey = vb.ShearBuilding([20e3], [vb.BoucWen(20e6, 60.0, 60.0)], damping=vb.Viscous(60e3))
quake = vb.synthetic_motion(key=2, duration=8.0, rate=50.0, pga=4.0)
best = vb.simulate(storey, quake, integrator=vb.RungeKutta4(), substeps=128).displacement
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
steps = [1, 2, 4, 8]
for integrator in (vb.RungeKutta4(), vb.Newmark(), vb.CentralDifference()):
    errors = [
        abs(vb.simulate(storey, quake, integrator=integrator, substeps=n).displacement - best).max() / abs(best).max()
        for n in steps
    ]
    ax.loglog([1e3 * quake.step / n for n in steps], errors, "o-", label=type(integrator).__name__)
ax.set(xlabel="step [ms]", ylabel="largest error / peak")
ax.legend()
figure.savefig("steps.png")
