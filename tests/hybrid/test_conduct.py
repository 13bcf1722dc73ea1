"""Is a model fit for a closed loop: forces whose work is known, and networks."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

from vibrid.hybrid.learned import MotionFeatures, conduct
from vibrid.hybrid.learned.conduct import Conduct

CAPACITY = 1e4


class Known(eqx.Module):
    """A force with a known work: stiffness · x + damping · v + growth · t at rest."""

    stiffness: float = 0.0
    damping: float = 0.0
    growth: float = 0.0
    features: MotionFeatures = MotionFeatures(0.02, 0.2)
    rate: float = eqx.field(static=True, default=256.0)
    companion_sizes: tuple = eqx.field(static=True, default=())

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
