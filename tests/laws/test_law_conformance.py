"""Every registered law meets the requirements: a new law is tested once it is registered and has an example."""

import pytest

import vibrid as vb
from examples import EXAMPLES
from vibrid.conformance import law as conformance
from vibrid.conformance.base import Broken
from vibrid.core import paths

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


def test_created_energy_would_be_seen():
    wrong = conformance.LawExample(paths.replace(vb.Viscous(0.7), {"damping": -0.7}), 0.1)
    with pytest.raises(Broken, match=r"gave back .* J more than was put in"):
        conformance.no_energy_is_created(wrong)
