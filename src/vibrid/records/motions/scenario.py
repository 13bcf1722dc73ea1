"""Parameters of synthetic motions for an earthquake and a site.

S. Rezaeian and A. Der Kiureghian, Earthquake Engineering and Structural Dynamics 39 (2010) 1155–1180: each parameter is
mapped to a standard normal variable through its marginal distribution, and the mean of that variable is

    β₀ + β₁ F + β₂ M/7 + β₃ R/25 km + β₄ V/(750 m/s)

with F = 1 for reverse faulting, 0 for strike-slip; the total errors are normal and correlated. Valid for shallow
crustal earthquakes with M ≥ 6, 10 km ≤ R ≤ 100 km and V ≥ 600 m/s. The strength of the motion is not predicted here:
give `pga` or `arias` to `synthetic_motion`.
"""

from __future__ import annotations

import numpy as np
import scipy

from vibrid.core.arguments import Seed, checked
from vibrid.core.errors import InputError

_NAMES = ("significant_duration", "middle", "frequency", "frequency_slope", "bandwidth")
_BETA = np.array(
    [
        [-6.195, -0.703, 6.792, 0.219, -0.523],
        [-5.011, -0.345, 4.638, 0.348, -0.185],
        [2.253, -0.081, -1.810, -0.211, 0.012],
        [-2.489, 0.044, 2.408, 0.065, -0.081],
        [-0.258, -0.477, 0.905, -0.289, 0.316],
    ]
)
_BETWEEN = np.array([0.457, 0.511, 0.692, 0.129, 0.682])
_WITHIN = np.array([0.569, 0.414, 0.723, 0.953, 0.760])
_CORRELATION = np.array(
    [
        [1.0, 0.67, -0.13, -0.16, -0.20],
        [0.67, 1.0, -0.28, -0.20, -0.22],
        [-0.13, -0.28, 1.0, -0.20, 0.28],
        [-0.16, -0.20, -0.20, 1.0, -0.01],
        [-0.20, -0.22, 0.28, -0.01, 1.0],
    ]
)


@checked
def scenario_parameters(
    magnitude: float, distance: float, shear_velocity: float, reverse: bool = False, key: Seed | None = None
) -> dict[str, float]:
    """Arguments for `synthetic_motion` from an earthquake and a site.

    magnitude: moment magnitude; distance: to the rupture in km; shear_velocity: V_s30 in m/s; reverse: reverse faulting
    instead of strike-slip; key: seed of a random draw, or None for the medians.

    >>> round(scenario_parameters(7.0, 25.0, 750.0)["significant_duration"], 1)
    19.3
    """
    for label, value, low, high in (
        ("magnitude", magnitude, 6.0, 8.5),
        ("distance", distance, 10.0, 100.0),
        ("shear velocity", shear_velocity, 600.0, 2500.0),
    ):
        if not low <= value <= high:
            raise InputError(f"The model holds for a {label} from {low:g} to {high:g}, not {value!r}.")
    mean = _BETA @ np.array([1.0, float(reverse), magnitude / 7, distance / 25, shear_velocity / 750])
    if key is not None:
        deviation = np.hypot(_BETWEEN, _WITHIN)
        generator = np.random.default_rng(key)
        mean = mean + generator.multivariate_normal(np.zeros(5), _CORRELATION * np.outer(deviation, deviation))
    share = np.clip(scipy.stats.norm.cdf(mean), 1e-6, 1 - 1e-6)
    values = (
        5 + 40 * scipy.stats.beta.ppf(share[0], 1.1314, 2.4474),
        0.5 + 39.5 * scipy.stats.beta.ppf(share[1], 1.5792, 3.6405),
        scipy.stats.gamma.ppf(share[2], 4.0982, scale=1.4330),
        _slope(share[3]),
        0.02 + 0.98 * scipy.stats.beta.ppf(share[4], 1.4250, 5.7208),
    )
    return dict(zip(_NAMES, map(float, values), strict=True))


def _slope(share: float) -> float:
    """Frequency slope in Hz/s from its two-sided exponential distribution on −2 to 0.5."""
    density, rise, fall, low = 4.8512, 6.7729, 17.095, -2.0
    at_zero = density / rise * (1 - np.exp(rise * low))
    if share < at_zero:
        return np.log(share * rise / density + np.exp(rise * low)) / rise
    rest = 1 - (share - at_zero) * fall / density
    return min(-np.log(rest) / fall, 0.5) if rest > 0 else 0.5
