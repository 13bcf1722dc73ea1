"""The benchmark control problem for real-time hybrid simulation (Silva, Gomez, Maghareh, Dyke & Spencer 2020).

A frame of three storeys under an earthquake; its first floor's column and actuator are in the laboratory. At every step
of 1/4096 s the numerical part gives the target of the first floor, a compensator makes the command, the plant follows
it, and the measured force enters the numerical part. Built anew from the published equations and values; the program of
the authors is not used. Commands and readings are in metres; the converters are read as 1 V = 1 m.
"""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.hybrid.actuator import BenchmarkMachine
from vibrid.hybrid.compensation import Compensator, TargetMotion
from vibrid.hybrid.noise import gauss
from vibrid.hybrid.tracking import floor_errors, tracking

RATE = 4096.0
"""Hz, of the test."""
STIFFNESS = np.array(
    [
        [26054883.8796, -23133938.8771, 5937035.4633],
        [-23133938.8771, 32560774.1864, -14419970.7772],
        [5937035.4633, -14419970.7772, 9267275.5062],
    ]
)
"""N/m, of the reference structure."""
CASES = {1: (1000.0, 0.05), 2: (1100.0, 0.04), 3: (1300.0, 0.03), 4: (1000.0, 0.03)}
"""Mass of a floor (kg) and modal damping ratio of each case."""
SPECIMEN_MASS, SPECIMEN_STIFFNESS, SPECIMEN_RATIO = 29.13, 1.19e6, 0.0097
"""kg, N/m and damping ratio of the physical part."""
GAIN = 1.0261
"""Of the command."""
DISPLACEMENT_POWER, FORCE_POWER = 6.25e-14, 1.16e-3
"""m² s and N² s: power of the sensors' noise."""
CONVERTER_RANGE, CONVERTER_STEP = 3.8, 2.0**-18
"""V."""
FORCE_LIMIT = 8900.0
"""N, of the actuator; a run does not stop there, its force is to be compared with it."""
SCATTER = {"leakage": 1.3, "valve_damping": 3.3, "valve_stiffness": 3.31e3, "stiffness": 5e4}
"""Standard deviations of the parameters of a perturbed plant."""


def nominal_plant() -> BenchmarkMachine:
    """The plant with its nominal values."""
    return BenchmarkMachine(
        valve_gain=2.1283e13,
        feedback=4.2297e6,
        leakage=3.3,
        valve_damping=425.0,
        valve_stiffness=9.9976e4,
        mass=SPECIMEN_MASS,
        damping=2 * SPECIMEN_RATIO * np.sqrt(SPECIMEN_STIFFNESS * SPECIMEN_MASS),
        stiffness=SPECIMEN_STIFFNESS,
        gain=GAIN,
    )


def perturbed_plants(count: int = 20, seed: int = 0) -> list[BenchmarkMachine]:
    """Plants with normally distributed parameters; one below zero is drawn again."""
    rng, nominal = np.random.default_rng(seed), nominal_plant()
    plants = []
    for _ in range(count):
        changes = {}
        for name, deviation in SCATTER.items():
            value = -1.0
            while value <= 0:
                value = rng.normal(float(getattr(nominal, name)), deviation)
            changes[name] = value
        plants.append(dataclasses.replace(nominal, **changes))
    return plants


def reference_damping(case: int) -> np.ndarray:
    """N s/m: the damping matrix of the reference structure with one ratio in all modes."""
    mass, ratio = CASES[case]
    squared, shapes = np.linalg.eigh(STIFFNESS / mass)
    return shapes @ np.diag(2 * ratio * np.sqrt(squared) * mass) @ shapes.T


class Split(NamedTuple):
    """Matrices of the reference structure and of the numerical part, and the mass that the ground moves."""

    mass: jax.Array
    damping: jax.Array
    stiffness: jax.Array
    numerical_mass: jax.Array
    numerical_damping: jax.Array
    numerical_stiffness: jax.Array


def split(case: int) -> Split:
    """The reference structure of a case, and what is left of it without the physical part."""
    if case not in CASES:
        raise InputError(f"The control problem has the cases {', '.join(map(str, CASES))}; not {case}.")
    whole = np.diag([CASES[case][0]] * 3), reference_damping(case), STIFFNESS
    damping = 2 * SPECIMEN_RATIO * np.sqrt(SPECIMEN_STIFFNESS * SPECIMEN_MASS)
    tested = [np.diag([value, 0.0, 0.0]) for value in (SPECIMEN_MASS, damping, SPECIMEN_STIFFNESS)]
    return Split(*map(jnp.asarray, whole), *(jnp.asarray(w - t) for w, t in zip(whole, tested, strict=True)))


class ControlRun(NamedTuple):
    """Histories of a run, one row a step."""

    target: jax.Array  # m, first floor of the numerical part
    command: jax.Array  # m
    measured: jax.Array  # m, reading of the displacement sensor
    floors: jax.Array  # (steps, 3) m, of the numerical part
    force: jax.Array  # N, reading of the load cell


def reference_run(case: int, ground: jax.Array | np.ndarray) -> jax.Array:
    """(steps, 3) displacement of the whole structure, m, for a ground acceleration at 4096 Hz (m/s²)."""
    s = split(case)
    return _reference(s.mass, s.damping, s.stiffness, jnp.asarray(ground))


@jax.jit
def _reference(mass, damping, stiffness, ground):
    inverse = jnp.linalg.inv(mass)

    def step(state, now):
        return _stepped(state, -jnp.ones(3) * now, inverse, damping, stiffness), state[0]

    return jax.lax.scan(step, (jnp.zeros(3), jnp.zeros(3)), ground)[1]


def _stepped(state, load, inverse, damping, stiffness):
    """A step of fourth-order Runge–Kutta under a constant load (m/s², of the inverse mass already)."""
    h = 1.0 / RATE

    def slope(x, v):
        return v, load - inverse @ (damping @ v + stiffness @ x)

    x, v = state
    k1 = slope(x, v)
    k2 = slope(x + 0.5 * h * k1[0], v + 0.5 * h * k1[1])
    k3 = slope(x + 0.5 * h * k2[0], v + 0.5 * h * k2[1])
    k4 = slope(x + h * k3[0], v + h * k3[1])
    return tuple(a + h / 6 * (p + 2 * q + 2 * r + s) for a, p, q, r, s in zip(state, k1, k2, k3, k4, strict=True))


def control_run(
    case: int, ground: Any, compensator: Compensator, plant: BenchmarkMachine | None = None, seed: int = 0
) -> ControlRun:
    """The hybrid simulation of a case under a ground acceleration at 4096 Hz (m/s²).

    Arguments
        case: 1 to 4.
        ground: ground acceleration, one value a step.
        compensator: any compensator.
        plant: the nominal one by default.
        seed: of the sensors' noise.
    """
    plant = nominal_plant() if plant is None else plant
    return _control(split(case), jnp.asarray(ground, float), compensator, plant, jnp.asarray(seed))


def perturbed_runs(
    case: int, ground: Any, compensator: Compensator, plants: list[BenchmarkMachine]
) -> list[ControlRun]:
    """The same with several plants side by side, each with noise of its own."""
    stacked = jax.tree.map(lambda *values: jnp.stack(values), *plants)
    seeds = jnp.arange(1, len(plants) + 1)
    batch = eqx.filter_vmap(_control, in_axes=(None, None, None, eqx.if_array(0), 0))
    runs = batch(split(case), jnp.asarray(ground, float), compensator, stacked, seeds)
    return [jax.tree.map(lambda history, i=i: history[i], runs) for i in range(len(plants))]


@eqx.filter_jit
def _control(parts: Split, ground, compensator, plant, seed) -> ControlRun:
    h = 1.0 / RATE
    inverse = jnp.linalg.inv(parts.numerical_mass)
    moved = inverse @ parts.mass @ jnp.ones(3)  # the ground acts on the whole mass
    a, b = plant.polynomial()
    n = len(a)
    # One step of Runge–Kutta of fourth order on a linear plant with a constant command is this polynomial.
    speed = a[0] ** (1.0 / n)
    powers = speed ** jnp.arange(n)
    state_matrix = (speed * jnp.eye(n, k=1)).at[-1].set(-jnp.stack(a) * powers / speed ** (n - 1))
    wide = jnp.zeros((n + 1, n + 1)).at[:n, :n].set(state_matrix).at[n - 1, n].set(b / speed ** (n - 1))
    ha = h * wide
    one = jnp.eye(n + 1)
    step_matrix = one + ha @ (one + ha @ (one + ha @ (one + ha / 4) / 3) / 2)
    rows = powers[:3]  # position, velocity, acceleration from the scaled state
    specimen = jnp.stack([plant.stiffness, plant.damping, plant.mass])
    noises = jnp.sqrt(jnp.stack([jnp.asarray(DISPLACEMENT_POWER), jnp.asarray(FORCE_POWER)]) / h)
    constants = compensator.prepare(h)

    def converted(value):
        return jnp.clip(CONVERTER_STEP * jnp.round(value / CONVERTER_STEP), -CONVERTER_RANGE, CONVERTER_RANGE)

    def step(carry, inputs):
        (x, v), z, own = carry
        number, now = inputs
        noise = noises * gauss(seed, number, 2)
        motion = rows * z[:3]
        measured = converted(motion[0] + noise[0])
        force = specimen @ motion + noise[1]
        load = -moved * now - inverse[:, 0] * force
        a = load - inverse @ (parts.numerical_damping @ v + parts.numerical_stiffness @ x)
        command, own = compensator.command(constants, own, TargetMotion(x[0], v[0], a[0], v[0]), measured, h)
        command = converted(command)
        z = (step_matrix @ jnp.append(z, command))[:n]
        after = _stepped((x, v), load, inverse, parts.numerical_damping, parts.numerical_stiffness)
        return (after, z, own), ControlRun(x[0], command, measured, x, force)

    start = ((jnp.zeros(3), jnp.zeros(3)), jnp.zeros(n), compensator.start(constants))
    return jax.lax.scan(step, start, (jnp.arange(len(ground)), ground))[1]


def criteria(run: ControlRun, reference: Any) -> dict[str, float]:
    """J₁ (ms) and J₂ to J₉ (%): tracking of the target, and floors beside those of the reference structure.

    J₄ and J₅ compare the measured displacement of the first floor with the reference, J₆ to J₉ the computed floors 2
    and 3. A run that grew beyond all bounds has infinite criteria.
    """
    histories = [np.asarray(h) for h in run]
    if not all(np.isfinite(h).all() for h in histories) or np.abs(histories[3]).max() > 10.0:
        return {f"J{i}": np.inf for i in range(1, 10)}
    target, _, measured, floors, _ = histories
    follows = tracking(target, measured, 1.0 / RATE)
    seen = np.column_stack([measured, floors[:, 1:]])
    errors = floor_errors(seen, np.asarray(reference))
    values = [1e3 * follows.delay, 100 * follows.error, 100 * follows.peak_error]
    values += [100 * errors.error[0], 100 * errors.peak_error[0]]
    values += [*(100 * errors.error[1:]), *(100 * errors.peak_error[1:])]
    return {f"J{i}": float(value) for i, value in enumerate(values, 1)}
