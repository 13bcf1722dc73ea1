"""Requirements on every integrator, for two floors under one motion: order, energy, derivatives, batches, substeps."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np

from vibrid.conformance.base import Checks, expect, same
from vibrid.laws.linear import Linear
from vibrid.laws.polynomial import Cubic
from vibrid.laws.thermostat import Thermostat
from vibrid.records.record import Channel, Record, step_of
from vibrid.simulation.base import Integrator
from vibrid.simulation.excitation import drive, inputs_of
from vibrid.simulation.initial import Initial
from vibrid.simulation.reference import simulate_reference
from vibrid.simulation.run import Everything, run
from vibrid.simulation.simulate import simulate, simulate_many
from vibrid.structures.shear import ShearBuilding

CHECKS = Checks()
SPAN, KNOTS, LENGTH = 6.4, 64, 513  # seconds, intervals of the motion, samples of every run (one compiled shape)

_knots = np.linspace(0.0, SPAN, KNOTS + 1)
_phases = np.random.default_rng(1).uniform(0, 6.28, 8)
_values = sum(np.sin(2 * np.pi * f * _knots + p) for f, p in zip(np.linspace(0.2, 1.2, 8), _phases, strict=True))
_values = _values * np.sin(np.pi * _knots / SPAN) ** 2

LINEAR = ShearBuilding(masses=[2.0, 1.0], storeys=[Linear(60.0, 0.8), Linear(40.0, 0.8)])
THERMOSTAT = ShearBuilding(
    masses=[2.0, 1.0], storeys=[Cubic(60.0, 100.0), Cubic(40.0, 60.0)], damping=Thermostat(0.8, 2.0)
)
CUBIC = THERMOSTAT.replace({"damping.rate": 0.0})  # the same arrays, so that one compiled program serves all three
STRAIGHT = CUBIC.replace({"storeys[*].cubic": 0.0})  # LINEAR, written with the laws of the other two
BUILDINGS = {"linear": STRAIGHT, "stiffness": CUBIC, "damping": THERMOSTAT}


@dataclass(frozen=True)
class IntegratorExample:
    """An integrator and its orders: of the displacement on a linear structure, with nonlinear stiffness, with damping
    that changes, and of the velocity; one number where all are the same. None: it is exact, for linear structures."""

    integrator: Integrator
    orders: int | tuple[int | None, ...]

    @property
    def linear_only(self) -> bool:
        return self.order(0) is None

    def order(self, which: int) -> int | None:
        return self.orders if isinstance(self.orders, int) else self.orders[which]

    @property
    def building(self) -> ShearBuilding:
        return LINEAR if self.linear_only else THERMOSTAT


def _nonlinear(example: IntegratorExample) -> bool:
    return not example.linear_only


def ground(values, step: float) -> Record:
    return Record(np.asarray(values), [Channel("ground", "ground_acceleration")], step=step, name="test motion")


def motion(steps: int, length: int = LENGTH) -> Record:
    """The motion, piecewise linear between its knots, with `steps` samples in `SPAN` seconds; zero afterwards."""
    step = SPAN / steps
    return ground(np.interp(np.arange(length) * step, _knots, _values, right=0.0), step)


def at_knots(array, steps: int):
    return np.asarray(array)[:: steps // KNOTS][: KNOTS + 1]


@cache
def reference_response(which: str):
    """The response of one of `BUILDINGS` from the adaptive reference."""
    return simulate_reference(BUILDINGS[which], motion(KNOTS, KNOTS + 1), tolerance=1e-11)


def errors(integrator: Integrator, which: str, quantity: str = "displacement") -> list[float]:
    """Largest errors with 256 and 512 steps, over the largest value."""
    exact = getattr(reference_response(which), quantity)
    largest = []
    for steps in (256, 512):
        response = simulate(BUILDINGS[which], motion(steps), integrator=integrator)
        largest.append(np.abs(at_knots(getattr(response, quantity), steps) - exact).max() / np.abs(exact).max())
    return largest


def _converges(example: IntegratorExample, which: str, number: int, quantity: str = "displacement") -> float:
    coarse, fine = errors(example.integrator, which, quantity)
    expected, order = example.order(number), np.log2(coarse / fine)
    observed = f"half the step brings the error of the {quantity} from {coarse:.2g} to {fine:.2g}, order {order:.2f}"
    expect(abs(order - expected) < 0.15, f"{observed}; order {expected} was stated.")
    return fine


def _order_of_displacement(example: IntegratorExample, which: str) -> None:
    number = list(BUILDINGS).index(which)
    fine = _converges(example, which, number)
    largest = {1: 2.5e-2, 2: 6e-3, 3: 1e-4}.get(example.order(number) or 0, 1e-6)
    expect(fine < largest, f"the error with 512 steps is {fine:.2g}, and should be below {largest:g}.")


@CHECKS("the stated order on a linear structure", when=_nonlinear)
def order_on_a_linear_structure(example: IntegratorExample) -> None:
    _order_of_displacement(example, "linear")
    _converges(example, "linear", 3, "velocity")


@CHECKS("the stated order with nonlinear stiffness", when=_nonlinear)
def order_with_nonlinear_stiffness(example: IntegratorExample) -> None:
    _order_of_displacement(example, "stiffness")


@CHECKS("the stated order with damping that changes", when=_nonlinear)
def order_with_changing_damping(example: IntegratorExample) -> None:
    _order_of_displacement(example, "damping")


@CHECKS("work of the ground = kinetic + strain + dissipated energy, the better the smaller the step", when=_nonlinear)
def energy_balance(example: IntegratorExample) -> None:
    missing = []
    for steps in (256, 512):
        record = motion(steps)
        r = simulate(CUBIC, record, integrator=example.integrator)
        mass, dt = np.array([2.0, 1.0]), record.step
        x, v = r.displacement[: steps + 1], r.velocity[: steps + 1]
        e, w = np.diff(x, axis=1, prepend=0), np.diff(v, axis=1, prepend=0)
        moved = np.diff(x, axis=0)
        pull = -mass * record.data[: steps + 1]
        put_in = np.concatenate([[0.0], np.cumsum(np.sum(0.5 * (pull[1:] + pull[:-1]) * moved, axis=1))])
        lost = 0.8 * np.sum(w**2, axis=1)
        lost = np.concatenate([[0.0], np.cumsum(0.5 * (lost[1:] + lost[:-1]) * dt)])
        strain = np.sum(np.array([60.0, 40.0]) * e**2 / 2 + np.array([100.0, 60.0]) * e**4 / 4, axis=1)
        kinetic = np.sum(mass * v**2 / 2, axis=1)
        missing.append(np.abs(put_in - kinetic - strain - lost).max() / np.abs(put_in).max())
    largest = 6e-2 if example.order(3) == 1 else 4e-3
    observed = f"{100 * missing[0]:.2g} % of the energy is missing, and {100 * missing[1]:.2g} % with half the step"
    expect(missing[1] < missing[0] / 1.9 and missing[1] < largest, f"{observed}.")


@CHECKS("derivatives through a whole run equal finite differences, forward and reverse")
def derivatives_through_the_run(example: IntegratorExample) -> None:
    """Of the whole run: parameters, start and motion."""
    building, damped = example.building, "storeys[0].damping" if example.linear_only else "damping.rate"
    places = ["masses[1]", "storeys[0].stiffness", damped]
    record = motion(KNOTS, KNOTS + 1)
    samples = jnp.asarray(inputs_of(building, record))
    weights = jnp.asarray(np.random.default_rng(0).standard_normal((KNOTS + 1, 2)))

    def read(values):
        model = building.replace(dict(zip(places, values[:3], strict=True))).model()
        start = Initial(values[3] * jnp.ones(2), jnp.zeros(2))
        driven = drive(samples * values[4])
        x, v, a, _ = run(model, example.integrator, driven, step_of(record), Everything(), start)
        return jnp.sum(weights * (x + 0.1 * v + 0.01 * a))

    values = jnp.array([1.0, 60.0, 0.8 if example.linear_only else 2.0, 0.1, 1.0])
    direction = values * jnp.array([0.7, -1.0, 0.5, 0.9, -0.4])

    @jax.jit
    def every(p):
        """The value, its forward derivative in the direction, and its reverse derivative: one linearisation."""
        value, slope = jax.linearize(read, p)
        return value, slope(direction), jax.linear_transpose(slope, p)(1.0)[0]

    _, forward, reverse = every(values)
    same(jnp.vdot(reverse, direction), forward, "the reverse derivative of a run", rtol=1e-9)
    h = 1e-5
    numeric = (every(values + h * direction)[0] - every(values - h * direction)[0]) / (2 * h)
    same(forward, numeric, "the derivative of a run", rtol=1e-6)


@CHECKS("a batch equals single runs")
def batch_equals_single_runs(example: IntegratorExample) -> None:
    """Over parameters and motions in step."""
    building, integrator, record = example.building, example.integrator, motion(512)
    stiffness = np.array([50.0, 60.0, 75.0])
    motions = [record.replace(data=record.data * f) for f in (1.0, -0.5, 0.2)]
    together = simulate_many(building, motions, {"storeys[0].stiffness": stiffness}, integrator=integrator)[0]
    for x, k, single in zip(together, stiffness, motions, strict=True):
        alone = simulate(building.replace({"storeys[0].stiffness": k}), single, integrator=integrator).displacement
        same(x, alone, "a displacement in a batch", atol=1e-12)


@CHECKS("substeps are smaller steps")
def substeps_are_smaller_steps(example: IntegratorExample) -> None:
    """Four substeps a sample equal a record four times as fine, whose samples lie on straight lines."""
    building, integrator = example.building, example.integrator
    fine = simulate(building, motion(512), integrator=integrator)
    coarse = simulate(building, motion(128, 129), integrator=integrator, substeps=4)
    same(coarse.displacement, fine.displacement[::4], "a displacement with substeps", atol=1e-12)
    same(coarse.acceleration, fine.acceleration[::4], "an acceleration with substeps", atol=1e-9)
