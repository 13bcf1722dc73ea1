"""Other answers: values of the unknowns, far from the estimate, that explain the readings as well."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class OtherAnswer:
    """One of several answers to the same data.

    Fields
        estimate, deviation: of every unknown in its unit, in the order of the result's `names`.
        log_likelihood: that of the readings minus that of the result; 0 is equally likely.
    """

    estimate: np.ndarray
    deviation: np.ndarray
    log_likelihood: float
