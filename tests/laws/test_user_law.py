"""The law of docs/laws.md, taken from the page and used as a user would, outside the package."""

import importlib.util
import re
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.core import paths
from vibrid.simulation.excitation import drive, inputs_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "laws.md"


def code_of_the_page() -> str:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    return next(block for block in blocks if block.startswith("# my_law.py"))


@pytest.fixture(scope="module")
def wearing_spring(tmp_path_factory):
    """The class, imported from a file of the user's; forgotten by the registry afterwards."""
    path = tmp_path_factory.mktemp("user") / "my_law.py"
    path.write_text(code_of_the_page())
    spec = importlib.util.spec_from_file_location("my_law", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["my_law"] = module
    spec.loader.exec_module(module)
    yield module.WearingSpring
    del vb.laws.LAWS._classes["wearing-spring"], sys.modules["my_law"]


@pytest.fixture(scope="module")
def building(wearing_spring):
    return vb.ShearBuilding(masses=[1.0, 1.0], storeys=[wearing_spring(40.0, 0.1), wearing_spring(30.0, 0.2)])


def test_it_is_short():
    written = code_of_the_page().split("class ")[1]
    assert len([line for line in written.splitlines() if line.strip()]) < 20


def test_it_moves_a_building(building, motion):
    """Against the adaptive solver; the absorbed energy is ∫ c w² dt."""
    found, truth = vb.simulate(building, motion, substeps=2), vb.simulation.simulate_reference(building, motion)
    np.testing.assert_allclose(found.displacement, truth.displacement, atol=1e-7 * np.abs(truth.displacement).max())
    drift_rate = np.diff(truth.velocity, axis=1, prepend=0.0)
    absorbed = np.sum(0.5 * drift_rate**2, axis=0) * motion.step
    np.testing.assert_allclose(truth.states[0][-1], absorbed, rtol=1e-3)
    assert absorbed[0] > 0.05, "the motion must wear the spring"


def test_its_parameters_have_paths(building, motion):
    """Named, described, batched and differentiated like those of any law."""
    assert paths.expand(building, "storeys[*].wear") == ["storeys[0].wear", "storeys[1].wear"]
    assert paths.info(building, "storeys[1].wear").unit == "J"
    assert vb.laws.LAWS["wearing-spring"] is type(building.storeys[0])
    wear = np.array([0.05, 0.1, 1e9])
    x = vb.simulate_many(building, motion, {"storeys[0].wear": wear})[0]
    np.testing.assert_allclose(x[1], vb.simulate(building, motion).displacement, atol=1e-12)
    samples = drive(inputs_of(building, motion))

    @jax.jit
    @jax.value_and_grad
    def energy(values):
        model = building.replace({"storeys[0].wear": values[0], "storeys[1].stiffness": values[1]}).model()
        return jnp.sum(
            vb.simulation.run(model, vb.RungeKutta4(), samples, motion.step, vb.simulation.Everything())[0] ** 2
        )

    at = jnp.array([0.1, 30.0])
    _, slope = energy(at)
    for i, h in enumerate((1e-6, 1e-4)):
        numeric = (energy(at.at[i].add(h))[0] - energy(at.at[i].add(-h))[0]) / (2 * h)
        np.testing.assert_allclose(slope[i], numeric, rtol=1e-5)
