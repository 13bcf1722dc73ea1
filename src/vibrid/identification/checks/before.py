"""What a fit can find, before it is made: expected uncertainty, unknowns that cannot be found, faults, and time."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.device import on_processor
from vibrid.core.findings import ODD, WRONG, Finding
from vibrid.core.progress import SILENT, Progress
from vibrid.identification.checks.instruments import instrument_faults
from vibrid.identification.checks.refit import refit
from vibrid.identification.identifiability import WEAK, Identifiability, identifiability
from vibrid.identification.levenberg import gauss_newton
from vibrid.identification.problem import Problem

EVALUATIONS = 30
"""Evaluations of the model with derivatives in an ordinary fit."""

QUICK = 2.0
"""Seconds of one evaluation up to which a quick fit is made to look for faults of instruments."""


@dataclass(frozen=True)
class Forecast:
    """What is known before a fit.

    Fields
        limits: Cramér–Rao bounds at the first guess: the smallest standard deviations of any method.
        start: first guesses of the unknowns.
        evaluation: seconds of one evaluation of the model with its derivatives.
        looked: whether faults of the instruments were looked for; not where the model is slow, or loads are unknown.
        findings: unknowns that cannot be found, and faults of instruments.
    """

    limits: Identifiability
    units: tuple[str, ...]
    start: np.ndarray
    evaluation: float
    looked: bool
    findings: tuple[Finding, ...]

    @property
    def seconds(self) -> float:
        """An ordinary fit by `trajectory`, as an order of magnitude."""
        return EVALUATIONS * self.evaluation

    def table(self) -> list[dict[str, Any]]:
        """One row per unknown: name, unit, first guess, expected standard deviation, and whether it can be found."""
        limits = self.limits
        return [
            {
                "name": name,
                "unit": self.units[i],
                "first_guess": float(self.start[i]),
                "expected_standard_deviation": float(limits.bound[i]),
                "relative": float(limits.relative_bound[i]),
                "identifiable": bool(limits.identifiable[i]),
            }
            for i, name in enumerate(limits.names)
        ]


def forecast(
    problem: Problem, noise: np.ndarray, data_are_measured: bool = True, progress: Progress = SILENT
) -> Forecast:
    """Look at a problem before it is solved.

    Arguments
        noise: standard deviation of every sensor's noise.
        data_are_measured: whether the readings are measured, so that faults can be looked for.
    """
    problem = problem.boxed()
    with on_processor():
        progress.stage("expected uncertainty (compiling)")
        limits = identifiability(problem, problem.start, noise)
        started = time.perf_counter()
        jax.block_until_ready(gauss_newton(problem, jnp.asarray(problem.start)[None], jnp.asarray(noise)))
        evaluation = time.perf_counter() - started
        findings = list(_not_found(limits))
        looked = data_are_measured and not problem.unknown_loads and evaluation < QUICK
        if looked:
            progress.stage("looking for faults of the instruments")
            quick = refit(problem, problem.start, {})
            if not quick.model_fits:
                findings += instrument_faults(quick, problem.start)[0]
    start = np.asarray(problem.unknowns.start)
    return Forecast(limits, problem.unknowns.units, start, evaluation, looked, tuple(findings))


def _not_found(limits: Identifiability):
    """Unknowns, and combinations of them, about which these sensors and this excitation say little or nothing."""
    for name, bound in zip(limits.names, limits.relative_bound, strict=True):
        if not np.isfinite(bound):
            words = "cannot be found from these sensors and this excitation: fix it, or measure elsewhere."
            yield Finding("blind", WRONG, f"The unknown '{name}' {words}", name)
        elif bound >= WEAK:
            words = f"will be known to ± {200 * bound:.2g} % only (2σ): give it a prior, or measure elsewhere."
            yield Finding("weak", ODD, f"The unknown '{name}' {words}", name, 0.0, {"relative": float(bound)})
    for combination in limits.inseparable[:3]:
        yield Finding("inseparable", ODD, f"The data cannot separate unknowns: {combination}.")
