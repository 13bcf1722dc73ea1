"""A hybrid test in one program does not depend on machine code, noise of the specimen included."""

import numpy as np
import pytest

import vibrid as vb
from vibrid.core.native import compiled, machine

pytestmark = [
    pytest.mark.compat,
    pytest.mark.skipif(bool(machine.unavailable()), reason=machine.unavailable() or "-"),
]


def test_a_virtual_specimen_with_noise(monkeypatch):
    made, found = [], {}
    monkeypatch.setattr(compiled, "registered", lambda text: made.append(text) or machine.registered(text))
    storey = vb.BoucWen(stiffness=9e6, beta=25.0, gamma=15.0, post_yield_ratio=0.05)
    building = vb.ShearBuilding(masses=[8.9e3], storeys=[storey], damping=vb.Viscous(1e4))
    test = vb.HybridTest(building, [vb.Experimental(vb.BandedFrictionDamper(), at="0", name="damper", count=2)])
    motion = vb.synthetic_motion(3, duration=0.5, rate=1024.0, pga=4.0)
    for wanted in ("0", "strict"):
        monkeypatch.setenv("VIBRID_NATIVE", wanted)
        found[wanted] = test.run(motion)
    assert len(made) == 1
    there, here = found.values()
    size = np.abs(there.response.displacement).max()
    np.testing.assert_allclose(here.response.displacement, there.response.displacement, rtol=0, atol=1e-12 * size)
    for name in ("displacement", "force", "band_1"):
        a, b = (own.devices[f"damper.{name}"] for own in (here, there))
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12 * np.abs(b).max())
