"""What unknowns ask of a method: said by the kind of place that they are at, not guessed from its spelling."""

import dataclasses

import numpy as np
import pytest

import vibrid as vb
from tests.identification import small
from vibrid.core.parameters import parameter
from vibrid.identification.experiment import Experiment, Load
from vibrid.identification.method import NEEDS
from vibrid.identification.places import KINDS, kind_of
from vibrid.identification.problem import Problem, make_problem
from vibrid.identification.problem_data import Data
from vibrid.identification.unknowns import compile_unknowns
from vibrid.laws.base import StaticLaw
from vibrid.simulation.initial import Initial
from vibrid.structures.sensors import Sensor


class Amplified(StaticLaw):
    """A spring whose parameters are called like those of a sensor."""

    gain: object = parameter("factor of the stiffness", "", positive=True)
    delay: object = parameter("factor of the damping", "", positive=True)
    noise: object = parameter("another factor of the damping", "", positive=True)
    offset: object = parameter("constant force", "N", default=0.0)

    def force(self, e, w, s):
        return 40.0 * self.gain * e + 0.5 * self.delay * self.noise * w + self.offset


STRUCTURE = vb.ShearBuilding(masses=[1.0, 0.8], storeys=[Amplified(1.0, 1.0, 1.0)] * 2)
EXPERIMENT = Experiment(
    STRUCTURE, tuple(small.TWO_SENSORS), (Initial.rest(2), Initial.rest(2)), (Load("ground_acceleration", ""),)
)


@pytest.mark.parametrize(
    ("unknown", "needs"),
    [
        ("storeys[*].gain", set()),
        ("storeys[*].delay", set()),
        ("storeys[*].noise", set()),
        ("storeys[0].offset", set()),
        ("sensors[0].gain", {"sensor gain"}),
        ("sensors[*].offset", {"sensor offset"}),
        ("sensors[1].delay", {"sensor delay"}),
        (vb.Unknown("sensors[0].noise", start=0.1), {"unknown noise"}),
        ("loads[0].offset", {"load offset"}),
        ("initial[0].displacement[1]", {"initial state"}),
        ("initial[1].velocity[0]", {"initial state"}),
    ],
)
def test_an_unknown_asks_for_what_its_place_needs(unknown, needs):
    assert compile_unknowns(EXPERIMENT, [unknown]).needs == needs


def test_a_structure_with_parameters_called_like_those_of_a_sensor_is_no_sensor():
    problem = make_problem(STRUCTURE, small.two(), ["storeys[*].gain", "storeys[*].delay", "storeys[*].noise"])
    assert not problem.needs & {"sensor gain", "sensor delay", "unknown noise"}
    assert not problem.delays and not problem.unknowns.noise()


def test_every_parameter_of_sensors_loads_and_initial_states_has_a_kind():
    for root, cls in (("sensors", Sensor), ("loads", Load), ("initial", Initial)):
        declared = {f.name for f in dataclasses.fields(cls) if "parameter" in f.metadata}
        assert declared == {field for own, field in KINDS if own == root}
    assert {kind.need for kind in KINDS.values()} <= set(NEEDS)
    assert kind_of("structure.sensors[0].gain").need == ""


@pytest.mark.parametrize(("record", "moved"), [(0, False), (1, True)])
def test_which_record_begins_in_an_unknown_state(record, moved):
    for last in ("initial[1]", "initial[-1]"):
        unknowns = compile_unknowns(EXPERIMENT, ["storeys[0].gain", f"{last}.velocity[0]"])
        assert unknowns.begins(record, records=2) == moved


@pytest.mark.parametrize("cls", [Problem, Data])
def test_fields_of_a_problem_are_given_by_name(cls):
    with pytest.raises(TypeError, match="positional"):
        cls(*[None] * len(dataclasses.fields(cls)))
    assert np.all([f.kw_only for f in dataclasses.fields(cls)])
