"""The rehearsal of a hybrid test, against closed forms of a linear split."""

import dataclasses

import numpy as np
import pytest
import scipy

import vibrid as vb
from vibrid.core.errors import Refusal
from vibrid.hybrid import rehearsal
from vibrid.hybrid.prepare import on_steps
from vibrid.hybrid.rehearsal.batch import run_many
from vibrid.hybrid.rehearsal.delays import simulated_critical_delay
from vibrid.hybrid.rehearsal.demands import energy_of_cycles
from vibrid.hybrid.rehearsal.loop import linear_loop, transfer_of
from vibrid.hybrid.substructure import Substructure

MASS, COMPUTED, TESTED = 1e4, 3e6, 1e6
DAMPING = 2 * 0.02 * np.sqrt(MASS * (COMPUTED + TESTED))
BUILDING = vb.ShearBuilding(masses=[MASS], storeys=[vb.Linear(COMPUTED)], damping=np.array([[DAMPING]]))


def split(actuator=None, compensator=None, building=BUILDING, **more):
    spring = vb.Experimental(vb.Linear(TESTED), at=0, name="spring", actuator=actuator, compensator=compensator)
    return vb.HybridTest(building, [spring], **more)


def motion(seconds=5.0):
    return vb.synthetic_motion(3, duration=seconds, rate=1024.0, pga=3.0)


def closed_form():
    """m ω² = k + k_t cos ωτ and c ω = k_t sin ωτ: the delay (s) and frequency (rad/s) at the limit of stability."""
    limits = np.sqrt(COMPUTED / MASS), np.sqrt((COMPUTED + TESTED) / MASS)
    omega = scipy.optimize.brentq(
        lambda w: (MASS * w**2 - COMPUTED) ** 2 + (DAMPING * w) ** 2 - TESTED**2, limits[0] * 1.02, limits[1]
    )
    return np.arctan2(DAMPING * omega, MASS * omega**2 - COMPUTED) / omega, omega


def test_the_critical_delay_of_a_linear_split_is_that_of_the_closed_form():
    delay, omega = closed_form()
    crossing = linear_loop(split()).critical_delay("spring")
    assert crossing.delay == pytest.approx(delay, rel=1e-9)
    assert 2 * np.pi * crossing.frequency == pytest.approx(omega, rel=1e-9)


def test_simulation_finds_the_same_critical_delay():
    delay, _ = closed_form()
    test = split()
    near = linear_loop(test).critical_delay("spring")
    assert simulated_critical_delay(test, "spring", on_steps(motion(), test.step), near) == pytest.approx(
        delay, rel=0.01
    )


def test_the_margin_is_what_the_actuator_leaves():
    delay, _ = closed_form()
    loop = linear_loop(split(vb.Actuator(vb.hybrid.PureDelay(0.003))))
    assert loop.margin("spring").delay == pytest.approx(delay - 0.003, rel=1e-6) and not loop.unstable
    late = linear_loop(split(vb.Actuator(vb.hybrid.PureDelay(delay + 0.001))))
    assert late.unstable == 2 and late.margin("spring").delay == 0.0
    assert linear_loop(split(vb.Actuator(vb.hybrid.PureDelay(delay - 1e-6)))).unstable == 0


def test_laboratory_time_scales_the_critical_delay():
    delay, _ = closed_form()
    slow = linear_loop(split(scaling=vb.hybrid.Scaling(time=0.5)))  # the laboratory takes twice as long
    assert slow.critical_delay("spring").delay == pytest.approx(2 * delay, rel=1e-9)


def test_poles_solve_the_equation_with_the_delay():
    late = 0.004
    (pole,) = linear_loop(split(vb.Actuator(vb.hybrid.PureDelay(late)))).poles()
    assert pole.damping_exact == pytest.approx(0.02)
    omega = 2 * np.pi * pole.frequency
    s = omega * (-pole.damping + 1j * np.sqrt(1 - pole.damping**2))
    left = MASS * s**2 + DAMPING * s + COMPUTED + TESTED * np.exp(-s * late)
    assert abs(left) < 1e-6 * (COMPUTED + TESTED)


def test_two_devices_have_a_delay_each():
    """The critical delay of one, found again as the delay from which a simulation of both grows."""
    building = vb.ShearBuilding(masses=[MASS] * 2, storeys=[vb.Linear(COMPUTED)] * 2, damping=vb.Modal(0.03))
    late = vb.Actuator(vb.hybrid.PureDelay(0.002))
    parts = [
        vb.Experimental(vb.Linear(TESTED), at=0, name="low", actuator=late),
        vb.Experimental(vb.Linear(TESTED), at=1, to=0, name="high"),
    ]
    test = vb.HybridTest(building, parts)
    loop = linear_loop(test)
    near = loop.critical_delay("high")
    found = simulated_critical_delay(test, "high", on_steps(motion(), test.step), near)
    assert found == pytest.approx(near.delay, rel=0.01)
    assert near.delay < linear_loop(dataclasses.replace(test, experimental=(parts[1],))).critical_delay("high").delay


DYNAMICS = {
    "ideal": vb.hybrid.IdealMachine(),
    "delay": vb.hybrid.PureDelay(0.0123),
    "first": vb.hybrid.FirstOrder(0.01),
    "second": vb.hybrid.SecondOrder.with_lag(0.018),
    "benchmark": vb.hybrid.BenchmarkMachine(),
}
COMPENSATORS = {
    "none": vb.hybrid.NoCompensation(),
    "polynomial": vb.hybrid.PolynomialExtrapolation(0.0123),
    "inverse": vb.hybrid.Inverse(0.018, 0.018**2 / 4),
    "ats": vb.hybrid.AdaptiveTimeSeries(0.015),
}


CHAINS = [(dynamics, "none") for dynamics in DYNAMICS] + [("ideal", way) for way in COMPENSATORS if way != "none"]


@pytest.mark.parametrize(("dynamics", "compensator"), CHAINS)
def test_transfer_functions_are_those_of_the_simulated_chain(dynamics, compensator):
    """A sine of 3 Hz, too small for ATS to adapt: amplitude and phase of its last third."""
    part = vb.Experimental(
        vb.Linear(1.0), at=0, actuator=vb.Actuator(DYNAMICS[dynamics]), compensator=COMPENSATORS[compensator]
    )
    omega, time = 2 * np.pi * 3.0, np.arange(3 * 1024) / 1024
    record = vb.Record(1e-6 * np.sin(omega * time), [vb.Channel("x", "imposed_displacement")], step=1 / 1024)
    moved = vb.hybrid.impose(part.device, record, part.actuator, part.compensator)["displacement"][-1024:]
    measured = 2 / 1024 * np.sum(moved * np.exp(-1j * omega * time[-1024:])) / (-1j * 1e-6)
    assert abs(measured / transfer_of(part)(1j * omega) - 1) < 5e-3


def test_a_delayed_spring_brings_in_the_energy_of_the_closed_form():
    """Per cycle of amplitude X the delay τ brings in π k X² sin ωτ."""
    late = 0.005
    result = split(vb.Actuator(vb.hybrid.PureDelay(late))).run(motion())
    target, dt = result.devices["spring.target"], result.devices.step
    force = TESTED * np.interp(result.devices.time - late, result.devices.time, target, left=0.0)
    expected = -np.trapezoid(force, target)  # a spring keeps none, so all that the structure did not get back
    energy = rehearsal.energy_error(result, "spring")[-1]
    kept = 0.5 * TESTED * result.devices["spring.displacement"][-1] ** 2
    assert energy == pytest.approx(expected + kept, rel=2e-2) and energy > 0
    assert dt == pytest.approx(1 / 1024)


def test_input_energy_is_what_the_structure_holds_and_dissipates():
    result = split().run(motion())
    x, v = result.response.displacement[:, 0], result.response.velocity[:, 0]
    held = 0.5 * MASS * v[-1] ** 2 + 0.5 * (COMPUTED + TESTED) * x[-1] ** 2
    lost = DAMPING * np.trapezoid(v**2, dx=result.response.time[1])
    assert rehearsal.input_energy(result)[-1] == pytest.approx(held + lost, rel=5e-3)


def test_a_good_plan_is_a_go():
    result = rehearsal.rehearse(split(), motion(), "roof", runs=0)
    assert str(result.level) == "go" and not result.reasons and result.scatter is None


def test_uncompensated_delay_is_no_go_and_compensation_brings_it_back():
    lag = vb.Actuator(vb.hybrid.SecondOrder.with_lag(0.012), noise=1e-6)
    bad = rehearsal.rehearse(split(lag), motion(8.0), "roof", runs=0)
    assert str(bad.level) == "no go" and bad.unstable
    assert any("unstable" in reason for reason in bad.reasons)
    inverse = vb.hybrid.Inverse(0.012, 0.012**2 / 4)
    good = rehearsal.rehearse(split(lag, inverse), motion(8.0), "roof", runs=0)
    assert not good.unstable and good.variant("as planned").difference < 0.02
    assert good.variant("without compensation").difference > 0.5 and good.variant("without noise") is not None
    assert str(good.level) == "go"


def test_the_first_device_beyond_a_limit_is_named_with_its_time():
    test = split(vb.Actuator(stroke=1.0))
    free = test.run(motion())
    x = np.abs(free.devices["spring.command"])
    limit = 0.5 * x.max()
    when = free.devices.time[np.flatnonzero(x > limit)[0]]
    result = rehearsal.rehearse(test, motion(), "roof", vb.hybrid.SafetyLimits(displacement=limit), runs=0)
    assert str(result.level) == "no go"
    assert f"'spring' reaches {1e3 * x.max():.4g} mm, 200 % of its limit" in result.reasons[0]
    assert f"first device beyond a limit, at {when:.4g} s" in result.reasons[0]


def test_the_energy_of_a_cycle_is_that_of_the_interlock_and_is_judged():
    draws = np.random.default_rng(0)
    command = np.sin(np.arange(300) / 9) + 0.3 * draws.standard_normal(300)
    force = 1e3 * np.gradient(command) + 200 * command
    interlock, counted = vb.hybrid.Interlock(vb.hybrid.SafetyLimits(), start_time=0.0), []
    for k, (x, f) in enumerate(zip(command, force, strict=True)):
        assert not (interlock.check_command((x,), (0.0,), (0.0,), float(k + 1)) or interlock.check_reading((f,)))
        counted.append(interlock._next_energy)
        interlock.commit()
    np.testing.assert_allclose(energy_of_cycles(command, force), counted, rtol=1e-9, atol=1e-9)
    test = split(vb.Actuator(stroke=1.0))
    free = test.run(motion()).devices
    most = float(np.abs(energy_of_cycles(free["spring.command"], free["spring.force"])).max())
    result = rehearsal.rehearse(test, motion(), "roof", vb.hybrid.SafetyLimits(energy=most / 2), runs=0)
    assert f"the energy of 'spring' reaches {1e-3 * most:.4g} kJ, 200 % of its limit" in result.reasons[0]


def test_the_probability_of_a_stop_is_that_of_single_runs():
    """The vectorised tests stop where the same tests, run one by one, exceed the limit."""
    test, record = split(vb.Actuator(vb.hybrid.FirstOrder(0.002))), motion(3.0)
    drive = on_steps(record, test.step)
    peak = np.abs(test.run(record).devices["spring.force"]).max()
    limits = vb.hybrid.SafetyLimits(force=peak)
    scatter = rehearsal.scatter.run_scatter(test, drive, "roof", limits, runs=12, scatter=0.2, seed=4)
    draws = np.random.default_rng(4)
    values = {path: draws.standard_normal(12) for path in scatter.uncertain}
    stops = 0
    for k in range(12):
        k_t, lag = (
            float(value) * np.exp(0.2 * values[path][k])
            for path, value in zip(scatter.uncertain, (TESTED, 0.002), strict=True)
        )
        part = vb.Experimental(vb.Linear(k_t), at=0, name="spring", actuator=vb.Actuator(vb.hybrid.FirstOrder(lag)))
        stops += np.abs(vb.HybridTest(BUILDING, [part]).run(record).devices["spring.force"]).max() > peak
    assert scatter.stops == stops and 0 < stops < 12
    assert scatter.probability < scatter.at_most < 1 and scatter.first == {"spring": stops}


def test_many_runs_are_the_single_ones():
    test = split(vb.Actuator(vb.hybrid.PureDelay(0.001)))
    delays = np.array([0.0, 0.002, 0.0041])
    drive = on_steps(motion(2.0), test.step)
    path = "experimental[0].actuator.dynamics.delay"
    peaks = run_many(test, drive, {path: delays}, lambda histories: abs(histories[0][0]).max(), at_once=2)
    for delay, peak in zip(delays, peaks, strict=True):
        alone = split(vb.Actuator(vb.hybrid.PureDelay(delay))).run(drive)
        assert peak == pytest.approx(np.abs(alone.response.displacement).max(), rel=1e-9)


class Laboratory(Substructure):
    """An external device that must not be moved by a rehearsal."""

    def trial(self, *motion):
        raise AssertionError("a rehearsal moved the specimen")

    commit = stop = trial


def test_an_external_device_needs_a_stand_in():
    outside = vb.Experimental(Laboratory(), at=0, name="spring")
    with pytest.raises(Refusal, match=r"'spring' is external.*rehearsal"):
        rehearsal.rehearse(vb.HybridTest(BUILDING, [outside]), motion(), "roof", runs=0)
    stand_in = vb.hybrid.StandIn(vb.Linear(TESTED), vb.Actuator(vb.hybrid.PureDelay(0.001)))
    replaced = vb.Experimental(Laboratory(), at=0, name="spring", rehearsal=stand_in)
    result = rehearsal.rehearse(vb.HybridTest(BUILDING, [replaced]), motion(), "roof", runs=0)
    assert result.margins[0].critical.delay == pytest.approx(closed_form()[0])
