"""Parameters that are one number: a list is refused in one sentence, wherever it is given."""

import pytest

import vibrid as vb
from vibrid.core.errors import InputError

CONCRETE = vb.KentPark(strength=27.5e6, modulus=27.5e9, crushing_strength=5.5e6, crushing_strain=0.0047)
SECTION = {
    "name": "column",
    "width": 0.2285,
    "depth": 0.208,
    "cover": 0.0225,
    "concrete": CONCRETE,
    "core": CONCRETE,
    "steel": vb.MenegottoPinto(yield_stress=414e6),
    "bar_areas": [484e-6, 323e-6, 484e-6],
    "bar_heights": [-0.0715, 0.0, 0.0715],
}


@pytest.mark.parametrize("name", ["width", "depth", "cover", "density"])
@pytest.mark.parametrize("given", [[], [1.0, 2.0]])
def test_of_a_section(name, given):
    with pytest.raises(
        InputError, match=rf"Section 'column' needs one number for '{name}', not a list of {len(given)}\."
    ):
        vb.ReinforcedSection(**(SECTION | {name: given}))


@pytest.mark.parametrize("name", ["height", "axial_force", "hinges"])
def test_of_a_column_test(name):
    section = vb.ReinforcedSection(**SECTION)
    given = {"height": 1.2, "axial_force": 1e5, "hinges": 0.12} | {name: [1.0, 2.0]}
    with pytest.raises(InputError, match=rf"A column test needs one number for '{name}', not a list of 2\."):
        vb.ColumnTest(section, **given)
