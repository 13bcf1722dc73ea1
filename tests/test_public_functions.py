"""Public functions fed with what they do not expect: a result or a sentence, never a traceback from inside.

Every case is a public name with arguments that work. One argument at a time is replaced: by a wrong type, a wrong size,
a number that is none, an empty list, a negative count, a path that leads nowhere.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vibrid as vb
from vibrid.identification.method import as_method

TIME = np.arange(0, 2.0, 0.02)
GROUND = vb.Record(np.sin(9 * TIME), [vb.Channel("ground", "ground_acceleration")], step=0.02, name="ground")
DATA = GROUND.replace(
    data=np.stack([np.sin(9 * TIME), 0.01 * np.cos(9 * TIME)], axis=1),
    channels=(*GROUND.channels, vb.Channel("displacement_0", "displacement", location="0")),
)
MACHINE = GROUND.replace(
    data=np.stack([np.sin(9 * TIME), 40.0 * np.sin(9 * TIME) + np.cos(30 * TIME)], axis=1),
    channels=(vb.Channel("x", "imposed_displacement"), vb.Channel("force", "element_force")),
)
BUILDING = vb.ShearBuilding([1.0], [vb.Linear(40.0, 0.5)])
SENSORS = vb.Sensors(displacement=[0])
TARGET = vb.records.eurocode8_target(0.3)
RESPONSE = vb.simulate(BUILDING, GROUND)
BEAM = {"positions": [0.0, 0.5, 1.0], "modulus": 7e10, "area": 1e-4, "inertia": 1e-9, "density": 2700.0}
NODES = [(0.0, 0.0), (1.0, 0.0), (0.5, 1.0)]
TRUSS = {"nodes": NODES, "bars": [(0, 2), (1, 2), (0, 1)], "modulus": 7e10, "area": 1e-4, "density": 2700.0}
FRAME = {
    "nodes": NODES,
    "elements": [(0, 2), (2, 1)],
    "modulus": 7e10,
    "area": 1e-4,
    "inertia": 1e-9,
    "density": 2700.0,
}


class Trivial(vb.identification.Method):
    """Answers nothing: what matters here is what comes before."""

    abilities = frozenset({"partial sensors", "initial state", "sensor offset", "load offset", "several records"})

    def solve(self, problem, key=0, progress=None):
        return RESULT


class RESULT:
    checks = ()
    cut_short = True

    @staticmethod
    def replace(**changes):
        return changes


LAWS = {
    "Linear": {"stiffness": 40.0, "damping": 0.5},
    "Cubic": {"stiffness": 40.0, "cubic": 5.0},
    "Polynomial": {"coefficients": [40.0, 0.0, 5.0]},
    "Bilinear": {"stiffness": 40.0, "yield_deformation": 0.1, "post_yield_ratio": 0.1},
    "BoucWen": {"stiffness": 40.0, "beta": 6.0, "gamma": 4.0, "exponent": 1.0},
    "Viscous": {"damping": 0.5},
    "NonlinearViscous": {"coefficient": 1.0, "exponent": 0.5},
    "Maxwell": {"stiffness": 40.0, "damping": 0.5},
    "Parallel": {"laws": [vb.Linear(1.0), vb.Viscous(1.0)]},
    "RayleighYield": {"mean": 0.1},
    "UniformYield": {"low": 0.1, "high": 0.2},
    "Masing": {"stiffness": 40.0, "distribution": vb.laws.RayleighYield(0.1), "capacity": 8},
}
STRUCTURES = {
    "ShearBuilding": {"masses": [1.0], "storeys": [vb.Linear(40.0)], "damping": vb.Viscous(0.5), "attachments": ()},
    "Beam": BEAM | {"supports": {0: "fixed"}, "mass_model": "lumped"},
    "Truss": TRUSS | {"supports": {0: "pinned", 1: "pinned"}},
    "Frame2D": FRAME | {"supports": {0: "fixed", 1: "fixed"}},
    "Matrices": {"mass": [[1.0]], "stiffness": [[40.0]], "damping": [[0.5]], "influence": [1.0], "names": ["top"]},
    "Device": {"law": vb.Linear(40.0)},
    "Rayleigh": {"mass": 0.1, "stiffness": 0.01},
    "Modal": {"ratios": 0.02},
    "Attachment": {"law": vb.Linear(1.0), "at": "0", "to": None},
    "PointMass": {"mass": 1.0, "at": "1"},
    "modes": {"structure": BUILDING, "count": 1, "direction": ""},
    "reduce": {"structure": vb.Beam(**BEAM), "keep": ["2"], "method": "guyan", "modes": None},
}
MEASURING = {
    "Sensor": {"quantity": "displacement", "place": 0, "gain": 1.0, "delay": 0.0, "noise": 0.1, "offset": 0.0},
    "Sensors": {"sensors": [vb.Sensor("displacement", 0)], "acceleration": [0]},
    "Channel": {"name": "a", "quantity": "displacement", "unit": "m", "location": "0", "direction": ""},
    "Record": {"data": GROUND.data, "channels": GROUND.channels, "step": 0.02, "start": 0.0, "name": "a"},
    "Initial": {"displacement": [0.1], "velocity": [0.0]},
    "free_vibration": {"duration": 1.0, "rate": 50.0},
}
LONG = np.arange(3000) * 0.02
DECAYS = np.exp(-0.1 * LONG) * [np.sin(9 * LONG), np.cos(20 * LONG)]
NOISE = 1e-3 * np.random.default_rng(0).standard_normal((3000, 2))
RINGING = vb.Record(DECAYS.T @ [[1.0, 0.6], [0.8, -1.0]] + NOISE, [vb.Channel("a"), vb.Channel("b")], step=0.02)
TWO = vb.modes(vb.ShearBuilding([1.0, 1.0], [vb.Linear(40.0)] * 2))
MODES = {
    "fdd": {"data": RINGING, "channels": ["a", "b"], "highest": 10.0, "length": 256, "peaks": [1.43], "alike": 0.8},
    "era": {"data": RINGING, "channels": ["a", "b"], "highest": 10.0, "order": 8, "lags": 20},
    "measured_modes": {
        "frequencies": [1.0, 2.0],
        "shapes": [[1.0, 1.0], [1.0, -1.0]],
        "places": ["0", "1"],
        "ratios": 0.01,
        "frequency_deviations": 0.01,
        "shape_deviations": 0.01,
    },
    "pair_modes": {"first": TWO, "second": TWO, "places": None},
}
RECORDS = {
    "response_spectrum": {"record": GROUND, "periods": [0.5, 1.0], "damping": 0.05, "channel": "ground", "substeps": 1},
    "response_history": {"record": GROUND, "period": 0.5, "damping": 0.05, "channel": "ground"},
    "fourier_spectrum": {"record": GROUND, "channel": "ground"},
    "wavelet_transform": {"record": GROUND, "frequencies": [2.0, 5.0], "channel": "ground", "cycles": 6.0},
    "lag": {"record": GROUND, "reference": GROUND, "channel": "ground", "largest": 0.5},
    "synchronise": {"records": [GROUND, DATA.select(["displacement_0"])], "rate": 50.0, "span": "common"},
    "synthetic_motion": {"key": 1, "duration": 4.0, "rate": 50.0, "pga": 1.0, "frequency": 3.0},
    "scenario_parameters": {"magnitude": 6.5, "distance": 20.0, "shear_velocity": 800.0, "key": 1},
    "eurocode8_target": {"ground": 0.3, "soil": "B", "kind": 1, "damping": 0.05, "periods": [0.5, 1.0]},
    "asce7_target": {"short": 1.0, "one_second": 0.4, "long_period": 8.0, "periods": [0.5, 1.0]},
    "table_target": {"periods": [0.5, 1.0], "acceleration": [0.3, 0.2], "unit": "g"},
    "scale_to_target": {"motion": GROUND, "target": TARGET, "period_range": (0.2, 1.0), "limit": (0.2, 5.0)},
    "select_suite": {"candidates": [GROUND, GROUND], "target": TARGET, "count": 1, "limit": (0.01, 100.0)},
    "Similitude": {"length": 10.0},
}
OPERATIONS = {
    "filter": {"low": 1.0, "high": 10.0},
    "cut": {"start": 0.1, "end": 1.0},
    "resample": {"rate": 25.0},
    "scale": {"factor": 2.0},
    "select": {"names": ["ground"], "quantity": None},
    "relabel": {"changes": {"ground": {"location": "0"}}},
}
ANSWERS = {
    "measure": {"sensors": SENSORS, "noise": 0.1, "key": 1},
    "readings": {"sensors": SENSORS},
    "part": {"name": "storeys[0]"},
}
MOVING = {
    "simulate": {
        "structure": BUILDING,
        "excitation": GROUND,
        "integrator": vb.ExactLinear(),
        "hold": "linear",
        "substeps": 1,
        "start": vb.Initial([0.1]),
    },
    "simulate_many": {"structure": BUILDING, "excitation": GROUND, "changes": {"masses[0]": [1.0, 1.1]}, "substeps": 1},
    "default_integrator": {"structure": BUILDING, "hold": "linear"},
}
IDENTIFYING = {
    "Unknown": {"path": "masses[0]", "bounds": (0.1, 5.0), "start": 1.0, "prior": (1.0, 0.1), "scale": 1.0, "name": ""},
    "UnknownLoad": {"at": "0", "deviation": 1.0, "quantity": "load", "speed": None, "enters": 0.0},
    "identify": {
        "structure": BUILDING,
        "data": DATA,
        "unknown": ["storeys[0].stiffness"],
        "method": Trivial(),
        "sensors": SENSORS,
        "initial": [vb.Initial([0.0])],
        "hold": "linear",
        "substeps": 1,
        "hold_out": 0.0,
    },
    "calibrate": {
        "tests": MACHINE,
        "law": vb.Linear(40.0),
        "unknown": "stiffness",
        "offset": False,
        "left_out": [MACHINE],
        "rate": 25.0,
        "corner": 10.0,
        "starts": 1,
        "substeps": 1,
        "checks": "none",
        "key": 1,
    },
    "place_sensors": {
        "structure": BUILDING,
        "candidates": vb.Sensors(displacement=[0], acceleration=[0]),
        "count": 1,
        "excitation": GROUND,
        "unknown": ["storeys[0].stiffness"],
        "noise": 0.02,
        "aim": "parameters",
    },
    "TrajectoryFit": {"starts": 1, "spread": 0.4, "segments": 1, "stages": ("storeys",), "iterations": 5, "rounds": 1},
}
STUDYING = {
    "study": {
        "structure": BUILDING,
        "motions": [GROUND],
        "vary": {"masses[0]": [1.0, 2.0]},
        "levels": [1.0],
        "intensity": "pga",
        "sensors": SENSORS,
        "heights": [3.0],
        "keep": ["peaks"],
        "collapse": vb.studies.Collapse(drift=0.1),
        "hold": "linear",
        "substeps": 1,
        "key": 0,
    },
    "Fits": {
        "unknown": ["storeys[0].stiffness"],
        "method": "trajectory",
        "laws": {"same": BUILDING},
        "sensors": {"all": SENSORS},
        "data": "simulated",
        "noise": 0.1,
        "seeds": [0, 1],
        "every": 2,
        "hold": "linear",
        "substeps": 1,
        "hold_out": 0.1,
        "checks": "none",
        "confidence": 0.9,
    },
    "Gaussian": {"mean": 1.0, "deviation": 0.1},
    "LogNormal": {"median": 1.0, "dispersion": 0.1},
    "Uniform": {"low": 1.0, "high": 2.0},
    "IntensityMeasure": {"kind": "sa", "period": 0.5, "damping": 0.05},
    "StoreyDrift": {"top": "1", "bottom": "0", "height": 3.0},
}
PATHS = [
    "storeys[7].stiffness",
    "storeys[*]",
    "masses[-9]",
    "sensors[3].gain",
    "loads[2].offset",
    "nothing",
    "a..b",
    "[0]",
]

ODD = st.one_of(
    st.sampled_from([None, True, "", "x", b"x", [], (), {}, object(), int, np.zeros(0), np.zeros((2, 3)), 1j]),
    st.sampled_from([np.nan, np.inf, -1.0, 0, -3, 1e300, [np.nan], [None], [[1.0, 2.0], [3.0]], [0.1, 0.2, 0.3], -0.0]),
    st.sampled_from([*PATHS, [PATHS[0]], {"x": 1.0}, {"displacement": [1.0, 2.0, 3.0]}, GROUND, BUILDING, SENSORS]),
    st.text(max_size=4),
    st.lists(st.floats(allow_nan=True, width=32), max_size=3),
)


def told(function, arguments: dict) -> None:
    """Call it: a result, or an error that speaks."""
    try:
        function(**arguments)
    except vb.VibridError as problem:
        assert len(str(problem).split()) > 3, f"not a sentence: {problem}"


WORKS = LAWS | STRUCTURES | MEASURING | MODES | RECORDS | MOVING | IDENTIFYING | STUDYING
ROOMS = (vb.records, vb.laws, vb.structures, vb.simulation, vb.modal, vb.identification, vb.studies)
PUBLIC = {name: getattr(room, name) for room in ROOMS for name in room.__all__}
CASES = {name: (PUBLIC[name], works) for name, works in WORKS.items()}
CASES |= {f"Record.{name}": (getattr(GROUND, name), works) for name, works in OPERATIONS.items()}
CASES |= {f"Response.{name}": (getattr(RESPONSE, name), works) for name, works in ANSWERS.items()}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore")
def test_one_wrong_argument_is_told_in_a_sentence(name):
    function, works = CASES[name]
    function(**works)

    @settings(max_examples=15, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(st.sampled_from(sorted(works)), ODD)
    def try_it(argument, value):
        told(function, works | {argument: value})

    try_it()


def test_laws_with_lists_for_numbers_are_refused_where_they_are_used():
    for make in (lambda law: vb.ShearBuilding([1.0], [law]), vb.Device, lambda law: vb.Attachment(law, at="0")):
        with pytest.raises(vb.InputError, match="a list was given where this law wants one number"):
            make(vb.Linear([1.0, 2.0]))


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("trajectry", "did you mean 'trajectory'"),
        (3, "such as 'trajectory', not 3"),
        (vb.ShearBuilding, "A method is an object such as"),
    ],
)
def test_a_method_that_is_none_is_refused_with_the_nearest(method, words):
    with pytest.raises(vb.InputError, match=words):
        vb.identify(BUILDING, DATA, "storeys[0].stiffness", method)
    with pytest.raises(vb.InputError, match=words):
        vb.compare(BUILDING, DATA, "storeys[0].stiffness", [method])


ALONE = ["storeys[0].stiffness", vb.Unknown("storeys[0].stiffness"), ("storeys[0].stiffness",)]


@pytest.mark.parametrize("unknown", ALONE)
@pytest.mark.parametrize("method", [Trivial, Trivial()])
def test_methods_as_classes_and_unknowns_alone(unknown, method):
    assert "provenance" in vb.identify(BUILDING, DATA, unknown, method)


def test_methods_by_the_names_of_project_files():
    for name in vb.identification.METHODS:
        assert type(as_method(name)) is vb.identification.METHODS[name]
