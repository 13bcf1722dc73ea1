import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import vibrid as vb

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))


@pytest.fixture(scope="session")
def one_process():
    """The frame of `opensees_wire` with a device, its whole response by vibrid alone, and its bare matrices."""
    import hybrid_wire
    import opensees_wire as model

    @cache
    def make(device):
        structure = hybrid_wire.frame(device)
        ground = vb.Record(model.motion(), [vb.Channel("ground", "ground_acceleration")], step=model.STEP)
        integrator = vb.KRAlpha(model.DISSIPATION, weigh="displacement")
        response = vb.simulate(structure, ground, integrator=integrator)
        bare = hybrid_wire.frame(device, attached=False).model()
        return structure, response.displacement, tuple(np.asarray(a) for a in bare.initial_matrices())

    return make
