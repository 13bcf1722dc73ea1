"""An OpenSees model moved by vibrid's coordinator (`examples/opensees/substructure.py`)."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
from opensees_import import opensees
from wire_helpers import serving

import vibrid as vb
from vibrid.hybrid import Experimental, HybridTest, RemoteSubstructure

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "opensees"
OpenSeesModel = runpy.run_path(str(EXAMPLES / "substructure.py"), run_name="imported")["OpenSeesModel"]
STORY = vb.Bilinear(8e6, 0.004, 0.05)
MOTION = vb.synthetic_motion(3, duration=4.0, rate=200.0, pga=4.0)


class SpringOps:
    """The commands of OpenSees that an elastic spring of 2 MN/m needs."""

    def __init__(self):
        self.at = 0.0

    def nodeDisp(self, node, direction=None):
        return [self.at] if direction is None else self.at

    def integrator(self, kind, node, direction, way):
        self.at += way

    def getTime(self):
        return 2e6 * self.at

    def analyze(self, steps):
        return 0

    def __getattr__(self, name):
        return lambda *_: None


def test_a_step_has_one_trial():
    model = OpenSeesModel(SpringOps(), 2, 1)
    assert model.stiffness() == pytest.approx(2e6)
    still = np.zeros(1)
    assert model.trial(np.array([0.01]), still, still, 0.1) == pytest.approx(2e4)
    assert model.trial(np.array([0.01]), still, still, 0.1) == pytest.approx(2e4)
    with pytest.raises(vb.VibridError, match="cannot take a step back"):
        model.trial(np.array([0.02]), still, still, 0.1)
    model.commit()
    assert model.trial(np.array([0.02]), still, still, 0.2) == pytest.approx(4e4)


def deck(device):
    building = vb.ShearBuilding([1e5], [vb.Linear(2e6, 2e4)])
    return HybridTest(building, [Experimental(device, at=0, name="pier")], rate=200.0)


@pytest.mark.opensees
def test_a_yielding_spring_of_opensees_equals_one_process():
    ops = opensees()
    ops.model("basic", "-ndm", 1, "-ndf", 1)
    ops.node(1, 0.0)
    ops.node(2, 0.0)
    ops.fix(1, 1)
    ops.uniaxialMaterial("Steel01", 1, 8e6 * 0.004, 8e6, 0.05)
    ops.element("zeroLength", 1, 1, 2, "-mat", 1, "-dir", 1)
    whole = deck(STORY).run(MOTION)
    with serving(OpenSeesModel(ops, 2, 1)) as served:
        remote = RemoteSubstructure("127.0.0.1", served.port)
        apart = deck(remote).run(MOTION, unlimited=True)
        served.end()
    ours, theirs = (np.asarray(result.response.displacement) for result in (whole, apart))
    assert np.abs(ours).max() > 0.008, "it yields"
    np.testing.assert_allclose(theirs, ours, rtol=0, atol=1e-7 * np.abs(ours).max())


@pytest.mark.opensees
def test_the_pier_of_the_example(monkeypatch):
    ops = opensees()
    monkeypatch.setitem(sys.modules, "openseespy.opensees", ops)
    runpy.run_path(str(EXAMPLES / "pier.py"))
    pier = OpenSeesModel(ops, 2, 1)
    assert 1e6 < pier.stiffness()[0, 0] < 1e8
    still = np.zeros(1)
    forces = [float(pier.trial(np.array([x]), still, still, 0.0)[0]) for x in (0.0,)]
    for x in (0.02, 0.08, 0.0):
        pier.commit()
        forces.append(float(pier.trial(np.array([x]), still, still, 0.0)[0]))
    assert abs(forces[0]) < 1e-3 * forces[1] and forces[2] > forces[1] and forces[3] < 0.0, "it yields and comes back"
