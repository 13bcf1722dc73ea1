"""The result of `ModalFit`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy

from vibrid.core.attached import attached
from vibrid.identification.result import Identification
from vibrid.modal.measured import MeasuredModes
from vibrid.structures.modes import modes
from vibrid.structures.pairing import ModePairs, pair_modes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_IMPROBABLE = 0.01


@dataclass(frozen=True, eq=False, repr=False)
class ModalIdentification(Identification):
    """The result of a fit to measured modes: an `Identification` whose data are modes, not records.

    Fields, beside those of `Identification`
        measured: the modes.
        misfit: (k,) squared, whitened residuals of every mode; their sum is χ² of `independent_residuals`.
        independent_residuals: number of residuals minus that of the unknowns.
    """

    measured: MeasuredModes | None = None
    misfit: np.ndarray | None = None
    independent_residuals: int = 0

    @property
    def pairs(self) -> ModePairs:
        """The measured modes beside those of the identified structure."""
        assert self.measured is not None
        return pair_modes(self.measured, modes(self.structure))

    @property
    def chance(self) -> float:
        """Probability of a misfit as large as this where the model is right; NaN where nothing is left to compare."""
        if self.misfit is None or self.independent_residuals < 1:
            return float("nan")
        return float(scipy.special.chdtrc(self.independent_residuals, self.misfit.sum()))

    @property
    def model_fits(self) -> bool:
        return not self.chance < _IMPROBABLE

    @property
    def judgement(self) -> tuple[str, ...]:
        if not np.isfinite(self.chance) or self.misfit is None:
            return ("There are no more modal data than unknowns: whether the model fits cannot be told.",)
        pairs = self.pairs
        worst = f"frequencies within {100 * np.abs(pairs.differences).max():.2g} %, MAC at least " + (
            f"{min(pairs.mac[i, j] for i, j in pairs.pairs):.3f}"
        )
        size = np.sqrt(self.misfit.sum() / self.independent_residuals)
        if self.model_fits:
            return (
                f"The model fits: its modes differ from the measured ones by {size:.2g} standard deviations; {worst}.",
            )
        bad = int(self.misfit.argmax()) + 1
        return (
            f"The model does not fit: its modes differ from the measured ones by {size:.2g} standard deviations, most "
            f"in mode {bad}; {worst}. The intervals assume that the model is right: add unknowns, or allow for its "
            "error with frequency_error and shape_error.",
        )

    @attached
    def plot(self) -> Figure:
        """Shapes, measured and of the fitted structure."""
        ...

    @attached
    def report(self, path: Path | str, **keywords: Any) -> Path:
        """Write the self-contained HTML report; returns its path."""
        ...
