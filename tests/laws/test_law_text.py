"""A law as a table of a project file: what `vibrid cyclic` prints is read again, in structures and as a device."""

import dataclasses

import jax
import numpy as np
import pytest

import vibrid as vb
from examples import EXAMPLES
from vibrid.laws.material import Material
from vibrid.project.law_text import law_text
from vibrid.project.load import load_project

SPRINGS = [name for name, (law, _) in EXAMPLES.items() if law.components == 1 and not isinstance(law, Material)]
BUILDING = """
[structure]
kind = "shear-building"
masses = ["8.9 t", "9.1 t"]
storeys = [{law}, {{law = "linear", stiffness = "9 MN/m"}}]
damping = {{kind = "modal", ratios = 0.03}}
attachments = [{{law = {law}, at = 0}}]

[excitation]
synthetic = {{seed = 3, duration = 2.0, rate = 128.0, pga = "0.5 g"}}

[hybrid]
integrator = {{kind = "mkr-alpha", dissipation = 0.75}}

[[hybrid.modelled]]
name = "first"
at = 0
device = {{kind = "law", law = {law}}}
"""
DEVICE = """
[structure]
kind = "device"
law = {law}

[excitation]
cyclic = {{amplitudes = ["2 mm"], frequency = 0.5, cycles = 1, rate = 100.0}}
quantity = "imposed_displacement"
"""


def close(found, law):
    """Numbers are written with six digits."""
    assert type(found) is type(law)
    for f in dataclasses.fields(law):
        for a, b in zip(jax.tree.leaves(getattr(found, f.name)), jax.tree.leaves(getattr(law, f.name)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)


@pytest.mark.parametrize("name", SPRINGS)
def test_a_law_that_was_written_is_read_in_structures_and_as_a_device(name, tmp_path):
    law, _ = EXAMPLES[name]
    files = {"building.toml": BUILDING, "device.toml": DEVICE}
    for file, text in files.items():
        (tmp_path / file).write_text(text.format(law=law_text(law)), encoding="utf-8")
    building = load_project(tmp_path / "building.toml")
    assert isinstance(building.structure, vb.ShearBuilding) and building.hybrid is not None
    found = [building.structure.storeys[0], building.structure.attachments[0].law]
    for own in [*found, load_project(tmp_path / "device.toml").structure.law]:
        close(own, law)
