"""Ambient vibration of a virtual tower: `python examples/ambient_vibration.py ambient.csv`, then
`vibrid modal ambient.csv --report modes.html`.

Wind and traffic are white forces on every floor. The integrator is its own (NumPy and SciPy): exact between steps over
which the forces are constant.
"""

import sys

import numpy as np
import scipy

TOWER = {"masses": [20e3] * 5 + [15e3], "stiffnesses": [30e6, 28e6, 26e6, 24e6, 22e6, 20e6], "ratio": 0.015}
"""Floors in kg and storeys in N/m, the lowest first; damping ratio of all modes."""


def chain(masses, stiffnesses, ratio):
    """M, C, K of a chain on the ground with the same damping ratio in all modes."""
    m = np.diag(np.asarray(masses, float))
    k = np.diag(np.asarray(stiffnesses, float))
    k[:-1, :-1] += np.diag(np.asarray(stiffnesses, float)[1:])
    k -= np.diag(np.asarray(stiffnesses, float)[1:], 1) + np.diag(np.asarray(stiffnesses, float)[1:], -1)
    values, shapes = scipy.linalg.eigh(k, m)
    c = m @ shapes @ np.diag(2 * ratio * np.sqrt(values)) @ shapes.T @ m
    return m, c, k


def accelerations(m, c, k, seed, seconds, rate, noise=0.02, finer=3):
    """(samples, n): under white forces on all masses that are constant over steps of 1/(finer · rate), with noise."""
    n, rng = len(m), np.random.default_rng(seed)
    state = np.block([[np.zeros((n, n)), np.eye(n)], [-np.linalg.solve(m, k), -np.linalg.solve(m, c)]])
    enters = np.vstack([np.zeros((n, n)), np.linalg.inv(m)])
    step = 1.0 / (rate * finer)
    exact = scipy.linalg.expm(np.block([[state, enters], [np.zeros((n, 3 * n))]]) * step)
    values, vectors = np.linalg.eig(exact[: 2 * n, : 2 * n])
    force = rng.standard_normal((round(seconds * rate * finer), n))
    drive = force @ np.linalg.solve(vectors, exact[: 2 * n, 2 * n :]).T
    modal = [scipy.signal.lfilter([0.0, 1.0], [1.0, -value], drive[:, i]) for i, value in enumerate(values)]
    motion = np.real(np.stack(modal, axis=1) @ vectors.T)
    y = motion @ state[n:].T + force @ enters[n:].T
    y = scipy.signal.decimate(y, finer, ftype="fir", axis=0) if finer > 1 else y
    return y + noise * y.std(axis=0) * rng.standard_normal(y.shape)


def main(path: str) -> None:
    """Fifteen minutes at 40 samples a second: accelerations of a hundredth of m/s², 2 % noise."""
    import vibrid as vb

    values = accelerations(*chain(**TOWER), seed=1, seconds=900.0, rate=40.0)
    channels = [vb.Channel(f"floor {i + 1}", "absolute_acceleration", location=i) for i in range(values.shape[1])]
    vb.write_csv(vb.Record(0.01 * values / values.std(), channels, step=1 / 40, name="tower"), path)


if __name__ == "__main__":
    main(sys.argv[1])
