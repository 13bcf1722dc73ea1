"""A frame and a column of steel fibres to identify, with motions and forces from simulators of their own.

Curves of Menegotto & Pinto (1973) for arrays of fibres; the frame moves by central differences, the column follows its
imposed displacement by SciPy's root of equilibrium and compatibility of all its sections.
"""

from __future__ import annotations

import numpy as np
import scipy.optimize
from trust import STEP, shaking
from trust_posed import GROUND, Problem, random

import vibrid as vb

SHARPNESS, LOSS, RATE = 18.0, 0.925, 0.15
HEIGHTS = np.array([-0.15, -0.11, -0.04, 0.04, 0.11, 0.15])
AREAS = np.array([4e-3, 5e-4, 5e-4, 5e-4, 5e-4, 4e-3])
"""Of the fibres of both sections: m and m²."""

SHORT = 600
"""Samples of these tests, whose simulation takes long."""


class Steel:
    """Stresses of fibres along their strains; a trial changes nothing before `commit`."""

    def __init__(self, modulus: float, limit: float, hardening: float, shape: tuple[int, ...]) -> None:
        self.modulus, self.limit, self.hardening = modulus, limit, hardening
        self.strain, self.stress, self.way = np.zeros((3, *shape))
        self.turn = np.zeros((2, *shape))
        self.corner = np.zeros((2, *shape))
        self.sharpness = np.full(shape, SHARPNESS)
        self.extremes = np.stack([np.full(shape, -limit / modulus), np.full(shape, limit / modulus)])

    def tried(self, strain: np.ndarray) -> tuple[np.ndarray, tuple]:
        e, b, first = self.modulus, self.hardening, self.limit / self.modulus
        way = np.sign(strain - self.strain)
        turned = way * self.way < 0
        begun = (self.way == 0) & (way != 0)
        extremes = np.stack([
            np.where(turned & (way > 0), np.minimum(self.extremes[0], self.strain), self.extremes[0]),
            np.where(turned & (way < 0), np.maximum(self.extremes[1], self.strain), self.extremes[1]),
        ])  # fmt: skip
        turn = np.where(turned, np.stack([self.strain, self.stress]), self.turn)
        met = (way * self.limit * (1 - b) - turn[1] + e * turn[0]) / (e * (1 - b))
        corner = np.where(turned | begun, np.stack([met, turn[1] + e * (met - turn[0])]), self.corner)
        beyond = np.abs(np.where(way > 0, extremes[1], extremes[0]) - corner[0]) / first
        sharpness = np.where(turned, SHARPNESS * (1 - LOSS * beyond / (RATE + beyond)), self.sharpness)
        span = np.where(corner[0] == turn[0], 1.0, corner[0] - turn[0])
        share = (strain - turn[0]) / span
        bent = b * share + (1 - b) * share / (1 + np.abs(share) ** sharpness) ** (1 / sharpness)
        stress = turn[1] + (corner[1] - turn[1]) * bent
        return stress, (strain, stress, np.where(way == 0, self.way, way), turn, corner, sharpness, extremes)

    def commit(self, state: tuple) -> None:
        self.strain, self.stress, self.way, self.turn, self.corner, self.sharpness, self.extremes = state


def section(steel: vb.MenegottoPinto) -> vb.structures.FiberSection:
    return vb.structures.FiberSection("steel", [vb.structures.FiberLayer(steel, HEIGHTS, AREAS)], density=7850.0)


def fibre_frame(seed: int) -> Problem:
    """A cantilever of two members under a heavy mass that yields at its foot: modulus, yield stress, damping."""
    rng, level = random(45, seed)
    modulus, limit = rng.uniform(180e9, 220e9), rng.uniform(250e6, 350e6)
    damping, ground, length = rng.uniform(0.5e-3, 1.5e-3), shaking(rng, 4.0)[:SHORT], 1.5
    masses, rotary = np.array([10e3, 70e3]), 500.0
    clean = _cantilever(modulus, limit, damping, masses, rotary, length, ground)
    steel = vb.MenegottoPinto(300e6, 200e9, 0.02)
    guess = vb.FiberFrame(
        [(0, 0), (0, length), (0, 2 * length)],
        [vb.FrameMember((i, i + 1), "steel", "displacement", "gauss-legendre", 3) for i in range(2)],
        [section(steel)],
        supports={0: "fixed"},
        masses=[vb.PointMass(mass, str(i + 1), rotary) for i, mass in enumerate(masses)],
        damping=vb.Rayleigh(0.2, 1e-3),
    )
    unknown = [f"sections[0].fibres[0].material.{name}" for name in ("modulus", "yield_stress")]
    sensors = vb.Sensors(absolute_acceleration=["1.x", "2.x"])
    true = np.array([modulus, limit, damping])
    return Problem(guess, [*unknown, "damping.stiffness"], true, sensors, [GROUND], [(ground, clean)], level)


def _cantilever(modulus, limit, damping, masses, rotary, length, ground, fine: int = 32) -> np.ndarray:
    """Absolute accelerations of both nodes; motions of a node are x, y and the slope of x along the column."""
    own = 7850.0 * AREAS.sum() * length
    heavy = masses + own * np.array([1.0, 0.5])
    turning = rotary + own * length**2 / 78 * np.array([2.0, 1.0])
    inertia = np.column_stack([heavy, heavy, turning]).ravel()
    points, weights = np.polynomial.legendre.leggauss(3)
    s, weights = (points + 1) / 2, weights * length / 2
    curved = np.stack([(-6 + 12 * s) / length, -4 + 6 * s, (6 - 12 * s) / length, -2 + 6 * s]).T / length
    strains = np.zeros((2, 3, len(HEIGHTS), 9))
    for i in range(2):
        strains[i, :, :, 3 * i + 1], strains[i, :, :, 3 * i + 4] = -1 / length, 1 / length
        for column, dof in enumerate((3 * i, 3 * i + 2, 3 * i + 3, 3 * i + 5)):
            strains[i, :, :, dof] = curved[:, column, None] * HEIGHTS
    strains = strains[..., 3:].reshape(-1, 6)
    volumes = np.broadcast_to(weights[:, None] * AREAS, (2, 3, len(HEIGHTS))).ravel()
    back, steel = strains.T * volumes, Steel(modulus, limit, 0.02, (len(strains),))
    initial = modulus * back @ strains
    step, pushed = STEP / fine, np.tile([1.0, 0.0, 0.0], 2)
    drag = 0.5 * step * (0.2 * np.diag(inertia) + damping * initial)
    kept = np.linalg.inv(np.diag(inertia) + drag)
    now, before = np.zeros((2, 6))
    before = before - 0.5 * step**2 * ground[0] * pushed
    found = np.zeros((len(ground), 2))
    path = np.interp(np.arange(fine * (len(ground) - 1) + 1) / fine, np.arange(len(ground)), ground)
    for i, u in enumerate(path):
        stress, state = steel.tried(strains @ now)
        steel.commit(state)
        load = -(back @ stress) - u * inertia * pushed
        after = kept @ (inertia * (2 * now - before) + drag @ before + step**2 * load)
        if i % fine == 0:
            found[i // fine] = ((after - 2 * now + before) / step**2 + u * pushed)[[0, 3]]
        now, before = after, now
    return found


def column(seed: int) -> Problem:
    """A column whose top is moved under an axial force: modulus, yield stress and hardening of its steel."""
    rng, level = random(46, seed)
    modulus, limit, hardening = rng.uniform(180e9, 220e9), rng.uniform(250e6, 350e6), rng.uniform(0.01, 0.03)
    sizes, pace = rng.uniform(25e-3, 40e-3, 3), 2 * np.pi * rng.uniform(0.3, 1.2, 3)
    t, height, axial = STEP * np.arange(SHORT), 3.0, 200e3
    top = np.sum(sizes[:, None] * np.sin(np.outer(pace, t)), axis=0) * t / t[-1]
    clean = _column_force(Steel(modulus, limit, hardening, (5, len(HEIGHTS))), top, height, axial)
    guess = vb.ColumnTest(
        section(vb.MenegottoPinto(300e6, 200e9, 0.02)), height, axial, integration="gauss-lobatto", points=5
    )
    unknown = [f"section.fibres[0].material.{name}" for name in ("modulus", "yield_stress", "hardening_ratio")]
    driven, sensors = [vb.Channel("top", "imposed_displacement")], vb.Sensors(element_force=["column"])
    true = np.array([modulus, limit, hardening])
    return Problem(guess, unknown, true, sensors, driven, [(top, clean[:, None])], level)


def _column_force(steel: Steel, top: np.ndarray, height: float, axial: float) -> np.ndarray:
    """The lateral force; unknowns are the force, and strain and curvature of the five sections of Lobatto's rule."""
    places = height * (1 + np.array([-1, -np.sqrt(3 / 7), 0, np.sqrt(3 / 7), 1])) / 2
    weights = height / 2 * np.array([1 / 10, 49 / 90, 32 / 45, 49 / 90, 1 / 10])
    arm, force, scale = height - places, 1e5, 1e-3

    def unbalanced(z, moved, axial):
        strain, curvature = scale * z[1:].reshape(2, 5)
        stress, state = steel.tried(strain[:, None] + curvature[:, None] * HEIGHTS)
        pushed = (stress @ AREAS + axial) / 1e6
        bent = (stress @ (AREAS * HEIGHTS) - force * z[0] * arm) / 1e5
        unbalanced.state = state
        return np.concatenate([[(weights @ (arm * curvature) - moved) / 1e-2], pushed, bent])

    def followed(z, moved, axial):
        found = scipy.optimize.root(unbalanced, z, (moved, axial), tol=1e-12)
        if np.abs(found.fun).max() > 1e-8:
            raise ArithmeticError(f"The column does not follow {moved} m.")
        unbalanced(found.x, moved, axial)
        steel.commit(unbalanced.state)
        return found.x

    z, forces = np.zeros(11), np.zeros(len(top))
    for share in np.linspace(0.1, 1.0, 10):
        z = followed(z, 0.0, share * axial)
    rest = z[0]
    for i in range(1, len(top)):
        z = followed(z, top[i], axial)
        forces[i] = force * (z[0] - rest)
    return forces
