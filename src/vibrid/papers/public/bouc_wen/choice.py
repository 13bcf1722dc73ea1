"""The choice among laws by the likelihood of data that were held out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from vibrid.core.errors import VibridError
from vibrid.identification.identify import identify
from vibrid.identification.methods.trajectory import TrajectoryFit
from vibrid.identification.result import Identification
from vibrid.laws.base import Law
from vibrid.laws.bilinear import Bilinear
from vibrid.laws.bouc_wen import BoucWen
from vibrid.laws.linear import Linear
from vibrid.laws.polynomial import Cubic, Polynomial
from vibrid.papers.public.bouc_wen.fitting import BOUC_WEN, MASS_AND_DAMPING, oscillator_of, piece, rms
from vibrid.simulation.simulate import simulate


@dataclass(frozen=True)
class CandidateLaw:
    """A law, made from the stiffness and the largest deformation of the linear fit, and its unknowns."""

    name: str
    law: Law
    unknown: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Judged:
    """A candidate after its fit. likelihood: mean logarithm of the likelihood of a held-out sample."""

    candidate: CandidateLaw
    fit: Identification | None
    training_rms: float
    held_out_rms: float
    likelihood: float


def candidates(stiffness: float, largest: float) -> list[CandidateLaw]:
    """Laws that begin as the linear fit does, with a mild nonlinearity at the largest deformation."""
    mild = 0.1 * stiffness / largest**2
    return [
        CandidateLaw("linear", Linear(stiffness), ("storeys[0].stiffness",)),
        CandidateLaw("cubic", Cubic(stiffness, mild), ("storeys[0].stiffness", "storeys[0].cubic")),
        CandidateLaw(
            "polynomial of order 5",
            Polynomial([stiffness, 0.0, mild, 0.0, 0.0]),
            tuple(f"storeys[0].coefficients[{i}]" for i in range(5)),
        ),
        CandidateLaw(
            "bilinear",
            Bilinear(stiffness, 0.5 * largest, 0.5),
            tuple(f"storeys[0].{n}" for n in ("stiffness", "yield_deformation", "post_yield_ratio")),
        ),
        CandidateLaw("Bouc–Wen", BoucWen(stiffness, 0.5 / largest, 0.5 / largest, 1.0, 0.5), BOUC_WEN),
    ]


def first_oscillator(u: np.ndarray, y: np.ndarray, rate: float) -> tuple[float, float, float]:
    """Mass, damping and stiffness of a linear oscillator: least squares on `u/y = k − m ω² + i c ω` over the lines that
    are excited, each weighted by its motion."""
    force, motion = np.fft.rfft(u), np.fft.rfft(y)
    omega = 2 * np.pi * np.fft.rfftfreq(len(u), 1 / rate)
    used = np.abs(force) > 1e-3 * np.abs(force).max()
    force, motion, omega = force[used], motion[used], omega[used]
    columns = np.stack([-(omega**2) * motion, 1j * omega * motion, motion], axis=1)
    (m, c, k), *_ = np.linalg.lstsq(
        np.concatenate([columns.real, columns.imag]), np.concatenate([force.real, force.imag]), rcond=None
    )
    return float(m), float(c), float(k)


def judge_laws(settings: dict[str, Any], u: np.ndarray, y: np.ndarray, rate: float, progress=None) -> list[Judged]:
    """Every candidate fitted to the first part of the period and judged on the rest, the most likely first."""
    choice, simulation = settings["choice"], settings["simulation"]
    mass, damping, stiffness = first_oscillator(u, y, rate)
    known = round(choice["training_share"] * len(u))
    seen = piece(u, y, simulation["lead"], samples=known)
    every = piece(u, None, simulation["lead"])
    judged = []
    for candidate in candidates(stiffness, float(np.abs(y).max())):
        if progress is not None:
            progress.stage(f"law: {candidate.name}")
        start = oscillator_of(candidate.law, mass, max(damping, 1e-3 * np.sqrt(mass * stiffness)))
        try:
            fit = identify(
                start, seen, [*MASS_AND_DAMPING, *candidate.unknown], TrajectoryFit(),
                hold=simulation["hold"], substeps=choice["substeps"], checks="none",
            )  # fmt: skip
        except VibridError:
            judged.append(Judged(candidate, None, np.nan, np.nan, -np.inf))
            continue
        motion = simulate(fit.structure, every, hold=simulation["hold"], substeps=choice["substeps"]).displacement
        left = np.asarray(motion)[simulation["lead"] :, 0] - y
        sigma, held = rms(left[:known]), rms(left[known:])
        likelihood = -0.5 * (held / sigma) ** 2 - np.log(sigma) - 0.5 * np.log(2 * np.pi)
        judged.append(Judged(candidate, fit, sigma, held, float(likelihood)))
    return sorted(judged, key=lambda j: -j.likelihood)
