"""Values that parameters cannot have are refused where they are given: at construction and in `replace`."""

import dataclasses
import sys
from pathlib import Path

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import InputError
from vibrid.core.parameters import ParameterInfo, Parameterised
from vibrid.hybrid.actuator import DYNAMICS
from vibrid.hybrid.compensation import COMPENSATORS
from vibrid.hybrid.device import SPECIMENS
from vibrid.laws.distributions import DISTRIBUTIONS
from vibrid.project.build import Notes, make
from vibrid.project.load import read_table
from vibrid.project.tables import project_file
from vibrid.simulation.simulate import simulate_many

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "laws"))
from examples import EXAMPLES as LAWS

FILES = Path(__file__).resolve().parents[2] / "examples"
DAMPINGS = {
    "rayleigh": vb.Rayleigh(0.1, 1e-3),
    "rayleigh-one-ratio": vb.structures.damping.RayleighRatio(0.02, (1.0, 5.0)),
    "modal": vb.Modal([0.02, 0.03]),
    "matrix": vb.structures.damping.Explicit([[1.0]]),
}
KINDS = {**{f"law {n}": n for n in vb.laws.LAWS}, **{f"damping {n}": n for n in vb.structures.DAMPINGS}}
KINDS |= {f"structure {n}": n for n in vb.structures.STRUCTURES}


@pytest.fixture(scope="module")
def structures() -> dict:
    tables = {name: read_table(FILES / f"{name}.toml", project_file)[1] for name in vb.structures.STRUCTURES}
    return {name: make(table.structure, (), Notes()) for name, table in tables.items()}


def parameters(owner):
    for f in dataclasses.fields(owner):
        if "parameter" in f.metadata:
            yield f.name, f.metadata["parameter"]


@pytest.mark.parametrize("kind", list(KINDS))
def test_every_registered_thing_checks_its_parameters(kind, structures):
    what, name = kind.split(" ", 1)
    made = LAWS[name][0] if what == "law" else DAMPINGS[name] if what == "damping" else structures[name]
    assert isinstance(made, Parameterised)
    for field, info in parameters(made):
        value = np.array(getattr(made, field))
        wrong = [np.nan] if info.unset is None else []
        wrong += [-np.inf] + ([-1.0] if info.positive else []) + ([0.0] if info.positive and not info.zero else [])
        for bad in wrong:
            changed = value.copy()
            changed[(0,) * value.ndim] = bad
            with pytest.raises(InputError, match=rf"{type(made).__name__}\.{field}.*must be .* is {bad:g}"):
                dataclasses.replace(made, **{field: changed})
            if isinstance(made, vb.structures.Structure):
                with pytest.raises(InputError, match=rf"'{field}.*must be .* is {bad:g}"):
                    made.replace({field: changed})
        if info.positive and info.zero and field != "forces":  # of the points of a law, where the first is not zero
            dataclasses.replace(made, **{field: 0.0 * value})


def test_everything_with_parameters_is_checked():
    """A class that declares parameters and is not checked would let a negative one through."""
    registries = (
        vb.laws.LAWS,
        vb.structures.DAMPINGS,
        vb.structures.STRUCTURES,
        DISTRIBUTIONS,
        DYNAMICS,
        COMPENSATORS,
        SPECIMENS,
    )
    for cls in (registry[name] for registry in registries for name in registry):
        assert issubclass(cls, Parameterised) or not any(parameters(cls)), cls
    for cls in (
        vb.PointMass,
        vb.Sensor,
        vb.FrameMember,
        vb.ReinforcedSection,
        vb.structures.LeaningColumn,
        vb.Actuator,
    ):
        assert issubclass(cls, Parameterised)


def test_messages_name_the_path_the_value_and_the_unit():
    with pytest.raises(
        InputError, match=r"'ShearBuilding.masses\[1\]' \(floor masses\) must be positive, and is -1 kg"
    ):
        vb.ShearBuilding(masses=[1.0, -1.0], storeys=[vb.Linear(1.0)] * 2)
    building = vb.ShearBuilding(masses=[1.0, 1.0], storeys=[vb.BoucWen(40.0, 1.0, 1.0)] * 2)
    with pytest.raises(
        InputError, match=r"'storeys\[1\].stiffness' \(initial stiffness k\) must be not negative, and is"
    ):
        building.replace({"storeys[*].stiffness": [1.0, -1.0]})
    with pytest.raises(InputError, match=r"'masses\[0\]' .* is 0 kg"):
        building.replace({"masses[0]": 0.0})
    with pytest.raises(InputError, match="Storey 0 needs a law"):
        building.replace({"storeys[0]": vb.PointMass(1.0, at="0")})
    with pytest.raises(InputError, match=r"'masses\[0\]\[1\]' .* is -2 kg"):
        motion = vb.Record(np.ones(9), [vb.Channel("g", "ground_acceleration")], step=0.1)
        simulate_many(building, motion, {"masses[0]": np.array([1.0, -2.0])})


def test_not_given_and_without_limit_are_values_of_their_own():
    assert np.isinf(vb.Masing(40.0, vb.laws.RayleighYield(0.05)).ductility)
    vb.Sensor("displacement", "0", noise=np.nan)
    with pytest.raises(InputError, match=r"Sensor\.noise"):
        vb.Sensor("displacement", "0", noise=-0.1)
    with pytest.raises(InputError, match=r"Masing.ductility.* is nan"):
        vb.Masing(40.0, vb.laws.RayleighYield(0.05), ductility=np.nan)


@pytest.mark.parametrize("mass", [[[1.0, 2.0], [2.0, 1.0]], [1.0, 0.0], [[1.0, 0.0], [0.5, 1.0]]])
def test_a_mass_matrix_is_symmetric_and_positive_definite(mass):
    with pytest.raises(InputError, match="positive definite"):
        vb.Matrices(np.array(mass), np.eye(2))


def test_what_is_traced_is_not_looked_at():
    building = vb.ShearBuilding(masses=[1.0], storeys=[vb.Linear(40.0)])

    @jax.jit
    def force(k):
        made = building.replace({"storeys[0].stiffness": k})
        return made.storeys[0].force(1.0, 0.0, ()) + vb.Linear(stiffness=k).force(1.0, 0.0, ())

    assert float(force(-1.0)) == -2.0
    assert jax.vmap(lambda m: vb.ShearBuilding(masses=m, storeys=[vb.Linear(1.0)]).masses)(-jnp.ones((2, 1))).shape
    shapes = eqx.filter_eval_shape(lambda b: b.replace({"masses[0]": 2.0}), building)
    assert shapes.masses.shape == (1,)


def test_ranges_are_declared_once():
    info = ParameterInfo("m", "kg", positive=True)
    info.check("words are not numbers", "x")
    for value in (1.0, np.float32(2.0), np.array([1, 2]), jnp.ones(3)):
        info.check(value, "x")
    for value in (0, -1, np.array([1.0, -2.0]), jnp.array(np.inf)):
        with pytest.raises(InputError, match="'x"):
            info.check(value, "x")
