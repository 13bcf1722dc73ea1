"""Pictures of the reference: the loop of every law, the drawing of every kind of structure. Run by `reference.py`."""

import runpy
from pathlib import Path

import jax.numpy as jnp
import numpy as np

import vibrid as vb
from vibrid.conformance.law import walk
from vibrid.report.structure_drawing import draw_structure
from vibrid.report.style import PREDICTED, label, new_figure, readable_unit, styled

t = np.linspace(0.0, 3.0, 601)
grow = (0.4 + 0.2 * t) * np.minimum(1.0, 4.0 * t)
for name, (law, size) in runpy.run_path(LAW_EXAMPLES)["EXAMPLES"].items():  # noqa: F821 (given by reference.py)
    e = size * grow * np.sin(2 * np.pi * t)
    w = np.gradient(e, t)
    others = law.components - 1  # a command, or the motion of the floor: as the deformation itself
    path = [np.stack([q] * (1 + others), axis=-1) if others else q for q in (e, w)]
    force = np.asarray(walk(law, jnp.asarray(path[0]), jnp.asarray(path[1]), t[1])[0])
    force = force[:, 0] if force.ndim > 1 else force
    figure = new_figure(3.0, 2.2)
    with styled():
        ax = figure.subplots()
        stress = isinstance(law, vb.laws.Material)
        factor, unit = (1.0, "MN/m^2") if stress else readable_unit("N", np.abs(force).max())
        ax.plot(1e3 * e[1:], factor * force, color=PREDICTED)
        ax.set_xlabel("strain [‰]" if stress else "deformation [mm]")
        ax.set_ylabel(label("stress" if stress else "force", unit))
    figure.savefig(f"law-{name}.png", dpi=110)

kinds = {
    "shear-building": vb.ShearBuilding([2e4] * 3, [vb.BoucWen(2e7, 60.0, 60.0)] * 3, damping=vb.Viscous(8e4)),
    "beam": vb.Beam(np.linspace(0, 1.5, 9), modulus=180e9, area=2.4e-4, inertia=8e-10, density=7700),
    "frame": vb.Frame2D(
        nodes=[(0, 0), (0, 3), (5, 3), (5, 0)],
        elements=[(0, 1), (1, 2), (2, 3)],
        modulus=30e9,
        area=0.16,
        inertia=2e-3,
        density=2500.0,
        supports={0: "fixed", 3: "fixed"},
    ),
    "device": vb.Device(vb.LuGre(800.0, 4.0, 1.0, 1.2, 1.4, 1.5, 0.1, 0.3)),
    "matrices": vb.Matrices(np.diag([1.0, 1.0]), np.array([[2.0, -1.0], [-1.0, 1.0]])),
}
for name in ("truss", "fiber-frame", "rigid-floor-building", "column-test"):
    kinds[name] = vb.project.load_project(Path(EXAMPLES) / f"{name}.toml").structure  # noqa: F821
for name, structure in kinds.items():
    draw_structure(structure).figure.savefig(f"structure-{name}.png", dpi=90)
