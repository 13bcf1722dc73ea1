"""Is what a fit leaves over the response to noise of the measured excitation?

Such a residual is shared by all channels as the structure carries it there: its spectral matrix is σ² H Hᴴ plus the
noise of the readings, with H the transfer from the excitation to the readings. The likelihood of this, with one number
for the excitation, is compared with that of noise that channels have by themselves (a filter each). No simulation of
the fit is compiled again: H comes from predictions with a small known noise added to the excitation.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax.numpy as jnp
import numpy as np
import scipy

from vibrid.core.findings import WRONG, Finding
from vibrid.identification.checks.dependence import noise_at
from vibrid.identification.checks.noise import NoiseModel
from vibrid.identification.checks.work import around
from vibrid.identification.input_noise import LEAST, input_size
from vibrid.identification.levenberg import LinearReadings
from vibrid.identification.problem import Problem, predict
from vibrid.simulation.excitation import drive

if TYPE_CHECKING:
    from vibrid.identification.result import Identification

NAME = "input noise"
CLEARLY = 10.0
"""Nats by which noise of the excitation must be more likely."""

STEADY = 1.6
"""Largest ratio of the whitened residuals where the motion is strong to those where it is weak: a wrong law grows with
the motion, noise of the excitation does not."""

_PROBES = 4
_SMALL = 1e-3  # of the excitation
_PRESENT = 0.98  # share of samples that must be there
_SHORTEST = 200  # samples


@dataclass(frozen=True)
class InputNoise:
    """Noise of the excitation in the first record.

    Fields
        share: of the excitation.
        nats: gain of log-likelihood over noise that every channel has by itself.
        root: (frequencies, ny, ny), which whitens the spectra of the readings.
    """

    share: float
    nats: float
    root: np.ndarray

    def whitened(self, signals: np.ndarray) -> np.ndarray:
        """(nt, ny, …) as independent numbers of the same size, (numbers, …)."""
        spectra = np.einsum("fij,fj...->fi...", self.root, np.fft.rfft(signals, axis=0)[1:])
        flat = spectra.reshape(-1, *signals.shape[2:])
        return np.concatenate([flat.real, flat.imag])

    def finding(self) -> Finding:
        said = (
            f"What is left over is the response to noise of the measured excitation, about {100 * self.share:.2g} % of "
            "it: the intervals do not hold. Fit again with the method 'noisy-input' (`fit.repair()`, `--repair`), "
            "which takes longer."
        )
        return Finding(NAME, WRONG, said, "", 1.0, {"share": self.share, "nats": self.nats})


def noise_of_inputs(fit: Identification) -> InputNoise | None:
    """The noise of the measured excitation; None where the readings do not tell of it."""
    problem = fit.problem
    if not applies(problem):
        return None
    here = around(fit)
    noise = noise_at(here)
    if noise.is_white:
        return None
    data = problem.data[0]
    spectra = np.fft.rfft(here.residuals[0], axis=0)[1:] / np.sqrt(data.samples)
    transfer = _transfer(problem, fit.free)[1:] * input_size(problem)
    value, sizes = _fitted(spectra, transfer, fit.noise)
    own = _of_channels(noise, here)
    if value + 0.5 * np.log(data.samples) > own - CLEARLY:
        return None
    matrices = _matrix(np.log(sizes), np.einsum("fim,fjm->fij", transfer, transfer.conj()))
    values, vectors = np.linalg.eigh(matrices)
    root = (vectors / np.sqrt(values)[:, None, :]) @ vectors.conj().swapaxes(1, 2)
    return InputNoise(float(sizes[-1]), float(own - value), root) if _is_steady(here, root) else None


def applies(problem: Problem) -> bool:
    """Whether a problem can be asked for noise of its excitation."""
    data = problem.data[0]
    present = np.asarray(data.present).mean()
    inputs = data.drive.samples.shape[1]
    return bool(inputs and data.samples >= _SHORTEST and present >= _PRESENT and not problem.delays)


def _transfer(problem: Problem, free: np.ndarray) -> np.ndarray:
    """(frequencies, ny, inputs) from the excitation to the readings of the first record."""
    data, rng = problem.data[0], np.random.default_rng(0)
    inputs, size = np.asarray(data.drive.samples), _SMALL * input_size(problem)
    plain = np.asarray(predict(problem, jnp.asarray(free), 0))
    columns = []
    for j in range(inputs.shape[1]):
        product, power = np.zeros(0, complex), np.zeros(0)
        for _ in range(_PROBES):
            added = size[j] * rng.standard_normal(len(inputs))
            changed = inputs.copy()
            changed[:, j] += added
            moved = dataclasses.replace(data, drive=drive(changed, problem.hold, problem.substeps))
            probed = dataclasses.replace(problem, data=(moved, *problem.data[1:]))
            response = np.asarray(predict(probed, jnp.asarray(free), 0)) - plain
            into = np.fft.rfft(added)
            made = np.fft.rfft(response, axis=0) * into.conj()[:, None]
            product = product + made if product.size else made
            power = power + np.abs(into) ** 2 if power.size else np.abs(into) ** 2
        columns.append(product / power[:, None])
    return np.stack(columns, axis=2)


def _fitted(spectra: np.ndarray, transfer: np.ndarray, noise: np.ndarray) -> tuple[float, np.ndarray]:
    """Least negative log-likelihood with noise of the excitation, and the sizes of the noises: of every reading, and of
    the excitation as a share of it."""
    shared = np.einsum("fim,fjm->fij", transfer, transfer.conj())

    def value(logs):
        return _unlikelihood(spectra, _matrix(logs, shared))

    def both(logs):
        return _unlikelihood_and_slope(spectra, transfer, logs, _matrix(logs, shared))

    starts = [np.log([*(part * noise), share]) for part, share in ((0.9, 3e-3), (0.6, 2e-2), (0.3, 1e-1))]
    first = min(starts, key=value)
    limits = [(np.log(1e-3 * n), np.log(1.5 * n)) for n in noise] + [(np.log(LEAST), 0.0)]
    found = scipy.optimize.minimize(both, first, method="L-BFGS-B", bounds=limits, jac=True)
    return float(found.fun), np.exp(found.x)


def _matrix(logs: np.ndarray, shared: np.ndarray) -> np.ndarray:
    return np.diag(np.exp(2 * logs[:-1])) + np.exp(2 * logs[-1]) * shared


def _unlikelihood(spectra: np.ndarray, matrices: np.ndarray) -> float:
    """Whittle's likelihood: the spectra of different frequencies are independent."""
    root = np.linalg.cholesky(matrices)
    size = 2.0 * np.sum(np.log(np.diagonal(root, axis1=1, axis2=2).real))
    return float(size + np.sum(np.abs(np.linalg.solve(root, spectra[:, :, None])) ** 2))


def _unlikelihood_and_slope(spectra, transfer, logs: np.ndarray, matrices: np.ndarray) -> tuple[float, np.ndarray]:
    """Whittle's likelihood with its derivatives by the logarithms of the sizes."""
    inverse = np.linalg.inv(matrices)
    solved = np.einsum("fij,fj->fi", inverse, spectra)
    value = np.sum(np.linalg.slogdet(matrices)[1]) + np.sum((spectra.conj() * solved).real)
    own = np.sum(np.diagonal(inverse, axis1=1, axis2=2).real - np.abs(solved) ** 2, axis=0)
    through = np.sum((transfer.conj() * (inverse @ transfer)).real)
    common = through - np.sum(np.abs(np.einsum("fim,fi->fm", transfer.conj(), solved)) ** 2)
    return float(value), 2.0 * np.exp(2.0 * logs) * np.append(own, common)


def _of_channels(noise: NoiseModel, here: LinearReadings) -> float:
    """Negative log-likelihood of noise that every channel has by itself, with a penalty for its parameters."""
    residuals = here.residuals[0]
    samples, count = residuals.shape
    longest = max(len(c.exact) for c in noise.channels)
    left = np.stack(
        [scipy.signal.lfilter(c.exact, [1.0], residuals[:, i])[longest - 1 :] for i, c in enumerate(noise.channels)]
    )
    together = left @ left.T / left.shape[1]
    parameters = sum(len(c.exact) - 1 for c in noise.channels)
    if noise.mixing is None:
        together = np.diag(np.diag(together))
    else:
        parameters += count * (count - 1) // 2
    return 0.5 * samples * (float(np.linalg.slogdet(together)[1]) + count) + 0.5 * np.log(samples) * parameters


def _is_steady(here: LinearReadings, root: np.ndarray) -> bool:
    """Whether the whitened residuals are as large where the motion is weak as where it is strong."""
    spectra = np.fft.rfft(here.residuals[0], axis=0)
    spectra[0] = 0.0
    spectra[1:] = np.einsum("fij,fj->fi", root, spectra[1:])
    white = np.sum(np.fft.irfft(spectra, len(here.residuals[0]), axis=0) ** 2, axis=1)
    motion = np.sum((here.predictions[0] / (here.predictions[0].std(axis=0) + 1e-300)) ** 2, axis=1)
    width = max(len(motion) // 50, 5)
    envelope = np.convolve(motion, np.ones(width) / width, "same")
    strong = envelope > np.median(envelope)
    return bool(white[strong].mean() < STEADY * white[~strong].mean())
