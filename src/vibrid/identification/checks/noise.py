"""The noise of the readings as it is: a memory, a size that changes, heavy tails, and what channels share.

A model of it is made from the residuals of a fit, channel by channel. The size is constant, or grows with the predicted
signal, or changes with time (bursts); a filter makes what is left independent from sample to sample; rare large values
get less weight (Student's t). The parts are chosen by their likelihood with a penalty for their number of parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import scipy

MOST = 30
"""Longest memory of a filter, in samples."""

FLOOR = 1e-2
"""The spectrum of a model is not below this share of its mean: an empty band is not trusted."""

SPOILT = 0.2
"""Share of innovations that missing samples may spoil; with more, no memory is modelled."""

_WIDTHS = (10, 25, 60)  # samples over which a size that changes with time is averaged
_GROWTH = 10.0 ** np.linspace(-2, 3, 11)  # share of noise that grows with the signal, to be tried
_TAILS = [(degrees, spread) for degrees in (2.0, 3.0, 5.0, 8.0) for spread in (0.4, 0.6, 0.75, 0.9)]
_SURELY = 1.5  # times what autocovariances explain, if that is still too little for any order
_FEW, _MANY = 2, 8  # orders; with more than the last it is asked first how many are worth trying
_AT_ONCE = 2_000_000  # numbers of several versions of the residuals at once
_LONG = 40  # samples of the filter with a floor


@dataclass(frozen=True)
class ChannelNoise:
    """The noise of one channel.

    Fields
        kind: "constant", "signal" (grows with the predicted signal) or "time" (changes with time).
        scale: its size at every sample, of every record.
        filter: 1, −a₁, −a₂, …: what remains is independent from sample to sample.
        exact: the same filter without the floor under the spectrum.
        degrees: degrees of freedom of Student's t; infinite for a normal distribution.
        weights: of every innovation; zero where a missing sample spoils it.
        efficiency: expected curvature of the weighted misfit over that of plain squares.
        step: s between samples.
    """

    kind: str
    scale: tuple[np.ndarray, ...]
    filter: np.ndarray
    exact: np.ndarray
    degrees: float
    weights: tuple[np.ndarray, ...]
    efficiency: float
    step: float

    @property
    def is_white(self) -> bool:
        """Whether it is as assumed by default: independent, of constant size, normal."""
        return self.kind == "constant" and len(self.filter) == 1 and np.isinf(self.degrees)

    @property
    def memory(self) -> float:
        """s after which the autocorrelation of the noise stays below 0.1."""
        covariance = np.fft.irfft(_spectrum(self.filter))
        far = np.flatnonzero(np.abs(covariance[: len(covariance) // 2]) > 0.1 * covariance[0])
        return self.step * float(far[-1] + 1) if len(self.filter) > 1 else 0.0

    def whitened(self, record: int, values: np.ndarray) -> np.ndarray:
        """(nt, …) of one record, divided by the size and filtered; weighted."""
        wide = (slice(None),) + (None,) * (values.ndim - 1)
        filtered = _filtered(self.filter, values / self.scale[record][wide])
        return filtered * self.weights[record][wide]

    def left_over(self, points: int = 4096) -> np.ndarray:
        """Spectrum of the whitened noise, of mean 1: not quite white where the floor counts."""
        power = (np.abs(np.fft.rfft(self.filter, points)) / np.abs(np.fft.rfft(self.exact, points))) ** 2
        return power / power.mean()

    def coloured(self, values: np.ndarray) -> np.ndarray:
        """(nt, …) with the spectrum that the whitened noise has: it is not white where the floor counts."""
        if self.filter is self.exact:
            return values
        samples = len(values)
        points = 2 * int(scipy.fft.next_fast_len(samples) or samples)
        gain = np.sqrt(self.left_over(points)).reshape(-1, *(1,) * (values.ndim - 1))
        return np.fft.irfft(gain * np.fft.rfft(values, points, axis=0), points, axis=0)[:samples]


@dataclass(frozen=True)
class NoiseModel:
    """The noise of all channels; `mixing` (ny, ny) makes innovations of channels independent, None where they are."""

    channels: tuple[ChannelNoise, ...]
    mixing: np.ndarray | None = None

    @property
    def is_white(self) -> bool:
        return self.mixing is None and all(channel.is_white for channel in self.channels)

    @property
    def efficiency(self) -> float:
        return float(np.mean([channel.efficiency for channel in self.channels]))

    def whitened(self, record: int, values: np.ndarray) -> np.ndarray:
        """(nt, ny, …) of one record as independent readings of unit size."""
        made = np.stack([c.whitened(record, values[:, i]) for i, c in enumerate(self.channels)], axis=1)
        return made if self.mixing is None else np.einsum("ij,tj...->ti...", self.mixing, made)


def white_noise(deviations: np.ndarray, present: Sequence[np.ndarray], step: float) -> NoiseModel:
    """Independent noise of constant size, as a fit assumes it by default."""
    channels, one = [], np.ones(1)
    for c, size in enumerate(deviations):
        keep = [np.asarray(part)[:, c] > 0 for part in present]
        scale = tuple(np.full(len(k), size) for k in keep)
        weights = tuple(k.astype(float) for k in keep)
        channels.append(ChannelNoise("constant", scale, one, one, np.inf, weights, 1.0, step))
    return NoiseModel(tuple(channels))


def noise_model(
    residuals: Sequence[np.ndarray],
    predictions: Sequence[np.ndarray],
    present: Sequence[np.ndarray],
    steps: Sequence[float],
) -> NoiseModel:
    """A model of the noise from residuals (nt, ny) of every record, zero where a sample is missing."""
    parts = range(residuals[0].shape[1])
    channels, innovations = [], []
    for c in parts:
        column = [[np.asarray(a)[:, c] for a in arrays] for arrays in (residuals, predictions, present)]
        channels.append(_channel_noise(*column, step=steps[0]))
        innovations.append(np.concatenate([channels[c].whitened(i, r) for i, r in enumerate(column[0])]))
    mixing, together = None, np.array(innovations)
    if len(channels) > 1:
        alike = np.corrcoef(together)
        if np.isfinite(alike).all() and np.abs(alike - np.eye(len(alike))).max() > 3.5 / np.sqrt(together.shape[1]):
            mixing = np.linalg.inv(np.linalg.cholesky(alike))
    return NoiseModel(tuple(channels), mixing)


def _channel_noise(residuals, predictions, present, step: float) -> ChannelNoise:
    """The most likely of a few models of one channel."""
    keep = [np.asarray(part, bool) for part in present]
    count = sum(part.sum() for part in keep)
    size = np.sqrt(sum(r @ r for r in residuals) / max(count, 1)) + 1e-300
    longest = MOST if _spoilt(keep, MOST) < SPOILT else 0
    signal = np.sqrt(sum(np.sum(y[k] ** 2) for y, k in zip(predictions, keep, strict=True)) / max(count, 1)) + 1e-300
    constant = ("constant", [np.full(len(r), size) for r in residuals], 0.0)
    found = _offered([constant], residuals, keep, longest, count)
    innovations = [_filtered(found[0].filter, r / size) for r in residuals]
    scouted = min(longest, 2 * len(found[0].filter))  # the memory shows with any size
    offers = []
    for growth in _GROWTH:
        scale = [size * np.sqrt(1.0 + growth * (y / signal) ** 2) for y in predictions]
        offers.append(("signal", scale, 0.5 * np.log(count) + 2.0))
    widths = [width for width in _WIDTHS if min(len(r) for r in residuals) > 6 * width]
    local = [_local(e, k, widths) for e, k in zip(innovations, keep, strict=True)] if widths else []
    offers += [("time", [size * part for part in scale], 3.0 * np.log(count)) for scale in zip(*local, strict=True)]
    together = max(1, int(_AT_ONCE / sum(len(r) for r in residuals)))
    for first in range(0, len(offers), together):
        found += _offered(offers[first : first + together], residuals, keep, scouted, count)
    best = max(found, key=lambda offer: offer.likelihood)
    if best is not found[0]:
        best = _offered([(best.kind, best.scale, 0.0)], residuals, keep, longest, count)[0]
    return _completed(best, residuals, keep, step)


@dataclass(frozen=True)
class _Offer:
    """A size of the noise over time with the memory that is most likely with it."""

    kind: str
    scale: list[np.ndarray]
    filter: np.ndarray
    variance: float
    likelihood: float  # its logarithm, less what the number of parameters costs


def _offered(sizes, residuals, keep, longest: int, count: int) -> list[_Offer]:
    """Every (kind, sizes of the noise, penalty) with its best memory."""
    scaled = [np.stack([r / scale[i] for _, scale, _ in sizes]) for i, r in enumerate(residuals)]
    filters, variances = _memories(scaled, keep, longest)
    found = []
    for (kind, scale, penalty), filter_, variance in zip(sizes, filters, variances, strict=True):
        logarithms = sum(np.sum(np.log(s[k])) for s, k in zip(scale, keep, strict=True))
        parameters = 0.5 * np.log(count) * (len(filter_) - 1)
        likelihood = float(-logarithms - 0.5 * count * np.log(variance) - parameters - penalty)
        found.append(_Offer(kind, scale, filter_, float(variance), likelihood))
    return found


def _completed(offer: _Offer, residuals, keep, step: float) -> ChannelNoise:
    """The model with a given size: its filter with a floor, its innovations of unit size, and their tails."""
    exact, scale = offer.filter, offer.scale
    filter_ = _with_floor(exact, offer.variance) if len(exact) > 1 else exact
    valid = [_valid(k, len(filter_)) for k in keep]
    innovations = [_filtered(filter_, r / s) for r, s in zip(residuals, scale, strict=True)]
    chosen = np.concatenate([e[v] for e, v in zip(innovations, valid, strict=True)])
    unit = np.sqrt(np.mean(chosen**2)) + 1e-300
    degrees, spread = _tails(chosen / unit)
    weights, efficiency = [v.astype(float) for v in valid], 1.0
    if np.isfinite(degrees):
        squares = [(e / unit / spread) ** 2 for e in innovations]
        weights = [v * np.sqrt((degrees + 1) / (degrees + u)) / spread for v, u in zip(valid, squares, strict=True)]
        u = (chosen / unit / spread) ** 2
        curvature = np.mean((degrees + 1) * (degrees - u) / (degrees + u) ** 2)
        efficiency = max(float(curvature / np.mean((degrees + 1) / (degrees + u))), 0.05)
    return ChannelNoise(
        offer.kind, tuple(s * unit for s in scale), filter_, exact, degrees, tuple(weights), efficiency, step
    )


def _filtered(filter_: np.ndarray, values: np.ndarray) -> np.ndarray:
    """(nt, …) filtered along time."""
    if len(filter_) == 1:
        return filter_[0] * values
    return np.asarray(scipy.signal.lfilter(filter_, [1.0], values, axis=0))


def _local(innovations: np.ndarray, keep: np.ndarray, widths: Sequence[int]) -> list[np.ndarray]:
    """Size of the innovations around every sample, itself left out, so that memory does not pass for a burst; averaged
    over so many samples."""
    samples, squares = len(keep), innovations**2
    both = np.stack([np.minimum(squares, np.quantile(squares[keep], 0.995)) * keep, keep])
    points = int(scipy.fft.next_fast_len(samples + 6 * max(widths)) or samples)
    spectra, found = np.fft.rfft(both, points), []
    for width in widths:
        averaged = np.fft.irfft(spectra * _bell(width, points), points)[:, :samples]
        near = averaged[0] / np.maximum(averaged[1], 1e-9)
        found.append(np.sqrt(0.9 * np.maximum(near, 0.0) / near[keep].mean() + 0.1))
    return found


@lru_cache(maxsize=32)
def _bell(width: int, points: int) -> np.ndarray:
    """Spectrum of a normal curve around the sample zero, which is left out."""
    far = np.arange(1, 3 * width + 1)
    curve = np.zeros(points)
    curve[far] = curve[-far] = np.exp(-0.5 * (far / width) ** 2)
    return np.fft.rfft(curve)


def _valid(keep: np.ndarray, length: int) -> np.ndarray:
    """Which innovations have all the samples that a filter needs."""
    if length == 1:
        return keep
    gaps = _filtered(np.ones(length), (~keep).astype(float))
    made = gaps < 0.5
    made[: length - 1] = False
    return made


def _spoilt(keep: Sequence[np.ndarray], length: int) -> float:
    """Share of innovations that missing samples spoil."""
    present = sum(k.sum() for k in keep)
    return 1.0 - sum(_valid(k, length).sum() for k in keep) / max(present, 1)


def _memories(residuals, keep, longest: int) -> tuple[list[np.ndarray], np.ndarray]:
    """The filters of several versions (versions, nt) of all records by Burg's recursion, and the variances of what they
    leave. The order is that of the least n ln(variance) + ln(n) · order."""
    count = sum(k.sum() for k in keep)
    variance = np.sum([_products(r, r) for r in residuals], axis=0) / max(count, 1) + 1e-300
    forward, backward = [r[:, 1:] for r in residuals], [r[:, :-1] for r in residuals]
    polynomials, zero = [np.ones((len(variance), 1))], np.zeros((len(variance), 1))
    least, order_of, left = count * np.log(variance), np.zeros(len(variance), int), variance.copy()
    longest = min(longest, min(r.shape[1] for r in residuals) // 4)
    for order in range(1, (_worth(residuals, count, longest) if longest > _MANY else longest) + 1):
        product = np.sum([_products(f, b) for f, b in zip(forward, backward, strict=True)], axis=0)
        power = np.sum([_products(part, part) for part in (*forward, *backward)], axis=0)
        reflection = (-2.0 * product / (power + 1e-300))[:, None]
        longer = np.concatenate([polynomials[-1], zero], axis=1)
        polynomials.append(longer + reflection * longer[:, ::-1])
        variance = variance * (1.0 - reflection[:, 0] ** 2)
        pairs = [(f + reflection * b, b + reflection * f) for f, b in zip(forward, backward, strict=True)]
        forward, backward = [f[:, 1:] for f, _ in pairs], [b[:, :-1] for _, b in pairs]
        score = count * np.log(np.maximum(variance, 1e-300)) + np.log(max(count, 2)) * order
        better = score < least - 1e-9
        least[better], order_of[better], left[better] = score[better], order, variance[better]
    return [polynomials[order][i] for i, order in enumerate(order_of)], left


def _worth(residuals, count, longest: int) -> int:
    """Orders to be tried by Burg's recursion: all, or two more than twice the few that the equations of Yule and Walker
    choose, which take the autocovariances alone."""
    spectra = [np.fft.rfft(r, 2 * r.shape[1]) for r in residuals]
    covariance = np.sum([np.fft.irfft(np.abs(part) ** 2)[:, : longest + 1] for part in spectra], axis=0)
    left, chosen = covariance[:, 0] + 1e-300, 0
    together = np.cumsum((covariance[:, 1:] / left[:, None]) ** 2, axis=1)
    if np.all(_SURELY * count * together < np.log(max(count, 2)) * np.arange(1, longest + 1)):
        return 2
    polynomial, zero = np.ones((len(left), 1)), np.zeros((len(left), 1))
    least = count * np.log(left)
    for order in range(1, longest + 1):
        reflection = -_products(polynomial, covariance[:, order:0:-1]) / left
        longer = np.concatenate([polynomial, zero], axis=1)
        polynomial = longer + reflection[:, None] * longer[:, ::-1]
        left = left * (1.0 - reflection**2)
        score = count * np.log(np.maximum(left, 1e-300)) + np.log(max(count, 2)) * order
        chosen = order if np.any(score < least) else chosen
        least = np.minimum(score, least)
    return longest if chosen > _FEW else 2 * chosen + 2


def _products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(versions,): sums over time."""
    return np.einsum("vt,vt->v", a, b)


def _spectrum(filter_: np.ndarray, points: int = 2048) -> np.ndarray:
    return 1.0 / np.maximum(np.abs(np.fft.rfft(filter_, 2 * points)) ** 2, 1e-30)  # a pole may lie on the circle


def _with_floor(filter_: np.ndarray, variance: float) -> np.ndarray:
    """The filter of the same noise with a white floor, where its spectrum has an empty band."""
    spectrum = variance * _spectrum(filter_)
    if spectrum.min() >= FLOOR * spectrum.mean():
        return filter_
    covariance = np.fft.irfft(spectrum + FLOOR * spectrum.mean())[: _LONG + 1]
    return np.append(1.0, -scipy.linalg.solve_toeplitz(covariance[:_LONG], covariance[1:]))


def _tails(innovations: np.ndarray) -> tuple[float, float]:
    """Degrees of freedom and spread of Student's t; (∞, 1) where the normal distribution does as well."""
    n, squares = len(innovations), innovations**2
    best = (-0.5 * squares.sum() - 0.5 * n * np.log(2 * np.pi) + 4.0, np.inf, 1.0)
    for degrees, spread in _TAILS:
        ends = scipy.special.gammaln((degrees + 1) / 2) - scipy.special.gammaln(degrees / 2)
        constant = ends - 0.5 * np.log(degrees * np.pi) - np.log(spread)
        likelihood = n * constant - 0.5 * (degrees + 1) * np.sum(np.log1p(squares / spread**2 / degrees))
        if likelihood > best[0]:
            best = (likelihood, degrees, spread)
    return best[1], best[2]
