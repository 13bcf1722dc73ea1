"""Loops of laws

Sixteen laws under three growing cycles of 1 Hz. The [reference](../reference/laws.md) has the loop of every law,
with its equation."""

import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np

import vibrid as vb
from vibrid.conformance.law import walk

t = np.linspace(0.0, 3.0, 301)
laws = {
    "linear": vb.Linear(30.0, 0.7),
    "cubic": vb.Cubic(30.0, 500.0),
    "bilinear": vb.Bilinear(40.0, 0.05, 0.1),
    "bouc-wen": vb.BoucWen(40.0, 8.0, 6.0, 1.5, 0.05),
    "maxwell": vb.Maxwell(50.0, 4.0),
    "nonlinear-viscous": vb.NonlinearViscous(3.0, 0.4),
    "lugre": vb.LuGre(800.0, 4.0, 1.0, 1.2, 1.4, 1.5, 0.1, 0.3),
    "backlash": vb.Backlash(1.0, 1.3, 0.03, 0.04, 3.0, 1.7, 2.0, 0.3),
    "flag": vb.laws.Flag(40.0, 2.0, 0.1, 0.7),
    "masing": vb.Masing(40.0, vb.laws.RayleighYield(0.05), 3.0),
    "friction-gap": vb.laws.FrictionGap(1.0, 40.0, 30.0, 0.08),
    "ramberg-osgood": vb.laws.RambergOsgood(40.0, 2.0, 5.0, 0.8),
    "tension-only": vb.laws.TensionOnly(40.0, 2.0, 0.05, 0.01),
    "pinching": vb.laws.Pinching([0.04, 0.08, 0.2], [1.6, 2.0, 0.7], 0.9, 0.1, 0.01, 0.2, 0.02, 0.4, 0.2),
    "imk-peak-oriented": vb.laws.IMKPeakOriented(
        40.0, 2.0, 0.04, 0.25, 1.15, 0.2, 3.1, 3.7, 4.3, 1.1, 1.8, 0.05, 0.21, 2.7
    ),
    "lead-rubber": vb.laws.LeadRubber(10.0, 2.0, 0.03, 0.02, 0.01, 3.0, 1.5),
}
figure, axes = plt.subplots(4, 4, figsize=(10, 8), layout="constrained")
for (name, law), ax in zip(laws.items(), axes.flat, strict=True):
    e = 0.15 * np.minimum(1.0, 0.35 + 0.22 * t) * np.sin(2 * np.pi * t)
    force = walk(law, jnp.asarray(e), jnp.asarray(np.gradient(e, t)), t[1])[0]
    ax.plot(1e3 * e[1:], force)
    ax.set_title(name)
figure.supxlabel("deformation [mm]")
figure.supylabel("force [N]")
figure.savefig("loops.png")
