"""A section of fibres

Moment over curvature of a reinforced-concrete column at three axial forces."""

import matplotlib.pyplot as plt
import numpy as np

import vibrid as vb

concrete = vb.KentPark(strength=27.5e6, modulus=27.5e9)
column = vb.ReinforcedSection(
    "column",
    width=0.2285,
    depth=0.208,
    cover=0.0225,
    concrete=concrete.confined(0.0, 0.0),
    core=concrete.confined(ratio=0.012, hoop_strength=414e6, core_width=0.18, spacing=0.05),
    steel=vb.MenegottoPinto(yield_stress=414e6),
    bar_areas=[484e-6, 323e-6, 484e-6],
    bar_heights=[-0.0715, 0.0, 0.0715],
)
curvature = np.concatenate([np.linspace(0, 0.1, 60), np.linspace(0.1, -0.1, 120), np.linspace(-0.1, 0.1, 120)])
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for force in (0.0, -100e3, -200e3):
    moment, _, _ = vb.structures.moment_curvature(column, curvature, force)
    ax.plot(curvature, 1e-3 * np.asarray(moment), label=f"{abs(force) / 1e3:g} kN compression")
ax.set(xlabel="curvature [1/m]", ylabel="moment [kN m]")
ax.legend()
figure.savefig("section.png")
