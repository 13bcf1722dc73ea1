"""Do 95 % intervals hold on every kind of structure and with every method? Data from simulators that no method uses.

    python benchmarks/trust_problems.py --part problems --progress fits.jsonl   # goes on where it stopped
    python benchmarks/trust_problems.py --part methods --row ukf --fits 5
    python benchmarks/trust_problems.py --part ranks --share 1/2 --progress ranks-1.jsonl
    python benchmarks/trust_problems.py --part costs

problems: `vb.identify` as it is, on ten problems with white noise of 3 to 5 % of each channel.
methods: the other methods that give intervals, on three of these problems.
ranks: true values drawn from the prior; their ranks among samples of `Bayes` must be uniform.
costs: the time that the checks of a result take, over that of the fit.

Linear structures are assembled here from closed formulas and moved by the exponential of the state matrix; the others
by Heun's method with Richardson's extrapolation, by SciPy with tight tolerances, or exactly from event to event.
`--seed` draws other parameters, motions and noise levels of the problems; `--fits` counts seeds of the noise. Files of
several shares, joined by `cat`, give one table.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.integrate
import scipy.linalg
import scipy.optimize
from scipy.stats import chisquare
from trust import SAMPLES, STEP, chain, hysteretic_case, linear_accelerations, shaking
from trust_lines import Lines, coverage, share

import vibrid as vb

GROUND = vb.Channel("ground", "ground_acceleration")


@dataclass(frozen=True)
class Problem:
    """A structure to identify, what is unknown of it, and its tests without noise."""

    guess: vb.structures.Structure
    unknown: list
    true: np.ndarray
    sensors: vb.Sensors
    driven: list[vb.Channel]
    tests: list[tuple[np.ndarray, np.ndarray]]  # inputs and readings of each, (samples, channels)
    level: float  # of the noise, over the standard deviation of a channel

    def records(self, seed: int, excitation: float = 0.0) -> list[vb.Record]:
        """The tests as measured, with white noise of the readings and, where wanted, of the excitation.

        Problems draw their levels, so that no two of them have the same noise.
        """
        rng, found = np.random.default_rng([round(1e12 * self.level), seed]), []
        for inputs, clean in self.tests:
            readings = clean + self.level * clean.std(axis=0) * rng.standard_normal(clean.shape)
            measured = inputs + excitation * inputs.std(axis=0) * rng.standard_normal(inputs.shape)
            channels = [*self.driven, *self.sensors.channels()]
            found.append(vb.Record(np.column_stack([measured, readings]), channels, step=STEP, name="test"))
        return found


def random(kind: int, seed: int) -> tuple[np.random.Generator, float]:
    """Random numbers of one kind of problem, and its noise level."""
    rng = np.random.default_rng([kind, 100 + seed])
    return rng, rng.uniform(0.03, 0.05)


# -- simulators --------------------------------------------------------------------------------------------------------


def linear_motion(mass, damping, stiffness, load, drive) -> tuple[np.ndarray, np.ndarray]:
    """Displacements and accelerations of M a + C v + K x = load · drive(t), straight lines between the samples."""
    n = len(mass)
    forces, push = -np.linalg.solve(mass, np.hstack([stiffness, damping])), np.linalg.solve(mass, load)
    system = np.zeros((2 * n + 2, 2 * n + 2))
    system[:n, n : 2 * n], system[n : 2 * n, : 2 * n] = np.eye(n), forces
    system[n : 2 * n, 2 * n], system[2 * n, 2 * n + 1] = push, 1.0 / STEP
    e = scipy.linalg.expm(system * STEP)[: 2 * n]
    states = np.zeros((len(drive), 2 * n))
    for i, slope in enumerate(np.diff(drive)):
        states[i + 1] = e[:, : 2 * n] @ states[i] + e[:, 2 * n] * drive[i] + e[:, 2 * n + 1] * slope
    return states[:, :n], states @ forces.T + np.outer(drive, push)


def cubic_motion(masses, stiffness, cubic, damping, ground) -> tuple[np.ndarray, np.ndarray]:
    """Displacements and absolute accelerations of storeys with cubic springs, by SciPy from sample to sample."""
    n = len(masses)

    def absolute(state):
        drift, rate = np.diff(state[:n], prepend=0.0), np.diff(state[n:], prepend=0.0)
        force = stiffness * drift + cubic * drift**3 + damping * rate
        return (np.append(force[1:], 0.0) - force) / masses

    states = np.zeros((len(ground), 2 * n))
    for i, change in enumerate(np.diff(ground) / STEP):

        def rate(t, state, start=ground[i], change=change):
            return np.concatenate([state[n:], absolute(state) - start - change * t])

        found = scipy.integrate.solve_ivp(rate, (0, STEP), states[i], "DOP853", rtol=1e-9, atol=1e-12, t_eval=[STEP])
        states[i + 1] = found.y[:, -1]
    return states[:, :n], np.array([absolute(state) for state in states])


def bilinear_accelerations(masses, stiffness, damping, limit, ratio, ground) -> np.ndarray:
    """Absolute accelerations of two storeys, the lower one bilinear, exactly from yield to yield.

    The motion is linear while the slider sticks and while it slides. The state is (x₁, x₂, v₁, v₂, z, ground, slope of
    the ground), z the elastic deformation of the slider.
    """
    spring = np.array([[ratio * stiffness[0] + stiffness[1], -stiffness[1]], [-stiffness[1], stiffness[1]]])
    system = np.zeros((2, 7, 7))
    system[:, :2, 2:4], system[:, 5, 6] = np.eye(2), 1.0
    forces = np.zeros((2, 7))
    forces[:, :2], forces[:, 2:4] = -spring, -chain(damping)
    forces[0, 4] = -(1 - ratio) * stiffness[0]
    forces /= np.asarray(masses)[:, None]
    system[:, 2:4] = forces
    system[:, 2:4, 5] = -1.0
    system[0, 4, 2] = 1.0  # sticking
    whole = [scipy.linalg.expm(each * STEP / 4) for each in system]

    def beyond(state, sliding):  # positive once the slider has begun to slide, or to stick
        return -state[2] * np.sign(state[4]) if sliding else abs(state[4]) - limit

    def ahead(state, sliding, t):
        return scipy.linalg.expm(system[sliding] * t) @ state

    state, sliding, found = np.zeros(7), 0, np.zeros((len(ground), 2))
    for i, change in enumerate(np.diff(ground)):
        state[5:] = ground[i], change / STEP
        for _ in range(4):
            left, after = STEP / 4, whole[sliding] @ state
            while beyond(after, sliding) > 0:
                when = scipy.optimize.brentq(
                    lambda t, s=state, on=sliding: beyond(ahead(s, on, t), on), 0.0, left, xtol=1e-15
                )
                state, left = ahead(state, sliding, when), left - when
                state[4] = np.sign(state[4]) * limit * (1 - 1e-12)
                sliding = 1 - sliding
                after = ahead(state, sliding, left)
            state = after
        found[i + 1] = forces @ state
    return found


def bar(ends: np.ndarray, axial: float, mass: float) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and consistent mass of a bar in the plane with EA and mass per length."""
    along = ends[1] - ends[0]
    length = np.hypot(*along)
    row = np.concatenate([-along, along]) / length
    return axial / length * np.outer(row, row), mass * length * np.kron([[1 / 3, 1 / 6], [1 / 6, 1 / 3]], np.eye(2))


def bending(length: float) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and mass of (v₁, θ₁, v₂, θ₂) for EI = 1 and unit mass per length: cubic shapes, Gauss's rule."""
    points, weights = np.polynomial.legendre.leggauss(4)
    s, weights = (points + 1) / 2, weights * length / 2
    shapes = np.array([[1, 0, -3, 2], [0, length, -2 * length, length], [0, 0, 3, -2], [0, 0, -length, length]])
    values = shapes @ np.array([s**0, s, s**2, s**3])
    curvature = shapes @ np.array([0 * s, 0 * s, 2 + 0 * s, 6 * s]) / length**2
    return (curvature * weights) @ curvature.T, (values * weights) @ values.T


def member(ends: np.ndarray, axial: float, stiff: float, mass: float) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and mass of a frame member (x, y, θ at each end) with EA, EI and mass per length."""
    along = ends[1] - ends[0]
    length = np.hypot(*along)
    c, s = along / length
    turn = np.kron(np.eye(2), [[c, s, 0], [-s, c, 0], [0, 0, 1]])
    k, m = np.zeros((6, 6)), np.zeros((6, 6))
    lengthwise, across = np.ix_([0, 3], [0, 3]), np.ix_([1, 2, 4, 5], [1, 2, 4, 5])
    k[lengthwise] = axial / length * np.array([[1, -1], [-1, 1]])
    m[lengthwise] = mass * length * np.array([[1 / 3, 1 / 6], [1 / 6, 1 / 3]])
    unit_k, unit_m = bending(length)
    k[across], m[across] = stiff * unit_k, mass * unit_m
    return turn.T @ k @ turn, turn.T @ m @ turn


def assembled(size: int, width: int, pairs, blocks) -> tuple[np.ndarray, np.ndarray]:
    """Stiffness and mass of all nodes, `width` motions each, from those of the elements."""
    stiffness, mass = np.zeros((2, size, size))
    for pair, (k, m) in zip(pairs, blocks, strict=True):
        where = np.concatenate([width * node + np.arange(width) for node in pair])
        stiffness[np.ix_(where, where)] += k
        mass[np.ix_(where, where)] += m
    return stiffness, mass


# -- problems ----------------------------------------------------------------------------------------------------------


def shear(seed: int) -> Problem:
    """Three linear storeys, the middle floor without a sensor."""
    rng, level = random(21, seed)
    stiffness, damping, ground = rng.uniform(14e6, 30e6, 3), rng.uniform(50e3, 150e3), shaking(rng, 3.0)
    clean = linear_accelerations([20e3] * 3, stiffness, np.full(3, damping), ground)[:, [0, 2]]
    guess = vb.ShearBuilding([20e3] * 3, [vb.Linear(20e6)] * 3, damping=vb.Viscous(100e3))
    unknown = ["storeys[*].stiffness", "damping.damping"]
    sensors = vb.Sensors(absolute_acceleration=[0, 2])
    return Problem(guess, unknown, np.append(stiffness, damping), sensors, [GROUND], [(ground, clean)], level)


def several(seed: int) -> Problem:
    """Three short records of two storeys, a sensor on the first floor alone."""
    rng, level = random(22, seed)
    stiffness, damping = rng.uniform(14e6, 30e6, 2), rng.uniform(50e3, 150e3)
    tests = []
    for length in (1000, 800, 600):
        ground = shaking(rng, rng.uniform(1.0, 4.0))[:length]
        tests.append((ground, linear_accelerations([20e3] * 2, stiffness, np.full(2, damping), ground)[:, :1]))
    guess = vb.ShearBuilding([20e3] * 2, [vb.Linear(20e6)] * 2, damping=vb.Viscous(100e3))
    unknown = ["storeys[*].stiffness", "damping.damping"]
    sensors = vb.Sensors(absolute_acceleration=[0])
    return Problem(guess, unknown, np.append(stiffness, damping), sensors, [GROUND], tests, level)


def hysteretic(seed: int) -> Problem:
    """Two Bouc–Wen storeys."""
    level, case = random(23, seed)[1], hysteretic_case(100 + seed)
    sensors = vb.Sensors(absolute_acceleration=list(case.floors))
    return Problem(case.guess, case.unknown, case.true, sensors, [GROUND], [(case.ground, case.clean)], level)


def bilinear(seed: int) -> Problem:
    """A bilinear storey below a linear one."""
    rng, level = random(24, seed)
    stiffness, damping = rng.uniform(16e6, 28e6, 2), rng.uniform(60e3, 120e3)
    limit, ratio, ground = rng.uniform(3e-3, 5e-3), rng.uniform(0.1, 0.3), shaking(rng, 4.0)
    clean = bilinear_accelerations([20e3] * 2, stiffness, np.full(2, damping), limit, ratio, ground)
    storeys = [vb.Bilinear(20e6, yield_deformation=4e-3, post_yield_ratio=0.2), vb.Linear(20e6)]
    guess = vb.ShearBuilding([20e3] * 2, storeys, damping=vb.Viscous(100e3))
    lower = [f"storeys[0].{name}" for name in ("stiffness", "yield_deformation", "post_yield_ratio")]
    true = np.array([stiffness[0], limit, ratio, stiffness[1], damping])
    unknown = [*lower, "storeys[1].stiffness", "damping.damping"]
    sensors = vb.Sensors(absolute_acceleration=[0, 1])
    return Problem(guess, unknown, true, sensors, [GROUND], [(ground, clean)], level)


def cubic(seed: int) -> Problem:
    """A storey with a cubic spring below a linear one; accelerations and the displacement of the roof."""
    rng, level = random(25, seed)
    stiffness, damping = rng.uniform(14e6, 26e6, 2), rng.uniform(60e3, 120e3)
    hardening, ground = rng.uniform(2e10, 6e10), shaking(rng, 4.0)
    moved, felt = cubic_motion(np.full(2, 20e3), stiffness, np.array([hardening, 0.0]), damping, ground)
    guess = vb.ShearBuilding([20e3] * 2, [vb.Cubic(20e6, 4e10), vb.Linear(20e6)], damping=vb.Viscous(100e3))
    unknown = ["storeys[0].stiffness", "storeys[0].cubic", "storeys[1].stiffness", "damping.damping"]
    true = np.array([stiffness[0], hardening, stiffness[1], damping])
    sensors = vb.Sensors(absolute_acceleration=[0, 1], displacement=[1])
    clean = np.column_stack([felt, moved[:, 1]])
    return Problem(guess, unknown, true, sensors, [GROUND], [(ground, clean)], level)


def truss(seed: int) -> Problem:
    """A girder of seven bars under a vertical force: moduli of chords and diagonals, both factors of the damping."""
    rng, level = random(26, seed)
    nodes = np.array([(0, 0), (4, 0), (8, 0), (2, 3), (6, 3)], float)
    bars = [(0, 1), (1, 2), (3, 4), (0, 3), (3, 1), (1, 4), (4, 2)]
    area, density, heavy = 1e-3, 7850.0, 20e3
    chords, diagonals = rng.uniform(160e9, 240e9, 2)
    a, b = rng.uniform(0.3, 0.9), rng.uniform(3e-4, 8e-4)
    moduli = np.repeat([chords, diagonals], [3, 4])
    blocks = [bar(nodes[list(pair)], e * area, density * area) for pair, e in zip(bars, moduli, strict=True)]
    stiffness, mass = assembled(10, 2, bars, blocks)
    for dof in (2, 3, 6, 7, 8, 9):
        mass[dof, dof] += heavy
    free = np.array([2, 3, 4, 6, 7, 8, 9])  # node 0 is pinned, node 2 rolls
    stiffness, mass = stiffness[np.ix_(free, free)], mass[np.ix_(free, free)]
    force = shaking(rng, 30e3, 20.0)
    moved, felt = linear_motion(mass, a * mass + b * stiffness, stiffness, np.eye(7)[1], force)
    strain = (moved[:, 5] - moved[:, 3]) / 4.0  # of the top chord
    guess = vb.Truss(
        nodes.tolist(),
        bars,
        modulus=np.full(7, 200e9),
        area=area,
        density=density,
        supports={0: "pinned", 2: "roller"},
        masses=[vb.PointMass(heavy, at=node) for node in (1, 3, 4)],
        damping=vb.Rayleigh(0.6, 5e-4),
    )
    unknown = [
        vb.Unknown([f"modulus[{i}]" for i in range(3)], tied=True, name="chords"),
        vb.Unknown([f"modulus[{i}]" for i in range(3, 7)], tied=True, name="diagonals"),
        "damping.mass",
        "damping.stiffness",
    ]
    sensors = vb.Sensors(acceleration=["1.y", "3.x", "4.y"], strain=["2"])
    clean = np.column_stack([felt[:, [1, 3, 6]], strain])
    driven = [vb.Channel("force", "load", location="1.y")]
    return Problem(guess, unknown, np.array([chords, diagonals, a, b]), sensors, driven, [(force, clean)], level)


def frame(seed: int) -> Problem:
    """A frame of two storeys and one bay: moduli of lower columns, upper columns and beams, and the damping ratio."""
    rng, level = random(27, seed)
    nodes = np.array([(0, 0), (5, 0), (0, 3), (5, 3), (0, 6), (5, 6)], float)
    members = [(0, 2), (1, 3), (2, 4), (3, 5), (2, 3), (4, 5)]
    area, inertia, density, heavy = 7.8e-3, 5.7e-5, 7850.0, 5e3
    groups, ratio = rng.uniform(160e9, 240e9, 3), rng.uniform(0.015, 0.035)
    moduli = np.repeat(groups, 2)
    blocks = [
        member(nodes[list(pair)], e * area, e * inertia, density * area)
        for pair, e in zip(members, moduli, strict=True)
    ]
    stiffness, mass = assembled(18, 3, members, blocks)
    for node in range(2, 6):
        mass[3 * node, 3 * node] += heavy
        mass[3 * node + 1, 3 * node + 1] += heavy
    inertial = -(mass @ np.tile([1.0, 0.0, 0.0], 6))[6:]
    stiffness, mass = stiffness[6:, 6:], mass[6:, 6:]  # nodes 0 and 1 are clamped
    low, high = 2 * np.pi * 4.0, 2 * np.pi * 15.0
    damping = ratio * (2 * low * high * mass + 2 * stiffness) / (low + high)
    ground = shaking(rng, 3.0, 20.0)
    moved, felt = linear_motion(mass, damping, stiffness, inertial, ground)
    # the left column's axis points up, so that its left is towards negative x
    curvature = -6 / 3**2 * moved[:, 0] - 2 / 3 * moved[:, 2]
    strain = moved[:, 1] / 3 - 0.1 * curvature
    guess = vb.Frame2D(
        nodes.tolist(),
        members,
        modulus=np.full(6, 200e9),
        area=area,
        inertia=inertia,
        density=density,
        supports={0: "fixed", 1: "fixed"},
        masses=[vb.PointMass(heavy, at=node) for node in range(2, 6)],
        damping=vb.structures.RayleighRatio(0.025, (4.0, 15.0)),
    )
    names = ("lower columns", "upper columns", "beams")
    pairs = [
        vb.Unknown([f"modulus[{2 * i}]", f"modulus[{2 * i + 1}]"], tied=True, name=name) for i, name in enumerate(names)
    ]
    sensors = vb.Sensors(absolute_acceleration=["2.x", "4.x"], strain=["e0@0.0,z=0.1"])
    clean = np.column_stack([felt[:, [0, 6]] + ground[:, None], strain])
    driven = [vb.Channel("ground", "ground_acceleration", direction="x")]
    return Problem(
        guess, [*pairs, "damping.ratio"], np.append(groups, ratio), sensors, driven, [(ground, clean)], level
    )


def beam(seed: int) -> Problem:
    """A shaken cantilever of six elements: moduli of its halves, and the damping of mode 1 and of the others."""
    rng, level = random(28, seed)
    area, inertia, density, length = 2.5e-4, 5.2e-10, 2700.0, 1 / 3
    halves, ratios = rng.uniform(55e9, 85e9, 2), rng.uniform(0.01, 0.03, 2)
    unit_k, unit_m = bending(length)
    blocks = [(e * inertia * unit_k, density * area * unit_m) for e in np.repeat(halves, 3)]
    stiffness, mass = assembled(14, 2, [(i, i + 1) for i in range(6)], blocks)
    inertial = -(mass @ np.tile([1.0, 0.0], 7))[2:]
    stiffness, mass = stiffness[2:, 2:], mass[2:, 2:]
    squares, shapes = scipy.linalg.eigh(stiffness, mass)
    modal = mass @ shapes
    damping = modal * (2 * np.repeat(ratios, [1, 11]) * np.sqrt(squares)) @ modal.T
    ground = shaking(rng, 3.0, 20.0)
    moved, felt = linear_motion(mass, damping, stiffness, inertial, ground)
    strain = -0.0025 * (6 / length**2 * moved[:, 0] - 2 / length * moved[:, 1])  # at the clamped end
    guess = vb.Beam(
        np.arange(7) / 3,
        modulus=np.full(6, 70e9),
        area=area,
        inertia=inertia,
        density=density,
        damping=vb.Modal([0.02, 0.02]),
        axial=False,
    )
    unknown = [
        vb.Unknown([f"modulus[{i}]" for i in range(3)], tied=True, name="lower half"),
        vb.Unknown([f"modulus[{i}]" for i in range(3, 6)], tied=True, name="upper half"),
        "damping.ratios[*]",
    ]
    sensors = vb.Sensors(absolute_acceleration=["3", "tip"], strain=["x=0.0,z=0.0025"])
    clean = np.column_stack([felt[:, [4, 10]] + ground[:, None], strain])
    return Problem(guess, unknown, np.append(halves, ratios), sensors, [GROUND], [(ground, clean)], level)


def matrices(seed: int) -> Problem:
    """Three degrees of freedom with coupled masses, one that the ground does not move and one that it half moves."""
    rng, level = random(29, seed)
    mass = np.array([[20e3, 2e3, 0.0], [2e3, 15e3, 1e3], [0.0, 1e3, 10e3]])
    start = np.array([[20e6, -6e6, 0.0], [-6e6, 16e6, -4e6], [0.0, -4e6, 8e6]])
    factors = np.triu(rng.uniform(0.85, 1.15, (3, 3)))
    stiffness = start * (factors + np.triu(factors, 1).T)
    a, b = rng.uniform(0.2, 0.6), rng.uniform(5e-4, 1.5e-3)
    influence, ground = np.array([1.0, 0.0, 0.5]), shaking(rng, 3.0)
    _, felt = linear_motion(mass, a * mass + b * stiffness, stiffness, -mass @ influence, ground)
    guess = vb.Matrices(mass, start, damping=vb.Rayleigh(0.4, 1e-3), influence=influence)
    pairs = [
        vb.Unknown([f"stiffness[{i}][{j}]", f"stiffness[{j}][{i}]"], tied=True, name=f"K{i}{j}")
        for i, j in ((0, 1), (1, 2))
    ]
    unknown = [*(f"stiffness[{i}][{i}]" for i in range(3)), *pairs, "damping.mass", "damping.stiffness"]
    true = np.array([*np.diag(stiffness), stiffness[0, 1], stiffness[1, 2], a, b])
    sensors = vb.Sensors(absolute_acceleration=["0", "1", "2"])
    clean = felt + np.outer(ground, influence)
    return Problem(guess, unknown, true, sensors, [GROUND], [(ground, clean)], level)


def device(seed: int) -> Problem:
    """A Bouc–Wen device under three sines of growing size; displacement and velocity are known exactly."""
    rng, level = random(30, seed)
    stiffness, ratio, (beta, gamma) = rng.uniform(4e6, 7e6), rng.uniform(0.05, 0.2), rng.uniform(40, 90, 2)
    sizes, pace, phase = rng.uniform(5e-3, 15e-3, 3), 2 * np.pi * rng.uniform(0.2, 0.9, 3), rng.uniform(0, 6, 3)
    end = SAMPLES * STEP

    def motion(t):
        t = np.asarray(t)[..., None]
        wave, slope = np.sin(pace * t + phase), pace * np.cos(pace * t + phase)
        return (sizes * t / end * wave).sum(-1), (sizes * (wave + t * slope) / end).sum(-1)

    def rate(t, z):
        w = motion(t)[1]
        return w - beta * np.abs(w) * z - gamma * w * np.abs(z)

    t = STEP * np.arange(SAMPLES)
    found = scipy.integrate.solve_ivp(rate, (0, end), [0.0], "DOP853", t_eval=t, rtol=1e-10, atol=1e-13, max_step=STEP)
    x, v = motion(t)
    clean = stiffness * (ratio * x + (1 - ratio) * found.y[0])
    guess = vb.Device(vb.BoucWen(5e6, beta=60.0, gamma=60.0, post_yield_ratio=0.1))
    unknown = [f"law.{name}" for name in ("stiffness", "beta", "gamma", "post_yield_ratio")]
    driven = [vb.Channel("x", "imposed_displacement"), vb.Channel("v", "imposed_velocity")]
    tests = [(np.column_stack([x, v]), clean[:, None])]
    true = np.array([stiffness, beta, gamma, ratio])
    return Problem(guess, unknown, true, vb.Sensors(element_force=["device"]), driven, tests, level)


PROBLEMS: dict[str, Callable[[int], Problem]] = {
    "shear building, partial sensors": shear,
    "several records": several,
    "Bouc–Wen storeys": hysteretic,
    "bilinear storey": bilinear,
    "cubic storey": cubic,
    "truss": truss,
    "plane frame": frame,
    "beam": beam,
    "matrices": matrices,
    "device": device,
}
OTHER_METHODS = ("ekf", "ukf", "weak-collocation", "global", "noisy-input", "bayes")
OF_METHODS = ("shear building, partial sensors", "Bouc–Wen storeys", "cubic storey")
TIMED = (
    "shear building, partial sensors",
    "several records",
    "Bouc–Wen storeys",
    "cubic storey",
    "plane frame",
    "beam",
)
DEFAULTS = {"problems": 20, "methods": 20, "ranks": 100, "costs": 1}
BAYES_FITS = 5
EXCITATION = 0.03
"""Noise of the measured excitation for `noisy-input`, over its standard deviation."""


@functools.lru_cache
def problem(name: str, seed: int) -> Problem:
    return PROBLEMS[name](seed)


# -- parts -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Job:
    """A piece of work: its row of the table, its seed, and what makes its line."""

    row: str
    seed: int
    make: Callable[[], dict]


def one_fit(posed: Problem, seed: int, method: str | None = None, excitation: float = 0.0) -> dict:
    """One noise, one fit: whether each 95 % interval holds, the errors in standard deviations, and what was said."""
    started = time.perf_counter()
    try:
        fit = vb.identify(posed.guess, posed.records(seed, excitation), posed.unknown, method, sensors=posed.sensors)
    except vb.VibridError as error:
        return {"failed": str(error)}
    low, high = fit.interval(0.95).T
    return {
        "inside": ((low <= posed.true) & (posed.true <= high)).tolist(),
        "errors": np.nan_to_num((fit.estimate - posed.true) / fit.deviation, nan=99.0).round(3).tolist(),
        "fits": bool(fit.model_fits),
        "said": sorted({finding.name for finding in fit.checks}),
        "seconds": round(time.perf_counter() - started, 2),
    }


def problem_jobs(seed: int, fits: int) -> list[Job]:
    """Every problem, with the default method."""
    return [
        Job(name, noise, lambda name=name, noise=noise: one_fit(problem(name, seed), noise))
        for name in PROBLEMS
        for noise in range(fits)
    ]


def method_jobs(seed: int, fits: int) -> list[Job]:
    """Every other method; the excitation has noise for the one that is made for it."""
    return [
        Job(
            f"{method}, {name}",
            noise,
            lambda name=name, noise=noise, method=method: one_fit(
                problem(name, seed), noise, method, EXCITATION if method == "noisy-input" else 0.0
            ),
        )
        for method in OTHER_METHODS
        for name in OF_METHODS
        for noise in range(min(fits, BAYES_FITS) if method == "bayes" else fits)
    ]


RANKED = 99  # samples of a posterior, so that there are a hundred ranks
PRIORS = ((20e6, 3e6), (16e6, 2.4e6), (100e3, 20e3))


def one_ranking(seed: int, number: int) -> dict:
    """True values from the prior, a record of four seconds, and the rank of each among samples of the posterior."""
    rng, started = np.random.default_rng([31, seed, number]), time.perf_counter()
    true = np.array([rng.normal(*prior) for prior in PRIORS])
    ground = shaking(rng, 3.0)[200:600]
    clean = linear_accelerations([20e3] * 2, true[:2], np.full(2, true[2]), ground)
    noise = 3.0  # as large as the motion, so that the prior matters
    sensors = vb.Sensors([vb.Sensor("absolute_acceleration", floor, noise=noise) for floor in (0, 1)])
    readings = clean + noise * rng.standard_normal(clean.shape)
    record = vb.Record(np.column_stack([ground, readings]), [GROUND, *sensors.channels()], step=STEP)
    guess = vb.ShearBuilding([20e3] * 2, [vb.Linear(20e6), vb.Linear(16e6)], damping=vb.Viscous(100e3))
    paths = ("storeys[0].stiffness", "storeys[1].stiffness", "damping.damping")
    unknown = [vb.Unknown(path, prior=prior) for path, prior in zip(paths, PRIORS, strict=True)]
    fit = vb.identify(guess, record, unknown, "bayes", sensors=sensors, checks="none", key=number)
    chosen = fit.samples[np.linspace(0, len(fit.samples) - 1, RANKED).round().astype(int)]
    return {
        "ranks": dict(zip(paths, (chosen < true).sum(axis=0).tolist(), strict=True)),
        "narrowing": (fit.deviation / np.array(PRIORS)[:, 1]).round(3).tolist(),
        "effective": round(min(fit.convergence["effective_samples"].values())),
        "seconds": round(time.perf_counter() - started, 2),
    }


def rank_jobs(seed: int, fits: int) -> list[Job]:
    return [
        Job("bayes, prior and posterior", number, lambda number=number: one_ranking(seed, number))
        for number in range(fits)
    ]


def uniformity(name: str, lines: Sequence[dict]) -> dict:
    """A χ² test that ranks are uniform, for each parameter."""
    bins = next((b for b in (10, 5, 4) if len(lines) >= 5 * b), 2)
    row: dict = {"row": name, "fits": len(lines), "bins": bins, "p": {}, "counts": {}}
    for path in lines[0]["ranks"]:
        ranks = np.array([line["ranks"][path] for line in lines])
        counts = np.bincount(ranks * bins // (RANKED + 1), minlength=bins)
        row["counts"][path] = counts.tolist()
        row["p"][path] = round(float(chisquare(counts).pvalue), 4)
    row["uniform"] = min(row["p"].values()) > 0.01 / len(row["p"])
    row["posterior_over_prior_deviation"] = np.median([line["narrowing"] for line in lines], axis=0).round(3).tolist()
    row["fewest_effective_samples"] = min(line["effective"] for line in lines)
    row["median_seconds"] = round(float(np.median([line["seconds"] for line in lines])), 2)
    return row


def timed(name: str, seed: int, checks: str, warm: int) -> list[float]:
    """Seconds of the first call in this process and of the following ones, each with another noise."""
    posed, found = problem(name, seed), []
    for noise in range(1 + warm):
        records = posed.records(noise)
        started = time.perf_counter()
        vb.identify(posed.guess, records, posed.unknown, sensors=posed.sensors, checks=checks)
        found.append(round(time.perf_counter() - started, 3))
    return found


def one_cost(name: str, seed: int, warm: int) -> dict:
    """Times of one problem with and without checks, each in a process of its own without compiled programs."""
    line: dict = {}
    for checks in ("none", "all"):
        command = [sys.executable, __file__, "--timed", name, checks, "--seed", str(seed), "--fits", str(warm)]
        ended = subprocess.run(
            command, env=os.environ | {"VIBRID_CACHE": "off"}, capture_output=True, text=True, check=True
        )
        cold, *later = json.loads(ended.stdout.splitlines()[-1])
        line[checks] = {"cold": cold, "warm": round(float(np.median(later)), 3)}
    for kind in ("cold", "warm"):
        line[f"extra_{kind}"] = round(line["all"][kind] / line["none"][kind] - 1, 3)
    return line


def cost_jobs(seed: int, fits: int) -> list[Job]:
    return [Job(name, 0, lambda name=name: one_cost(name, seed, fits)) for name in TIMED]


def costs(name: str, lines: Sequence[dict]) -> dict:
    return {"row": name} | {key: lines[0][key] for key in ("none", "all", "extra_cold", "extra_warm")}


PARTS: dict[str, tuple[Callable[[int, int], list[Job]], Callable[[str, Sequence[dict]], dict]]] = {
    "problems": (problem_jobs, coverage),
    "methods": (method_jobs, coverage),
    "ranks": (rank_jobs, uniformity),
    "costs": (cost_jobs, costs),
}


def together(part: str, lines: Sequence[dict], table: Sequence[dict]) -> list[dict]:
    """The last rows: coverage of all problems, of each method, or the median of the costs."""
    if part == "problems":
        return [coverage("all", lines)]
    if part == "methods":
        groups = {m: [line for line in lines if line["row"].startswith(f"{m}, ")] for m in OTHER_METHODS}
        return [coverage(f"{method}, all", found) for method, found in groups.items() if found]
    if part == "costs":
        medians = {key: round(float(np.median([r[key] for r in table])), 3) for key in ("extra_cold", "extra_warm")}
        return [{"row": "median"} | medians]
    return []


def run(given: argparse.Namespace) -> list[dict]:
    """Make what is missing of this share, and the table of all that is finished."""
    jobs_of, summary = PARTS[given.part]
    jobs = jobs_of(given.seed, given.fits or DEFAULTS[given.part])
    jobs = [job for job in jobs if not given.row or any(text in job.row for text in given.row)]
    done = Lines(given.progress, ("part", "row", "problems", "seed"))
    k, n = given.share
    keys = [{"part": given.part, "row": job.row, "problems": given.seed, "seed": job.seed} for job in jobs]
    for number, (job, key) in enumerate(zip(jobs, keys, strict=True)):
        if number % n == k - 1 and done.key(key) not in done.done:
            done.add(key | job.make())
            print(json.dumps(done.done[done.key(key)]), file=sys.stderr, flush=True)
    lines = [done.done[done.key(key)] for key in keys if done.key(key) in done.done]
    rows = {name: [line for line in lines if line["row"] == name] for name in dict.fromkeys(job.row for job in jobs)}
    table = [summary(name, found) for name, found in rows.items() if found]
    return table + (together(given.part, lines, table) if table else [])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=tuple(PARTS), default="problems")
    parser.add_argument("--row", action="append", help="only rows whose name contains this")
    parser.add_argument(
        "--fits", type=int, help="seeds of the noise of each row (20); rankings (100); warm calls of the costs (1)"
    )
    parser.add_argument("--seed", type=int, default=0, help="draws the problems")
    parser.add_argument("--share", type=share, default=(1, 1), help="make only the k-th of n parts: k/n")
    parser.add_argument("--progress", type=Path, help="finished fits, one a line; they are not made again")
    parser.add_argument("--output", type=Path, help="write the table as JSON")
    parser.add_argument("--machine", default="", help="the machine in general words")
    parser.add_argument("--timed", nargs=2, metavar=("PROBLEM", "CHECKS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.timed:
        print(json.dumps(timed(given.timed[0], given.seed, given.timed[1], given.fits)))
        return
    table = run(given)
    for row in table:
        print(json.dumps(row, ensure_ascii=False))
    if given.output:
        whole = {"machine": given.machine, "part": given.part, "seed": given.seed, "rows": table}
        given.output.write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
