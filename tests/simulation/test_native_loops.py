"""Every law with every integrator gives the same response by machine code and by XLA."""

import functools
import os
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import vibrid as vb
from vibrid.core.native import compiled, machine
from vibrid.laws.base import has_rate
from vibrid.simulation.base import INTEGRATORS

sys.path.append(str(Path(__file__).parents[1] / "laws"))
from examples import EXAMPLES

pytestmark = pytest.mark.skipif(bool(machine.unavailable()), reason=machine.unavailable() or "-")

TIME = 0.01 * np.arange(150)
AT_REST = {"nonlinear-viscous"}  # its slope at rest has no bound: Newton's method does not leave rest, by XLA neither
LAWS = {name: own for name, own in EXAMPLES.items() if own[0].components == 1}


@functools.cache
def stiffness_of(name: str) -> float:
    return max(float(np.max(jax.jit(lambda: LAWS[name][0].initial_stiffness())())), 1.0)


def oscillators(names) -> vb.Matrices:
    """One mass a law, each held by that law and a spring of its own: they do not touch each other."""
    stiffness = np.array([stiffness_of(name) for name in names])
    return vb.Matrices(
        mass=np.diag(stiffness / (2 * np.pi * 1.5) ** 2),
        stiffness=np.diag(0.2 * stiffness),
        damping=np.diag(0.01 * stiffness),
        attachments=[vb.Attachment(LAWS[name][0], at=i) for i, name in enumerate(names)],
    )


def loads(names) -> vb.Record:
    """Loads that move every law by about the deformation of its example."""
    structure = oscillators(names)
    shape = np.sin(8.0 * TIME) * np.minimum(TIME, 1.0) + 0.4 * np.sin(23.0 * TIME)
    size = 0.3 * np.diag(np.asarray(structure.stiffness)) / 0.2 * [LAWS[name][1] for name in names]
    channels = [vb.Channel(f"f{i}", "load", location=str(i)) for i in range(len(names))]
    return vb.Record(shape[:, None] * size, channels, step=0.01, name="loads")


NAMES = sorted(set(INTEGRATORS) - {"exact-linear", "imposed"})


def laws_of(name: str) -> list[str]:
    """The laws that are tried with an integrator: its share of them; all with VIBRID_EVERY=1 (some minutes)."""
    needs = INTEGRATORS[name].needs_rates
    fitting = [own for own, (law, _) in LAWS.items() if has_rate(law) or not needs]
    if INTEGRATORS[name].iterates:
        fitting = [own for own in fitting if own not in AT_REST]
    if os.environ.get("VIBRID_EVERY"):
        return fitting
    alike = [own for own in NAMES if INTEGRATORS[own].needs_rates == needs]
    return fitting[alike.index(name) :: len(alike)]


def test_every_law_is_tried():
    assert {law for name in NAMES for law in laws_of(name)} == set(LAWS)


@pytest.mark.parametrize("name", NAMES)
def test_laws_with_an_integrator(name, monkeypatch):
    integrator, names = INTEGRATORS[name](), laws_of(name)
    structure, record = oscillators(names), loads(names)
    made = []
    registered = compiled.registered
    monkeypatch.setattr(compiled, "registered", lambda text: made.append(text) or registered(text))
    quick = vb.simulate(structure, record, integrator=integrator)
    assert made
    monkeypatch.setattr(compiled, "why_not", lambda: "switched off")
    slow = vb.simulate(structure, record, integrator=integrator)
    for i, law in enumerate(names):
        error = np.abs(quick.displacement[:, i] - slow.displacement[:, i]).max() / np.ptp(slow.displacement[:, i])
        assert error < 1e-12, law
