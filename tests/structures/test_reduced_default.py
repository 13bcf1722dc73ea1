"""A reduced structure keeps its laws: defaults must take them into account."""

import vibrid as vb
from vibrid.simulation.simulate import default_integrator


def test_default_integrator_sees_the_laws_of_the_full_structure():
    beam = vb.Beam([0.0, 0.5, 1.0], modulus=2e11, area=1e-4, inertia=1e-9, density=7800.0)
    kept = ["1", "2"]
    assert isinstance(default_integrator(vb.reduce(beam, keep=kept)), vb.ExactLinear)
    struck = vb.Beam(
        [0.0, 0.5, 1.0],
        modulus=2e11,
        area=1e-4,
        inertia=1e-9,
        density=7800.0,
        attachments=[vb.Attachment(vb.Cubic(1e3, 1e6), at="tip")],
    )
    assert isinstance(default_integrator(vb.reduce(struck, keep=kept)), vb.RungeKutta4)
