"""Fits of an oscillator with one law to the benchmark's training data, and its simulation under test forces."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from vibrid.identification.identify import identify
from vibrid.identification.methods.trajectory import TrajectoryFit
from vibrid.identification.result import Identification
from vibrid.laws.base import Law
from vibrid.laws.bouc_wen import BoucWen
from vibrid.laws.linear import Viscous
from vibrid.papers.public.bouc_wen.balance import balanced_start
from vibrid.papers.public.bouc_wen.realisation import RATE, Oscillator
from vibrid.records.record import Channel, Record
from vibrid.simulation.simulate import simulate
from vibrid.structures.shear import ShearBuilding

MASS_AND_DAMPING = ("masses[0]", "damping.damping")
BOUC_WEN = tuple(f"storeys[0].{n}" for n in ("stiffness", "beta", "gamma", "exponent", "post_yield_ratio"))


def oscillator_of(law: Law, mass: float, damping: float) -> ShearBuilding:
    """One mass on one law and one dashpot."""
    return ShearBuilding(masses=[mass], storeys=[law], damping=Viscous(damping))


def bouc_wen_of(p: Oscillator) -> ShearBuilding:
    """The benchmark's oscillator in the terms of `BoucWen`: z is α times the hysteretic deformation."""
    scale = p.beta * p.alpha ** (p.nu - 1.0)
    law = BoucWen(
        stiffness=p.k + p.alpha,
        beta=scale * p.gamma,
        gamma=scale * p.delta,
        exponent=p.nu,
        post_yield_ratio=p.k / (p.k + p.alpha),
    )
    return oscillator_of(law, p.m, p.c)


def guess(seed: int, factor: float) -> Oscillator:
    """The true parameters, each times a random number between 1/factor and factor."""
    ratios = np.exp(np.random.default_rng(seed).uniform(-1, 1, len(Oscillator._fields)) * np.log(factor))
    return Oscillator(*(value * ratio for value, ratio in zip(Oscillator(), ratios, strict=True)))


def piece(u: np.ndarray, y: np.ndarray | None, lead: int, start: int = 0, samples: int | None = None) -> Record:
    """A piece of a period, after `lead` samples in which only the force is known; without y a record of the force."""
    number = np.arange(start - lead, start + (len(u) if samples is None else samples))
    columns, channels = [u[number % len(u)]], [Channel("u", "load", location="0")]
    if y is not None:
        columns.append(np.where(number < start, np.nan, y[number % len(u)]))
        channels.append(Channel("y", "displacement", location="0"))
    return Record(np.stack(columns, axis=1), tuple(channels), step=1.0 / RATE)


def fit_bouc_wen(settings: dict[str, Any], u: np.ndarray, y: np.ndarray, start: Oscillator) -> Identification:
    """From a poor guess: the balance of forces along the measured motion, then the trajectory."""
    simulation = settings["simulation"]
    near = balanced_start(u, y, start, settings["balance"]["band"])
    return identify(
        bouc_wen_of(near), piece(u, y, simulation["lead"]), [*MASS_AND_DAMPING, *BOUC_WEN], TrajectoryFit(segments=1),
        hold=simulation["hold"], substeps=simulation["substeps"], checks="none",
    )  # fmt: skip


def free_run(settings: dict[str, Any], structure, u: np.ndarray, steady: bool) -> np.ndarray:
    """Simulated displacement under a force, from rest, or in the steady state of a periodic force."""
    simulation = settings["simulation"]
    lead = len(u) if steady else 0
    record = piece(u, None, lead)
    response = simulate(structure, record, hold=simulation["hold"], substeps=simulation["substeps"])
    return np.asarray(response.displacement)[lead:, 0]


def rms(difference: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(difference))))


class Stopwatch:
    """Seconds since its start: of the clock, and of the processor."""

    def __init__(self):
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        return time.perf_counter() - self._wall, time.process_time() - self._cpu
