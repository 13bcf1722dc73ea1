"""Simulators that no method of the package uses, and closed formulas of bars, beams and frames.

Linear structures are moved by the exponential of the state matrix, the others by SciPy with tight tolerances, or
exactly from event to event.
"""

from __future__ import annotations

import numpy as np
import scipy.integrate
import scipy.linalg
import scipy.optimize
from trust import STEP, chain


def linear_motion(mass, damping, stiffness, load, drive) -> tuple[np.ndarray, np.ndarray]:
    """Displacements and accelerations of M a + C v + K x = load · drive(t), straight lines between the samples."""
    states, accelerations = linear_states(mass, damping, stiffness, load, drive)
    return states[:, : len(mass)], accelerations


def linear_states(mass, damping, stiffness, load, drive) -> tuple[np.ndarray, np.ndarray]:
    """Displacements beside velocities, and accelerations, of the same."""
    n = len(mass)
    forces, push = -np.linalg.solve(mass, np.hstack([stiffness, damping])), np.linalg.solve(mass, load)
    system = np.zeros((2 * n + 2, 2 * n + 2))
    system[:n, n : 2 * n], system[n : 2 * n, : 2 * n] = np.eye(n), forces
    system[n : 2 * n, 2 * n], system[2 * n, 2 * n + 1] = push, 1.0 / STEP
    e = scipy.linalg.expm(system * STEP)[: 2 * n]
    states = np.zeros((len(drive), 2 * n))
    for i, slope in enumerate(np.diff(drive)):
        states[i + 1] = e[:, : 2 * n] @ states[i] + e[:, 2 * n] * drive[i] + e[:, 2 * n + 1] * slope
    return states, states @ forces.T + np.outer(drive, push)


def cubic_motion(masses, stiffness, cubic, damping, ground) -> tuple[np.ndarray, np.ndarray]:
    """Displacements and absolute accelerations of storeys with cubic springs, by SciPy from sample to sample."""
    states, felt = cubic_states(masses, stiffness, cubic, damping, ground)
    return states[:, : len(masses)], felt


def cubic_states(masses, stiffness, cubic, damping, ground) -> tuple[np.ndarray, np.ndarray]:
    """Displacements beside velocities, and absolute accelerations, of the same."""
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
    return states, np.array([absolute(state) for state in states])


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
