"""Is a model fit for a closed loop: forces whose work is known, and networks."""

from types import SimpleNamespace

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import InputError
from vibrid.hybrid.chain import Row
from vibrid.hybrid.learned import MotionFeatures, NetworkDevice, conduct
from vibrid.hybrid.learned.conduct import Conduct, refuse_unfit
from vibrid.hybrid.learned.guard import Fault
from vibrid.hybrid.learned.input_limits import InputLimits
from vibrid.hybrid.learned.watch import GIVES
from vibrid.hybrid.rehearsal.judgement import _giving
from vibrid.hybrid.warnings import Warnings

CAPACITY = 1e4


class Known(eqx.Module):
    """A force with a known work: stiffness · x + damping · v + growth · t at rest."""

    stiffness: float = 0.0
    damping: float = 0.0
    growth: float = 0.0
    features: MotionFeatures = MotionFeatures(0.02, 0.2)
    rate: float = eqx.field(static=True, default=256.0)
    companion_sizes: tuple = eqx.field(static=True, default=())
    answer: None = None
    limits: InputLimits = eqx.field(static=True, default=InputLimits(0.06, 0.6))

    def start(self, batch=()):
        return jnp.zeros(batch)

    def along(self, state, sample, setting):
        t = jnp.arange(len(sample.x))[:, None] / self.rate
        return self.stiffness * sample.x + self.damping * sample.v + self.growth * t, state


def test_energy_of_a_cycle_is_that_of_the_formula():
    """A dashpot c takes π c ω A² in a cycle."""
    found = conduct(Known(damping=2e4), CAPACITY)
    assert isinstance(found, Conduct) and found.is_fit and "fit for a loop" in str(found)
    for cycle in found.cycles:
        expected = np.pi * 2e4 * 2 * np.pi * cycle.frequency * cycle.amplitude**2
        assert cycle.energy == pytest.approx(expected, rel=0.02)
        assert cycle.least >= -1e-6 * cycle.energy - 1e-9


def test_a_spring_is_fit_and_takes_nothing():
    found = conduct(Known(stiffness=2e5), CAPACITY)
    assert found.is_fit and max(abs(c.energy) for c in found.cycles) < 1e-6


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (Known(damping=-2e4), "it gives"),
        (Known(growth=100.0), "ten seconds of rest"),
        (Known(stiffness=2e6), "capacities, at 60 mm"),
        (Known(stiffness=float("nan")), "not a finite number"),
    ],
)
def test_what_makes_a_model_unfit_is_said(model, words):
    found = conduct(model, CAPACITY)
    assert not found.is_fit and words in "; ".join(found.reasons) and "not fit for a loop" in str(found)


def part(model) -> SimpleNamespace:
    return SimpleNamespace(name="second", device=NetworkDevice(model, CAPACITY))


def test_a_network_that_is_not_fit_is_refused():
    refuse_unfit([part(Known(damping=2e4)), SimpleNamespace(name="first", device=vb.hybrid.LawDevice(vb.Linear(1e6)))])
    with pytest.raises(InputError, match=r"'second' is not fit for a loop: it gives .* --accept"):
        refuse_unfit([part(Known(damping=2e4)), part(Known(damping=-2e4))])


def test_energy_that_a_network_gave_in_a_test_is_told():
    t = np.arange(400) / 100
    x = 0.01 * np.sin(2 * np.pi * t) * (t < 3)

    def result(damping):
        force = damping * np.gradient(x, 0.01)
        channels = [vb.Channel("second.displacement", "displacement"), vb.Channel("second.force", "element_force")]
        record = vb.Record(np.column_stack([x, force]), channels, step=0.01)
        return SimpleNamespace(devices=record, test=SimpleNamespace(parts=[part(Known())]))

    assert not _giving(result(2e4))
    (told,) = _giving(result(-2e4))
    given = np.pi * 2e4 * 2 * np.pi * 0.01**2 * 3
    assert float(told.message.split(" gave ")[1].split(" J")[0]) == pytest.approx(given, rel=0.05)


def test_a_running_test_warns_when_it_happens():
    """A dashpot that gives c A² ω (ωt/2 − sin 2ωt/4) until t, in blocks of a few samples as in a running test."""
    t, amplitude, pace = np.arange(1, 2001) / 1000, 0.03, 2 * np.pi
    x, force = amplitude * np.sin(pace * t), -2e4 * amplitude * pace * np.cos(pace * t)
    flags = np.where(t > 1.5, float(Fault.FORCE | Fault.SIGNAL), 0.0)
    quiet = SimpleNamespace(name="first", device=vb.hybrid.LawDevice(vb.Linear(1e6)))
    watch, said = Warnings([quiet, part(Known())]), []
    for here in np.split(np.arange(2000), [1, 7, 400, 1999]):
        row = Row(x[here], x[here], x[here], force[here], flags[here, None])
        said += watch.see(t[here], [row, row])
    given = 2e4 * amplitude**2 * pace * (pace * t / 2 + np.sin(2 * pace * t) / 4)
    allowed = GIVES * CAPACITY * np.maximum(np.maximum.accumulate(np.abs(x)), 0.05 * 0.02)
    first = t[np.argmax(given > allowed)]
    kinds = ("has given", "is moved", "gives")
    energy, motion, strong = (next(text for text in said if f"'second' {kind}" in text) for kind in kinds)
    assert float(energy.split(" s:")[0]) == pytest.approx(first, abs=0.002) and len(said) == 3
    assert float(motion.split(" s:")[0]) == pytest.approx(t[np.argmax(np.abs(x) > 1.05 * 0.02)], abs=0.0011)
    assert "further than in its training (20 mm)" in motion
    assert strong.startswith("1.501 s: ") and "more than 1.5 times its capacity" in strong


def test_nothing_is_said_of_a_network_that_behaves():
    t = np.arange(1, 2001) / 1000
    x = 0.02 * np.sin(2 * np.pi * t)
    force = 2e5 * x + 2e4 * np.gradient(x, 0.001)
    watch = Warnings([part(Known())])
    assert watch.see(t, [Row(x, x, x, force, np.zeros((2000, 1)))]) == ()
