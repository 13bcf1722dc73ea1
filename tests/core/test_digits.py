"""Digits of a value fit those of its uncertainty."""

import math

import numpy as np
import pytest

from vibrid.core.digits import with_uncertainty


@pytest.mark.parametrize(
    ("value", "spread", "text"),
    [
        (320.4361, 1.1732, ("320.4", "1.2")),
        (26.01094, 0.03237, ("26.011", "0.032")),
        (2.60055e7, 2.33e4, ("2.6006e+07", "2.3e+04")),
        (59639.0, 540.0, ("59640", "540")),
        (-0.0512, 0.00996, ("-0.051", "0.010")),
        (5.0, 40.0, ("5", "40")),
        (0.3, 700.0, ("0", "700")),
        (123456.789, 1e-9, ("123456.8", "0.0000000010")),
        (0.0, 0.5, ("0.00", "0.50")),
        (1.5, math.nan, ("1.5", "")),
        (math.nan, 1.0, ("nan", "")),
    ],
)
def test_examples(value, spread, text):
    assert with_uncertainty(value, spread) == text


def test_what_is_written_is_the_value_to_the_uncertainty():
    rng = np.random.default_rng(1)
    for value, share in zip(10 ** rng.uniform(-8, 12, 500), 10 ** rng.uniform(-6, 1, 500), strict=True):
        written, band = with_uncertainty(value, value * share)
        assert abs(float(written) - value) <= max(0.051 * value * share, 0.51e-6 * value)
        assert float(band) == pytest.approx(value * share, rel=0.06)
