"""What a problem states about records, sensors and steps: every method honours it, refuses it, or cannot feel it."""

import dataclasses
from functools import cache

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.identification import augmented
from vibrid.identification.methods.bayes import _log_posterior
from vibrid.identification.online.live import LiveRun, live_problem
from vibrid.identification.problem import Problem, make_problem, predict

STEP, SAMPLES = 0.05, 120
TRUTH = vb.ShearBuilding(masses=[1.0], storeys=[vb.Linear(60.0, 0.8)])
GUESS = TRUTH.replace({"storeys[0].stiffness": 50.0})
UNKNOWN = ["storeys[0].stiffness"]
MOTION = vb.Sensors(displacement=[0], velocity=[0], acceleration=[0])
FORCE = vb.Sensors(element_force=["device"])
DEVICE = vb.Device(vb.Masing(4.0, vb.laws.RayleighYield(4.0), 2.0, 0.1, capacity=8))

SMOOTH = {"hold": "band-limited", "substeps": 2, "integrator": vb.RungeKutta4()}
"""What is right for `data`, and compiles quickly."""

METHODS = {
    "trajectory": vb.TrajectoryFit(),
    "noisy-input": vb.NoisyInputFit(),
    "ukf": vb.UnscentedKalman(passes=2),
    "ekf": vb.ExtendedKalman(),
    "least-squares": vb.LeastSquares(),
    "sparse": vb.SparseRegression(threshold=1e-4),
    "joint": vb.JointLoads(),
    "global": vb.GlobalSearch(population=4, generations=2),
    "bayes": vb.Bayes(),
    "online-masing": vb.OnlineMasing(window=20, stride=2),
    "online-recall": vb.OnlineRecall(lag=2, points=40, members=1),
    "siva": vb.SIVA(epochs=20),
    "pidynnet": vb.PIDynNet(hidden=(), softness=(0.1,)),
    "weak-collocation": vb.WeakCollocation(softness=(1.0, 0.1, 0.01)),
}


@cache
def ground() -> vb.Record:
    """Six seconds at 20 Hz with content up to 7 Hz: what it does between its samples decides."""
    t = STEP * np.arange(SAMPLES)
    rng = np.random.default_rng(0)
    raw = sum(np.sin(2 * np.pi * f * t + p) for f, p in zip(np.linspace(0.5, 7, 9), rng.uniform(0, 6, 9), strict=True))
    return vb.Record(raw * np.sin(np.pi * t / t[-1]) ** 2, [vb.Channel("g", "ground_acceleration")], step=STEP)


@cache
def response(start: tuple | None = None):
    """The band-limited motion, by another integrator in forty steps a sample."""
    start = None if start is None else vb.Initial(jnp.asarray(start[:1]), jnp.asarray(start[1:]))
    return vb.simulate(TRUTH, ground(), hold="band-limited", integrator=vb.RungeKutta4(), substeps=40, start=start)


@cache
def data(noise: float = 0.001) -> vb.Record:
    return response().measure(MOTION, noise=noise, key=0)


@cache
def imposed() -> vb.Record:
    t = STEP * np.arange(SAMPLES)
    raw = vb.Record(8 * np.sin(np.pi * t / 6) * np.sin(3.1 * t), [vb.Channel("x", "imposed_displacement")], step=STEP)
    return vb.simulate(DEVICE, raw).measure(FORCE, noise=0.01, key=0)


def asked(name: str) -> tuple:
    """Structure, record and unknowns that suit a method."""
    guess = DEVICE.replace({"law.stiffness": 5.0})
    return (guess, imposed(), ["law.stiffness"]) if name == "online-recall" else (GUESS, data(), UNKNOWN)


@cache
def problem(name: str) -> Problem:
    device = name == "online-recall"
    return make_problem(
        *asked(name), sensors=FORCE if device else MOTION, integrator=None if device else vb.RungeKutta4()
    )


def answer(name: str, problem: Problem) -> float:
    """The first estimate. Needs are left out of the problem: programs are compiled for each set of them.

    Of `bayes`, whose chains compile long, the density that they walk on.
    """
    problem = dataclasses.replace(problem, needs=frozenset())
    if name == "bayes":
        return float(_density(problem))
    return float(METHODS[name].solve(problem).estimate[0])


@eqx.filter_jit
def _density(problem):
    return _log_posterior(problem, jnp.zeros(1), jnp.ones((1, 1)), 0.1 * jnp.ones(3), jnp.zeros(1))


@cache
def plain(name: str) -> float:
    return answer(name, problem(name))


def test_every_method_is_here():
    known = vb.identification.METHODS
    own = {name: known[name] for name in known if not known[name].__module__.startswith("vibrid.papers.")}
    assert set(METHODS) == {name for name, method in own.items() if not method.from_modes}


@pytest.mark.parametrize("name", METHODS)
def test_what_the_input_does_between_samples_decides_or_cannot_matter(name):
    """Inputs that stay until the next sample instead of moving there: the samples themselves are the same."""
    stay = eqx.tree_at(
        lambda p: p.data[0].drive.coefficients, problem(name), replace_fn=lambda c: c.at[:, :, 1:].set(0)
    )
    if "hold" in METHODS[name].independent_of:
        assert answer(name, stay) == plain(name)
    else:
        assert abs(answer(name, stay) / plain(name) - 1) > 3e-3


@pytest.mark.parametrize("name", METHODS)
def test_priors_hold_the_answer_or_are_refused(name):
    """A prior that is sure of 55 N/m holds an estimate there against any data."""
    structure, record, (path,) = asked(name)
    if "priors" not in METHODS[name].abilities:
        with pytest.raises(vb.Refusal, match="an unknown has a prior"):
            vb.identify(structure, record, [vb.Unknown(path, prior=(55.0, 1e-4))], METHODS[name])
        return
    where = lambda p: (p.unknowns.prior_mean, p.unknowns.prior_deviation)  # noqa: E731
    sure = eqx.tree_at(where, problem(name), (jnp.array([55.0]), jnp.array([1e-4])))
    if name == "bayes":
        assert answer(name, sure) - plain(name) == pytest.approx(-0.5 * (5.0 / 1e-4) ** 2, rel=1e-3)
    else:
        assert answer(name, sure) == pytest.approx(55.0, abs=0.01)


@pytest.mark.parametrize("name", ["ekf", "least-squares", "online-masing", "weak-collocation", "online-recall"])
def test_stated_gains_of_sensors_are_taken_off(name):
    gains = jnp.array([2.0]) if name == "online-recall" else jnp.array([2.0, -0.5, 3.0])
    where = lambda p: (p.data[0].readings, *(s.gain for s in p.experiment.sensors))  # noqa: E731
    scaled = eqx.tree_at(where, problem(name), (problem(name).data[0].readings * gains, *gains))
    np.testing.assert_allclose(answer(name, scaled), plain(name), rtol=1e-4)


def test_a_method_without_steps_does_not_feel_them():
    """Two integrators that differ by a per mille at this step: WeakCollocation may begin where they lead, no more."""
    for name in ("pidynnet", "weak-collocation"):
        assert METHODS[name].independent_of == {"integrator", "substeps"}
    other = dataclasses.replace(problem("weak-collocation"), integrator=vb.simulation.RungeKutta3())
    np.testing.assert_allclose(answer("weak-collocation", other), plain("weak-collocation"), rtol=1e-5)


@cache
def smooth() -> Problem:
    """The problem as it should be put."""
    return make_problem(GUESS, data(), UNKNOWN, sensors=MOTION, **SMOOTH)


def test_filters_follow_the_hold_of_the_record():
    """The reported defect: a filter took every hold for a linear one."""
    assert answer("ekf", smooth()) == pytest.approx(60.0, rel=2e-4) != pytest.approx(plain("ekf"), rel=5e-4)


@pytest.mark.parametrize(("hold", "substeps"), [("zero", 1), ("band-limited", 3)])
def test_a_filter_that_hears_nothing_moves_as_the_simulation_does(hold, substeps):
    problem = make_problem(GUESS, data(), UNKNOWN, hold=hold, substeps=substeps, integrator=vb.Newmark())
    free, driven = jnp.asarray(problem.start), problem.data[0].drive
    z, seen = augmented.first_state(problem, free), predict(problem, free, 0)
    move = jax.jit(lambda z, a, b, between: augmented.move(problem, z, a, b, STEP, between))
    for k in range(30):
        z = move(z, driven.samples[k], driven.samples[k + 1], driven.coefficients[k])
    np.testing.assert_allclose(z[:2], seen[30, :2], rtol=1e-9)


def test_what_a_filter_cannot_follow_is_refused():
    for integrator in (vb.KRAlpha(), vb.CentralDifference()):
        with pytest.raises(vb.Refusal, match="also carries would be lost"):
            METHODS["ukf"].solve(dataclasses.replace(problem("ukf"), integrator=integrator))
    live = live_problem(GUESS, MOTION, UNKNOWN, data(), integrator=vb.RungeKutta4(), hold="cubic")
    now = live.data[0].drive.samples
    with pytest.raises(vb.InputError, match="hold needs later samples"):
        augmented.move(live, augmented.first_state(live, jnp.asarray(live.start)), now[0], now[1], STEP)
    late = vb.Sensors([vb.Sensor("displacement", 0, delay=0.01)])
    with pytest.raises(vb.Refusal, match="a sensor is delayed"):
        LiveRun(vb.UnscentedKalman(), live_problem(GUESS, late, UNKNOWN, data()))
    below = eqx.tree_at(lambda p: p.unknowns.prior_mean, problem("ukf"), jnp.array([-1.0]))
    with pytest.raises(vb.InputError, match="a filter starts there"):
        METHODS["ukf"].solve(below)


def test_an_exact_step_for_another_hold_is_refused():
    first, zero = vb.ExactLinear(), vb.ExactLinear("zero")
    for hold, integrator in (("cubic", first), ("zero", first), ("linear", zero)):
        with pytest.raises(vb.InputError, match=f"would not follow inputs with a '{hold}' hold"):
            make_problem(GUESS, data(), UNKNOWN, hold=hold, integrator=integrator)
        with pytest.raises(vb.InputError, match="or leave the integrator out"):
            vb.simulate(GUESS, ground(), hold=hold, integrator=integrator)


def test_a_filter_weighs_a_prior_once_however_often_it_passes():
    """Prior and data of like certainty: the answer lies between both, and passes do not pull it to either."""
    noisy = eqx.tree_at(lambda p: p.data[0].readings, smooth(), jnp.asarray(data(0.1).data[:, 1:]))
    alone = METHODS["ekf"].solve(dataclasses.replace(noisy, needs=frozenset()))
    deviation = float(alone.deviation[0])
    prior = (jnp.array([float(alone.estimate[0]) + 4 * deviation]), jnp.array([deviation]))
    both = eqx.tree_at(lambda p: (p.unknowns.prior_mean, p.unknowns.prior_deviation), noisy, prior)
    assert answer("ekf", both) == pytest.approx(float(alone.estimate[0]) + 2 * deviation, abs=0.5 * deviation)


def test_a_device_with_other_sensors_than_its_force_is_refused():
    both = vb.simulate(DEVICE, imposed()).measure(vb.Sensors(displacement=["device"], element_force=["device"]), 0.01)
    for name in ("online-recall", "online-masing"):
        with pytest.raises(vb.Refusal, match="one sensor of element_force and no other"):
            vb.identify(DEVICE, both, ["law.stiffness"], METHODS[name])


def test_records_with_different_loads_are_told_apart_or_refused():
    """The same floor, shaken by the ground in one record and pushed in the other."""
    push = vb.Record(3 * ground().data, [vb.Channel("p", "load", "N", "0")], step=STEP, name="pushed")
    pushed = vb.simulate(TRUTH, push, hold="band-limited", integrator=vb.RungeKutta4(), substeps=40)
    records = [data(), pushed.measure(MOTION, noise=0.001, key=1)]
    for name in ("ekf", "least-squares"):
        fit = vb.identify(GUESS, records, UNKNOWN, METHODS[name], **SMOOTH)
        np.testing.assert_allclose(fit.estimate, 60.0, rtol=2e-3)
    with pytest.raises(vb.Refusal, match="the records have different loads"):
        vb.identify(GUESS, records, UNKNOWN, METHODS["online-masing"])


def test_unknown_loads_follow_the_hold_with_any_integrator():
    """A load that steps from sample to sample is found by the zero hold, also about a nonlinear motion."""
    nonlinear = vb.ShearBuilding(masses=[1.0], storeys=[vb.Polynomial([60.0, 0.0, 40.0])], damping=vb.Viscous(0.8))
    values = 5 * np.sin(np.arange(40) * 0.35)
    push = vb.Record(values, [vb.Channel("p", "load", "N", "0")], step=STEP, name="pushed")
    made = vb.simulate(nonlinear, push, hold="zero", substeps=40).measure(MOTION, noise=0.0)
    record = made.select([n for n in made.names if n != "p"])
    found = vb.find_loads(nonlinear, record, ["0"], sensors=MOTION, hold="zero", integrator=vb.RungeKutta4())
    np.testing.assert_allclose(found.values[5:-5, 0], values[5:-5], atol=0.05)
    with pytest.raises(vb.Refusal, match="a cubic one needs a linear structure"):
        vb.find_loads(nonlinear, record, ["0"], sensors=MOTION, hold="cubic")
    late = vb.Sensors([vb.Sensor("displacement", 0, delay=0.01)])
    with pytest.raises(vb.Refusal, match="delayed sensors"):
        vb.find_loads(TRUTH, record, ["0"], sensors=late)


@pytest.mark.parametrize("name", ["ekf", "weak-collocation", "least-squares"])
def test_a_known_state_at_the_start_is_honoured(name):
    """Free vibration from 0.3 m beside the shaking: from rest the readings could not be explained."""
    readings = response((0.3, -1.0)).measure(MOTION, noise=0.001, key=0).data[:, 1:]
    where = lambda p: (p.data[0].readings, p.experiment.initial[0].displacement, p.experiment.initial[0].velocity)  # noqa: E731
    begun = eqx.tree_at(where, smooth(), (jnp.asarray(readings), jnp.array([0.3]), jnp.array([-1.0])))
    assert answer(name, begun) == pytest.approx(60.0, rel=2e-3)


def test_missing_samples_say_nothing_or_are_refused():
    values = np.array(data().data)
    values[40:50, 1:] = np.nan
    gappy = data().replace("gaps", data=values)
    for method in METHODS.values():
        if "missing samples" not in method.abilities:
            with pytest.raises(vb.Refusal, match="missing or held out"):
                vb.identify(GUESS, gappy, UNKNOWN, method, sensors=MOTION, **SMOOTH)
    present = jnp.asarray(np.isfinite(values[:, 1:]), float)
    spoilt = jnp.where(present > 0, smooth().data[0].readings, 1e3)
    gaps = eqx.tree_at(lambda p: (p.data[0].readings, p.data[0].present), smooth(), (spoilt, present))
    for name in ("ekf", "weak-collocation"):
        assert answer(name, gaps) == pytest.approx(60.0, rel=2e-3)
