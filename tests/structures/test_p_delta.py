"""P-Δ of members, beside the motions that OpenSees computed (tests/bridge): closed forms, equilibrium, derivatives."""

import dataclasses
import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import eigh

import vibrid as vb
from vibrid.laws import BilinearSteel, ElasticMaterial
from vibrid.laws.base import Motion
from vibrid.structures import FiberLayer, FiberSection, PermanentLoad

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bridge"))
from opensees_references import CASES, MODELS, REFERENCES

E, A, I, H = 2.0e11, 8e-3, 2.0e-5, 4.0
RADIUS = np.sqrt(I / A)
STEEL = FiberSection("steel", [FiberLayer(ElasticMaterial(E), [-RADIUS, RADIUS], [A / 2, A / 2])])
YIELDING = FiberSection("steel", [FiberLayer(BilinearSteel(3e8, E, 0.02), [-RADIUS, RADIUS], [A / 2, A / 2])])


def cantilever(load, formulation="elastic", section=STEEL, **more):
    return vb.FiberFrame(
        nodes=[(0, 0), (0, H)],
        members=[
            vb.FrameMember((0, 1), "steel", formulation, integration="gauss-lobatto", points=4, p_delta=True, **more)
        ],
        sections=[section],
        supports={0: "fixed"},
        masses=[vb.PointMass(2e3, 1, rotary=100.0)],
        loads=[PermanentLoad(-load, "1.y")],
    )


@pytest.mark.parametrize(("formulation", "share"), [("elastic", 0.0), ("displacement", 0.0), ("force", 0.1)])
def test_a_loaded_column_is_softer_by_p_over_h(formulation, share):
    """H = (3EI/h³ − P/h) Δ: the chord turns, the curve of the column between its ends is left out."""
    load, height = 3e5, (1 - share) * H  # a rigid share at the foot
    curve = vb.simulation.pushover(cantilever(load, formulation, offsets=(share, 0.0)), {"1.x": 1.0}, "1.x", [0.01])
    stiffness = 3 * E * I / height**3
    np.testing.assert_allclose(curve.load, (stiffness - load / height) * 0.01, rtol=1e-9)
    assert load / height > 0.3 * stiffness


def test_the_base_carries_what_pushes():
    """Shear at the support, P-Δ included, against the load, with a column that has yielded and one that is elastic."""
    frame = vb.FiberFrame(
        nodes=[(0, 0), (0, H), (5, H), (5.5, 0)],
        members=[
            vb.FrameMember((0, 1), "column", integration="gauss-lobatto", p_delta=True),
            vb.FrameMember((1, 2), "steel", "elastic"),
            vb.FrameMember((3, 2), "steel", "elastic", p_delta=True, offsets=(0.0, 0.05)),
        ],
        sections=[STEEL, dataclasses.replace(YIELDING, name="column")],
        supports={0: "fixed", 3: "pinned"},
        masses=[vb.PointMass(2e3, 1), vb.PointMass(2e3, 2)],
        loads=[PermanentLoad(-2e5, "1.y"), PermanentLoad(-1.5e5, "2.y")],
    )
    curve = vb.simulation.pushover(frame, {"1.x": 1.0}, "1.x", np.linspace(0.01, 0.4, 40))
    np.testing.assert_allclose(vb.simulation.base_shear(curve), -curve.load, rtol=1e-7, atol=1e-4 * curve.load.max())
    assert curve.load[-1] < 0.8 * curve.load[4] * 0.4 / 0.05, "it has yielded"
    bar = vb.simulation.fibre_history(curve, member=0, section=0, height=RADIUS)
    assert np.abs(bar.strain).max() > 3e8 / E


def test_slopes_and_gradients():
    frame = cantilever(2e5, "force", YIELDING)
    model = frame.built((("load", "1.x"),))
    law = jax.tree.map(lambda leaf: leaf[0], model.groups[0].law)
    before, after = Motion(jnp.zeros(4), jnp.zeros(4)), Motion(jnp.array([1e-4, 2e-3, 4e-3, 0.06]), jnp.zeros(4))

    @jax.jit
    def force(e):
        end = Motion(e, jnp.zeros(4))
        return law.force(e, end.w, law.advance(law.start(), before, end, 1.0))

    exact = jax.jit(jax.jacfwd(force))(after.e)
    own = law.slope(law.start(), before, after, 1.0, 1.0, 0.0)
    np.testing.assert_allclose(own[3], exact[3], rtol=0.05, atol=0.01 * np.abs(exact[3]).max())
    steps = np.eye(4) * np.array([1e-9, 1e-8, 1e-8, 1e-6])
    differences = np.stack(
        [np.asarray(force(after.e + d) - force(after.e - d)) / (2 * d.max()) for d in jnp.asarray(steps)], 1
    )
    np.testing.assert_allclose(exact, differences, rtol=1e-4, atol=1e-4 * np.abs(exact).max(axis=1).min())

    @jax.jit
    def top(values):
        changed = frame.replace({"loads[0].force": values[0], "sections[0].fibres[0].material.modulus": values[1]})
        model = changed.model((("load", "1.x"),))
        x, none = 0.05 * jnp.asarray(changed.row("1.x")), jnp.zeros(3)
        s = model.advance(model.start(), (none, none), (x, none), 1.0)
        return model.forces(x, none, s)[0]

    at = jnp.array([-2e5, E])
    gradient = jax.jit(jax.jacfwd(top))(at)
    for i, h in enumerate((10.0, 1e7)):
        step = h * jnp.eye(2)[i]
        np.testing.assert_allclose(gradient[i], (top(at + step) - top(at - step)) / (2 * h), rtol=1e-5)
    assert gradient[0] != 0


def test_frequencies_under_load_are_those_of_opensees():
    """OpenSees' tangent is without the part that is not symmetric, which comes from the sway under the loads."""
    name = "p_delta.tcl"
    wanted = np.array(json.loads(REFERENCES.read_text())[name]["eigenvalues"])
    frame = vb.from_opensees(MODELS / name, units=CASES[name][0]).structure
    model = frame.built(())
    upright = [dataclasses.replace(g.law, sway=0.0 * g.law.sway) if g.components == 4 else g.law for g in model.groups]
    model = dataclasses.replace(
        model, groups=tuple(dataclasses.replace(g, law=law) for g, law in zip(model.groups, upright, strict=True))
    )
    rest = (jnp.zeros(model.size), jnp.zeros(model.size))
    tangent = np.asarray(model.tangent(model.start(), rest, rest, 1.0, 0.0, 1.0, model.start()))
    mass = np.asarray(model.mass_matrix)
    np.testing.assert_allclose(eigh(tangent, mass, eigvals_only=True)[: len(wanted)], wanted, rtol=1e-8)
    assert eigh(np.asarray(model.initial_matrices()[2]), mass, eigvals_only=True)[0] > 1.04 * wanted[0]
