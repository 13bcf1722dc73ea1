"""Against OpenSees: live where OpenSeesPy can be imported, from its stored results elsewhere."""

import json

import numpy as np
import pytest
from opensees_import import opensees
from opensees_models import (
    BOUC_WEN,
    CASES,
    DAMPING,
    HARDENING,
    MASSES,
    RESULTS,
    STEP,
    STIFFNESS,
    YIELD,
    motion,
)
from problems import ground

import vibrid as vb

STORED = json.loads(RESULTS.read_text())


def building(*storeys):
    return vb.ShearBuilding(masses=MASSES, storeys=storeys, damping=[vb.Viscous(c) for c in DAMPING])


ELASTIC = building(*(vb.Linear(k) for k in STIFFNESS))
STEEL = building(*(vb.Bilinear(k, YIELD, HARDENING) for k in STIFFNESS))
SMOOTH = building(*(vb.BoucWen(k, **BOUC_WEN) for k in STIFFNESS))


def move(structure, integrator, substeps=1):
    return vb.simulate(structure, ground(motion(), STEP), integrator=integrator, substeps=substeps)


def gap(response, case):
    """Largest difference from OpenSees over the largest displacement."""
    theirs = np.array(STORED[case])
    return np.abs(response.displacement[::5] - theirs).max() / np.abs(theirs).max()


@pytest.mark.opensees
@pytest.mark.parametrize("case", list(CASES))
def test_stored_results_are_those_of_opensees(case):
    np.testing.assert_allclose(CASES[case](opensees()), STORED[case], rtol=0, atol=1e-12)


@pytest.mark.parametrize("rho", ["0.4", "1.0"])
def test_kr_alpha_on_a_linear_building(rho):
    assert gap(move(ELASTIC, vb.KRAlpha(float(rho))), f"kr-alpha elastic {rho}") < 1e-12


def test_kr_alpha_on_a_yielding_building():
    """OpenSees takes forces at the weighted displacement and commits its springs there."""
    assert gap(move(STEEL, vb.KRAlpha(0.75, weigh="displacement")), "kr-alpha steel 0.75") < 1e-11
    by_force = move(STEEL, vb.KRAlpha(0.75, weigh="force"))
    assert gap(by_force, "kr-alpha steel 0.75") > 1e-5, "the two variants must differ"


def test_newmark_on_linear_and_yielding_buildings():
    assert gap(move(ELASTIC, vb.Newmark()), "newmark elastic") < 1e-11
    assert gap(move(STEEL, vb.Newmark()), "newmark steel") < 1e-10


def test_newmark_on_a_bouc_wen_building():
    """OpenSees moves z by backward Euler, of order 1: its distance from a converged run falls with its step."""
    truth = move(SMOOTH, vb.Newmark(), substeps=32)
    coarse, fine = (gap(truth, f"newmark bouc-wen {n}") for n in (4, 16))
    assert fine < 2e-3
    assert 3.3 < coarse / fine < 4.7
    limit = 1 / (BOUC_WEN["beta"] + BOUC_WEN["gamma"])
    assert np.abs(truth.states[0]).max() > 0.9 * limit, "the motion must saturate the loops"
