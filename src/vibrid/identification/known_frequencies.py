"""Known natural frequencies: a prior on a frequency, or a frequency that the result must have exactly.

An exact frequency is one more residual, with a large weight and a shift: after each descent the shift is updated by the
remaining error (the multiplier of an augmented Lagrangian), so that the weight need not be extreme.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.arguments import Array
from vibrid.core.errors import InputError
from vibrid.identification.conclude import CONTRADICTED, contradicted
from vibrid.structures.modes import natural_frequencies

if TYPE_CHECKING:
    from vibrid.identification.problem import Problem

MET = 1e-6  # of an exact frequency: the error that is accepted
_FIRST = 1e-3  # of an exact frequency: its deviation in the first descent


def check_frequencies(given) -> None:
    """Refuse entries that do not describe natural frequencies."""
    for mode, frequency, deviation in given:
        if mode < 1 or not frequency > 0 or not deviation >= 0:
            raise InputError(
                f"A known frequency is (mode from 1, Hz, standard deviation in Hz or 0 for exact), not "
                f"({mode}, {frequency:g}, {deviation:g})."
            )
    modes = [mode for mode, _, _ in given]
    if len(set(modes)) < len(modes):
        raise InputError(f"Each mode's frequency can be stated once; the modes given are {', '.join(map(str, modes))}.")


@dataclass(frozen=True, eq=False)
class KnownFrequencies:
    """Stated frequencies, with the residuals (model − stated)/deviation + shift that enforce them."""

    modes: tuple[int, ...]
    stated: np.ndarray  # Hz
    given: np.ndarray  # Hz, standard deviations as stated; 0 is exact
    deviation: np.ndarray  # Hz, as used in the residuals
    shift: np.ndarray
    missed: np.ndarray  # Hz, after the last descent

    @staticmethod
    def of(frequencies, size: int) -> KnownFrequencies:
        """Arguments: frequencies: (mode, Hz, deviation), …; size: degrees of freedom of the structure."""
        modes = tuple(mode for mode, _, _ in frequencies)
        if modes and max(modes) > size:
            raise InputError(f"Frequency {max(modes)} is stated, but the structure has {size} modes.")
        stated, given = (np.array([float(row[i]) for row in frequencies]) for i in (1, 2))
        deviation = np.where(given > 0, given, _FIRST * stated)
        return KnownFrequencies(modes, stated, given, deviation, np.zeros(len(modes)), np.full(len(modes), np.inf))

    @property
    def exact(self) -> np.ndarray:
        return self.given == 0.0

    def found(self, problem: Problem, free: Array) -> np.ndarray:
        """Hz: frequencies of the structure at φ."""
        return np.asarray(_at(problem, jnp.asarray(free), self.modes))

    def residuals(self, problem: Problem, free: Array) -> tuple[np.ndarray, ...]:
        """Residuals of the priors on parameters and frequencies, and their slopes."""
        rest = (jnp.asarray(part) for part in (self.stated, self.deviation, self.shift))
        return tuple(np.asarray(part) for part in _residuals(problem, jnp.asarray(free), self.modes, *rest))

    def tightened(self, problem: Problem, free: Array) -> KnownFrequencies | None:
        """The residuals for the next descent, so that exact frequencies are met; None where they are."""
        missed = np.where(self.exact, self.found(problem, free) - self.stated, 0.0)
        if np.all(np.abs(missed) <= MET * self.stated):
            return None
        slow = self.exact & (np.abs(missed) > 0.25 * np.abs(self.missed))
        shift = np.where(self.exact, self.shift + missed / self.deviation, 0.0)
        factor = np.where(slow, 0.1, 1.0)
        return replace(self, deviation=factor * self.deviation, shift=factor * shift, missed=missed)

    def rigid(self) -> KnownFrequencies:
        """The same with exact frequencies known to within `MET`: for the covariance."""
        return replace(self, deviation=np.where(self.exact, MET * self.stated, self.deviation))

    def messages(self, problem: Problem, free: Array) -> tuple[str, ...]:
        """Messages: priors that the data contradict, and exact frequencies that could not be met."""
        notes = []
        for i, frequency in enumerate(self.found(problem, free)):
            away = frequency - self.stated[i]
            if self.exact[i]:
                if abs(away) > 100 * MET * self.stated[i]:
                    notes.append(
                        f"Natural frequency {self.modes[i]} could not be held at {self.stated[i]:g} Hz: the model has "
                        f"{frequency:.4g} Hz. The bounds of the unknowns, or the structure, do not allow it."
                    )
            elif abs(away) > CONTRADICTED * self.given[i]:
                stated = f"{self.stated[i]:g} ± {self.given[i]:g} Hz"
                what = f"natural frequency {self.modes[i]}"
                notes.append(contradicted(what, stated, f"{frequency:.4g} Hz", away / self.given[i]))
        return tuple(notes)


def _frequencies(problem, free, modes):
    structure = problem.unknowns.apply(problem.experiment, free).structure
    mass, _, stiffness = structure.model(()).initial_matrices()
    frequencies = natural_frequencies(mass, stiffness)
    return jnp.stack([frequencies[mode - 1] for mode in modes]) if modes else jnp.zeros(0)


@eqx.filter_jit
def _at(problem, free, modes):
    return _frequencies(problem, free, modes)


@eqx.filter_jit
def _residuals(problem, free, modes, stated, deviation, shift):
    def residual(free):
        prior = problem.unknowns.prior_residual(free)
        if not modes:
            return prior
        return jnp.concatenate([prior, (_frequencies(problem, free, modes) - stated) / deviation + shift])

    return residual(free), jax.jacfwd(residual)(free)
