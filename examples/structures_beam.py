"""A cantilever with a hardening spring at its tip: modes, response to a hammer impact, and reduced models.

python examples/structures_beam.py
"""

import numpy as np

import vibrid as vb

width, thickness = 0.0381, 0.0064
beam = vb.Beam(
    np.linspace(0, 1.524, 16),
    modulus=180e9,
    area=width * thickness,
    inertia=width * thickness**3 / 12,
    density=7694,
    masses=[vb.PointMass(0.0522, at="tip")],
    attachments=[vb.Attachment(vb.Cubic(1.1e4, 1e8), at="tip")],
    damping=vb.Modal([0.0069, 0.0052, 0.0014, 0.0017, 0.0044, 0.0038, 0.0042]),
    axial=False,
)
print(vb.modes(beam, 7))

time = np.arange(0, 0.5, 1 / 2000)
blow = np.where(time < 0.00635, 2000 * np.sin(np.pi * time / 0.00635), 0.0)
hammer = vb.Record(blow, [vb.Channel("hammer", "load", location="tip")], step=1 / 2000)
sensors = vb.Sensors(displacement=["tip"], strain=["x=0.05,z=0.0032"])
full = vb.simulate(beam, hammer, integrator=vb.Newmark(), substeps=4).readings(sensors)
print(f"\ntip {1e3 * abs(full[:, 0]).max():.2f} mm, strain at the clamp {1e6 * abs(full[:, 1]).max():.0f} µm/m at most")

translations = [f"{i}.lateral" for i in range(1, 16)]
for method, more in (("guyan", {}), ("irs", {}), ("serep", {}), ("craig-bampton", {"modes": 20})):
    keep = ["tip"] if more else translations
    small = vb.reduce(beam, keep, method, **more)
    reduced = vb.simulate(small, hammer, integrator=vb.Newmark(), substeps=4).readings(sensors)
    error = np.linalg.norm(reduced - full, axis=0) / np.linalg.norm(full, axis=0)
    tip, strain = 100 * error
    print(f"{method:14s} {small.matrix.shape[1]:2d} coordinates: tip {tip:.2f} %, strain {strain:.2f} % off")
