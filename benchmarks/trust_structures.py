"""Thirteen structures to identify, with tests from simulators that no method uses; parameters are drawn by a seed."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import scipy.integrate
import scipy.linalg
from trust import SAMPLES, STEP, chain, hysteretic_case, linear_accelerations, shaking
from trust_fibres import column, fibre_frame
from trust_posed import GROUND, Problem, random
from trust_simulators import (
    assembled,
    bar,
    bending,
    bilinear_accelerations,
    cubic_motion,
    cubic_states,
    linear_motion,
    linear_states,
    member,
)

import vibrid as vb


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


def whole(storeys: int) -> Callable[[int], Problem]:
    """Linear storeys with displacement, velocity and acceleration of every floor."""

    def made(seed: int) -> Problem:
        rng, level = random(40 + storeys, seed)
        stiffness, damping = rng.uniform(14e6, 30e6, storeys), rng.uniform(50e3, 150e3)
        ground, masses = shaking(rng, 3.0), np.full(storeys, 20e3)
        dashpots = chain(np.full(storeys, damping))
        states, moved = linear_states(np.diag(masses), dashpots, chain(stiffness), -masses, ground)
        guess = vb.ShearBuilding(masses, [vb.Linear(20e6)] * storeys, damping=vb.Viscous(100e3))
        true, clean = np.append(stiffness, damping), np.column_stack([states, moved + ground[:, None]])
        unknown = ["storeys[*].stiffness", "damping.damping"]
        return Problem(guess, unknown, true, _everything(storeys), [GROUND], [(ground, clean)], level)

    return made


def cubic_whole(seed: int) -> Problem:
    """A storey with a cubic spring below a linear one, with the whole motion of both floors."""
    rng, level = random(44, seed)
    stiffness, damping = rng.uniform(14e6, 26e6, 2), rng.uniform(60e3, 120e3)
    hardening, ground = rng.uniform(2e10, 6e10), shaking(rng, 4.0)
    states, felt = cubic_states(np.full(2, 20e3), stiffness, np.array([hardening, 0.0]), damping, ground)
    guess = vb.ShearBuilding([20e3] * 2, [vb.Cubic(20e6, 4e10), vb.Linear(20e6)], damping=vb.Viscous(100e3))
    unknown = ["storeys[0].stiffness", "storeys[0].cubic", "storeys[1].stiffness", "damping.damping"]
    true = np.array([stiffness[0], hardening, stiffness[1], damping])
    return Problem(guess, unknown, true, _everything(2), [GROUND], [(ground, np.column_stack([states, felt]))], level)


def _everything(floors: int) -> vb.Sensors:
    each = list(range(floors))
    return vb.Sensors(displacement=each, velocity=each, absolute_acceleration=each)


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


def plan(seed: int) -> Problem:
    """Two rigid floors, shaken in x and y: stiffness of the lines along x, of both along y, the centre of mass and the
    factors of the damping."""
    rng, level = random(47, seed)
    masses, rotary, centre_y = np.array([30e3, 24e3]), np.array([4.2e5, 3.0e5]), 3.6
    centre, a, b = rng.uniform(4.5, 5.5), rng.uniform(0.3, 0.9), rng.uniform(3e-4, 8e-4)
    along_x, left, right = rng.uniform(14e6, 26e6, 3)
    lines = [(along_x, (0, 0), "x"), (along_x, (0, 8), "x"), (left, (0, 0), "y"), (right, (10, 0), "y")]

    def moved(at: tuple[float, float], direction: str) -> np.ndarray:  # of a point, by x, y and rotation of its floor
        return np.array([1.0, 0.0, centre_y - at[1]] if direction == "x" else [0.0, 1.0, at[0] - centre])

    storeys = np.array([[1.0, 0.0], [-1.0, 1.0]])  # drifts by floors
    one = sum(k * np.outer(moved(at, way), moved(at, way)) for k, at, way in lines)
    stiffness = np.kron(storeys.T @ storeys, one)
    mass = np.diag([m for floor in zip(masses, masses, rotary, strict=True) for m in floor])
    grounds = [shaking(rng, 3.0), shaking(rng, 2.5)]
    pushes = np.kron(np.ones(2), np.eye(3)[:2])
    felt = sum(
        linear_motion(mass, a * mass + b * stiffness, stiffness, -mass @ push, ground)[1] + np.outer(ground, push)
        for push, ground in zip(pushes, grounds, strict=True)
    )
    read = [(1, (0, 0), "x"), (1, (10, 8), "y"), (0, (10, 8), "x"), (0, (0, 0), "y")]
    clean = np.column_stack([felt[:, 3 * floor : 3 * floor + 3] @ moved(at, way) for floor, at, way in read])
    guess = vb.RigidFloorBuilding(
        masses,
        rotary,
        [vb.FrameLine([vb.Linear(20e6)] * 2, at, way) for _, at, way in lines],
        centre_x=5.0,
        centre_y=centre_y,
        damping=vb.Rayleigh(0.6, 5e-4),
    )
    tied = [(f"lines[{i}].storeys[{j}].stiffness" for i in group for j in range(2)) for group in ((0, 1), (2,), (3,))]
    unknown = [
        vb.Unknown(list(paths), tied=True, name=name)
        for paths, name in zip(tied, ("along x", "left", "right"), strict=True)
    ]
    names = [f"{('0', 'roof')[floor]}@{at[0]},{at[1]}.{way}" for floor, at, way in read]
    driven = [vb.Channel(f"ground {way}", "ground_acceleration", direction=way) for way in "xy"]
    true = np.array([along_x, left, right, centre, a, b])
    sensors = vb.Sensors(absolute_acceleration=names)
    unknown = [*unknown, "centre_x", "damping.mass", "damping.stiffness"]
    return Problem(guess, unknown, true, sensors, driven, [(np.column_stack(grounds), clean)], level)


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
    "building in plan": plan,
    "fibre frame": fibre_frame,
    "column test": column,
}


@functools.lru_cache
def problem(name: str, seed: int) -> Problem:
    return PROBLEMS[name](seed)
