"""Every registered law meets the requirements: a new law is tested once it is registered and has an example."""

import re
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from examples import EXAMPLES
from vibrid.conformance import law as conformance
from vibrid.conformance.base import Broken
from vibrid.conformance.law import walk
from vibrid.core import paths

ROOT = Path(__file__).resolve().parents[2]
FIRST_ORDER = {"lugre"}  # backward Euler
NAMED = {name: conformance.LawExample(*own, 1 if name in FIRST_ORDER else 2) for name, own in EXAMPLES.items()}
PAIRS = conformance.CHECKS.pairs(NAMED)


def test_every_registered_law_has_an_example():
    assert set(vb.laws.LAWS) == set(EXAMPLES)
    for name, (law, _) in EXAMPLES.items():
        assert type(law) is vb.laws.LAWS[name]


@pytest.mark.parametrize(("check", "name"), PAIRS, ids=[f"{check.name}-{name}" for check, name in PAIRS])
def test_law_meets_the_requirement(check, name):
    check(NAMED[name])


FINE = 4000  # steps from turn to turn
SLIGHT = {
    "giuffre-menegotto-pinto-fatigue"
}  # its corner, where it begins to break, is too slight to be seen on that way


def _bend(law, size, steps):
    """Largest change of the slope of the force from step to step, over the largest slope, on ways from turn to turn."""
    half = np.sin(np.linspace(0.0, 0.5 * np.pi, steps + 1)) ** 2  # at rest at both ends
    ends = size * np.array([0.0, -1.0, 1.4, -1.7, 1.9, -2.0])
    e = np.append(0.0, ends[:-1, None] + np.diff(ends)[:, None] * half[1:])
    used, dt = e.size, np.pi / steps
    e, w = (np.append(p, np.full(5 * FINE + 1 - used, end)) for p, end in ((e, e[-1]), (np.gradient(e, dt), 0.0)))
    if law.components > 1:
        e, w = np.stack([e, 0.0 * e + 0.3], axis=1), np.stack([w, w], axis=1)
    force = np.asarray(walk(law, jnp.asarray(e), jnp.asarray(w), dt)[0]).reshape(len(e) - 1, -1)[: used - 1, 0]
    force = np.append(0.0, force)
    change, place = np.abs(np.diff(force, 2)), np.arange(1, used - 1) % steps
    inside = np.minimum(place, steps - place) > 0.02 * steps
    return change[inside].max() / np.abs(np.diff(force)).max()


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_corners_are_where_the_law_tells(name):
    """Between two turns the slope of a force changes less from step to step with finer steps, but at a corner."""
    law, size = EXAMPLES[name]
    coarse, fine = (_bend(law, size, steps) for steps in (FINE // 4, FINE))
    if name in SLIGHT:
        assert law.corners == "within"
    elif law.corners == "within":
        assert fine > 0.3 * coarse
    else:
        assert fine < 0.28 * coarse


def test_documents_tell_the_corners():
    text = (ROOT / "docs" / "laws.md").read_text(encoding="utf-8").split("## Laws with corners")[1].split("## ")[0]
    for kind in ("none", "turns", "within"):
        (line,) = [line for line in text.splitlines() if line.startswith(f"| `{kind}` |")]
        told = set(re.findall(r"`([a-z-]+)`", line)) - {kind}
        assert told == {name for name, (law, _) in EXAMPLES.items() if law.corners == kind and name != "commanded"}


def test_created_energy_would_be_seen():
    wrong = conformance.LawExample(paths.replace(vb.Viscous(0.7), {"damping": -0.7}), 0.1)
    with pytest.raises(Broken, match=r"gave back .* J more than was put in"):
        conformance.no_energy_is_created(wrong)
