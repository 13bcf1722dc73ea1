"""Writes pyrotd_references.json: spectra over all directions (RotD0, RotD50, RotD100) of two components, by pyrotd.

python tests/records/pyrotd_references.py          # with pyrotd installed

The motions are made of sines, which no program must interpolate, and end with a pause, so that the oscillators of a
program that works with Fourier transforms are at rest again.
"""

import json
from pathlib import Path

import numpy as np

STEP, PERIODS, DAMPING, PERCENTILES = 0.002, (0.1, 0.2, 0.5, 1.0, 2.0, 4.0), 0.05, (0, 50, 100)


def components():
    """(samples, 2) m/s²: 20 s of motion, 60 s of rest."""
    rng, time = np.random.default_rng(5), np.arange(round(80.0 / STEP)) * STEP
    shape = np.where(time < 20.0, np.sin(np.pi * np.minimum(time, 20.0) / 20.0) ** 2, 0.0)
    made = np.zeros((len(time), 2))
    for frequency in np.geomspace(0.3, 12.0, 60):
        phases, sizes = rng.uniform(0, 2 * np.pi, 2), rng.uniform(0.2, 1.0, 2)
        made += sizes * np.sin(2 * np.pi * frequency * time[:, None] + phases)
    return 0.3 * shape[:, None] * made


def main():
    import pyrotd

    a, b = components().T
    found = pyrotd.calc_rotated_spec_accels(
        STEP, a, b, 1 / np.array(PERIODS), DAMPING, percentiles=np.array(PERCENTILES)
    )
    spectra = {
        str(p): [float(v) for v, q in zip(found.spec_accel, found.percentile, strict=True) if q == p]
        for p in PERCENTILES
    }
    answer = {"pyrotd": str(getattr(pyrotd, "__version__", "unknown")), "spectra": spectra}
    Path(__file__).with_suffix(".json").write_text(json.dumps(answer, indent=1) + "\n", encoding="utf-8")
    print(answer)


if __name__ == "__main__":
    main()
