"""Frequency response functions of measured excitations (H1, H2, coherence), and the modes that fit them (LSCF)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError
from vibrid.core.linalg import one_blas_thread
from vibrid.modal.channels import Motions, chosen_channels, motions_of
from vibrid.modal.jackknife import groups_of, jackknife, without_each
from vibrid.modal.measured import MeasuredModes, as_real
from vibrid.modal.realisation import OrderModes
from vibrid.modal.selection import Selection, select_modes
from vibrid.modal.spectra import cross_spectra, pieces_of, spectra_of_groups
from vibrid.modal.ssi import selected_modes
from vibrid.records.record import Channel, Record

_EXCITES = ("load", "ground_acceleration")
_LOST = 0.1  # of a frequency: a pole that moves farther without a group is another one


@dataclass(frozen=True, eq=False)
class FrequencyResponse:
    """Frequency response functions from measured excitations to measured motions.

    Fields
        frequencies: (f,) Hz.
        values: (f, outputs, inputs) complex, unit of an output over that of an input.
        coherence: (f, outputs) multiple coherence: share of the power of an output that the inputs explain; None where
            it is not known.
        inputs, outputs: their channels.
        estimator: "H1" or "H2"; "" where it is not known.
        motions: the samples of inputs and outputs, in this order; None for functions of a file.
        without: (groups, f, outputs, inputs) the same without one group of pieces of the records each, for standard
            deviations; None where there are too few, or none are known.
    """

    frequencies: np.ndarray
    values: np.ndarray
    coherence: np.ndarray | None
    inputs: tuple[Channel, ...]
    outputs: tuple[Channel, ...]
    estimator: str
    motions: Motions | None = None
    without: np.ndarray | None = None


@checked
def frequency_response(
    data: Record | list[Record],
    *,
    inputs: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    estimator: str = "H1",
    length: int | None = None,
) -> FrequencyResponse:
    """Frequency response functions by averaged spectra (Welch, Hann, half overlap).

    Arguments
        data: one record, or several of the same channels, with measured excitation.
        inputs: channels of the excitation; all loads and ground accelerations by default.
        outputs: channels of the response; all measured motions by default.
        estimator: "H1" = S_yx / S_xx, right where the outputs are noisy; "H2" = S_yy / S_xy, right where the (one)
            input is.
        length: samples of each piece; a twentieth of the record, 256 to 8192, by default.
    """
    first = data if isinstance(data, Record) else (data[0] if data else None)
    if first is None:
        raise InputError("A frequency response needs a record.")
    if estimator not in ("H1", "H2"):
        raise InputError(f"The estimators are H1 and H2, not '{estimator}'.")
    driving = [c.name for c in first.channels if c.quantity in _EXCITES] if inputs is None else list(inputs)
    if not driving:
        raise InputError(
            f"Record '{first.name}' has no measured excitation (a load or a ground acceleration): name its channels "
            "with inputs=[…], or use `ssi`, which needs none."
        )
    if estimator == "H2" and len(driving) > 1:
        raise InputError("H2 is for one input; with several of them use H1.")
    taken = [name for name in chosen_channels(first, outputs) if name not in driving]
    if not taken:
        raise InputError(f"Record '{first.name}' has no channel of motion beside its excitation.")
    motions = motions_of(data, [*driving, *taken], inputs=len(driving))
    longest = max(map(len, motions.parts))
    size = min(longest, length or max(256, min(8192, 2 ** int(np.log2(max(longest / 20, 2))))))
    frequencies, spectra, averages, _ = cross_spectra(motions, size)
    r = len(driving)
    if averages < r + 1:
        raise InputError(f"{r} inputs need more than {averages:.1f} averaged pieces: take a smaller length.")
    keep = slice(1, None)
    powers = np.einsum("fii->fi", spectra[keep, r:, r:]).real
    values = _estimated(spectra[keep, :, :r], powers, estimator)
    syx, h1 = spectra[keep, r:, :r], _estimated(spectra[keep, :, :r], powers, "H1")
    coherence = np.einsum("foi,foi->fo", h1, syx.conj()).real / np.where(powers > 0, powers, np.inf)
    split = tuple(motions.channels[:r]), tuple(motions.channels[r:])
    left = _without(motions, size, r, estimator)
    return FrequencyResponse(frequencies[keep], values, coherence, *split, estimator, motions, left)


def _estimated(spectra: np.ndarray, powers: np.ndarray, estimator: str) -> np.ndarray:
    """(…, f, outputs, inputs) from the spectra (…, f, channels, inputs) of all channels with the inputs, which come
    first, and the powers (…, f, outputs) of the outputs."""
    r = spectra.shape[-1]
    sxx, syx = spectra[..., :r, :], spectra[..., r:, :]
    if estimator == "H2":
        return powers[..., None] / np.where(syx == 0, np.inf, syx.conj())
    return np.swapaxes(np.linalg.solve(np.swapaxes(sxx, -1, -2), np.swapaxes(syx, -1, -2)), -1, -2)


def _without(motions: Motions, length: int, inputs: int, estimator: str) -> np.ndarray | None:
    """The responses without one group of pieces each; None where the pieces are too few."""
    groups = groups_of(pieces_of(motions, length))
    if groups <= inputs:
        return None
    columns = inputs if estimator == "H1" else None
    means = without_each(*spectra_of_groups(motions, length, groups, slice(1, None), columns))
    powers = np.zeros((*means.shape[:2], 0)) if columns else np.einsum("gfii->gfi", means).real[..., inputs:]
    return _estimated(means[..., :inputs], powers, estimator)


@checked
def frf(
    data: Record | list[Record] | FrequencyResponse,
    *,
    band: tuple[float, float] | None = None,
    order: int | None = None,
) -> MeasuredModes:
    """Modes from frequency response functions: rational fractions with one denominator, fitted by least squares.

    The polynomials are those of e^{jωΔt} (LSCF; P. Guillaume et al., 1998), for rising orders; modes are selected over
    these as in `ssi`, with the residues as shapes. Standard deviations are from leaving out parts of the records in
    turn; functions of a file have none.

    Arguments
        data: records with measured excitation, or `frequency_response(…)`.
        band: (low, high) Hz that is fitted; all of it by default.
        order: the highest order of the denominator; 40 by default.
    """
    response = data if isinstance(data, FrequencyResponse) else frequency_response(data)
    top = 40 if order is None else order
    low, high = (response.frequencies[0], response.frequencies[-1]) if band is None else band
    inside = (response.frequencies >= low) & (response.frequencies <= high)
    if not 4 <= top <= inside.sum() // 2:
        raise InputError(
            f"{int(inside.sum())} lines in {low:g}–{high:g} Hz allow orders from 4 to {inside.sum() // 2}."
        )
    if len(response.outputs) < 2:
        raise InputError("Modal analysis needs at least 2 channels of motion: one channel shows no shape.")
    f = response.frequencies[inside]
    values = response.values[inside].reshape(len(f), -1)  # (lines, outputs · inputs)
    step = 0.5 / (f[-1] - f[0] + f[1] - f[0])  # the band is half a turn of e^{jωΔt}
    with one_blas_thread():
        models = _models(f, values, step, range(2, top + 1, 2), len(response.outputs))
        selection = select_modes(models)
        if not selection.chosen:
            raise InputError(
                "No mode was found in the frequency response: nothing stays the same over the model orders."
            )
        outputs = _outputs(response)
        covariances, pieces = None, 0
        if response.without is not None:
            pieces = len(response.without)
            every = response.without[:, inside].reshape(len(response.without), len(f), -1)
            covariances = _covariances(f, every, step, models, selection, outputs)
        own = {"covariances": covariances, "method": "LSCF"}
        return selected_modes(outputs, None, models, selection, None, pieces, (), **own)


def _outputs(response: FrequencyResponse) -> Motions:
    """The measured motions; of functions of a file their channels alone."""
    if response.motions is not None:
        return response.motions.without(len(response.inputs))
    return Motions((), response.outputs, 0.5 / response.frequencies[-1], ())


def _covariances(f, every: np.ndarray, step: float, models, selection: Selection, outputs: Motions) -> np.ndarray:
    """Covariances of the modes selected, from responses (groups, lines, outputs · inputs) without one group each."""
    l, k = len(outputs.channels), len(selection.chosen)
    own = np.array([models[m].poles[i] for m, i in selection.chosen])
    orders = sorted({models[m].order for m, _ in selection.chosen})
    poles, shapes = np.full((len(every), k), np.nan + 0j), np.full((len(every), l, k), np.nan + 0j)
    for g, values in enumerate(every):
        found = {made.order: made for made in _models(f, values, step, orders, l)}
        for j, (m, _) in enumerate(selection.chosen):
            there = found[models[m].order]
            if not len(there.poles):
                continue
            nearest = int(np.abs(there.poles - own[j]).argmin())
            if np.abs(there.poles[nearest] - own[j]) < _LOST * np.abs(own[j]):
                poles[g, j], shapes[g, :, j] = there.poles[nearest], there.shapes[:, nearest]
    turned = np.stack([outputs.as_displacements(own, shape) for shape in shapes])
    raw = np.stack([models[m].shapes[:, i] for m, i in selection.chosen], axis=1)
    return jackknife(as_real(outputs.as_displacements(own, raw))[0], poles, turned)


def _models(f: np.ndarray, values: np.ndarray, step: float, orders: Iterable[int], outputs: int) -> list[OrderModes]:
    """The modes of denominators of these orders, in the band that begins at f₀, turned to begin at zero.

    The matrices of the normal equations are Toeplitz: sums over z^{b−a}.
    """
    start, orders = f[0], list(orders)
    top = max(orders)
    z = np.exp(2j * np.pi * (f - start)[:, None] * step * np.arange(-top, top + 1))  # (lines, 2 top + 1)
    apart = top + np.arange(top + 1) - np.arange(top + 1)[:, None]  # b − a
    r, s, t = z.sum(axis=0).real[apart], -(values.T @ z).real[:, apart], (np.abs(values) ** 2).sum(axis=1)
    t = (t @ z).real[apart]
    models = []
    for n in orders:
        q = slice(0, n + 1)
        own = s[:, q, q]
        solved = np.linalg.solve(r[q, q], own.transpose(1, 0, 2).reshape(n + 1, -1)).reshape(n + 1, len(s), n + 1)
        m = t[q, q] - np.tensordot(own, solved, axes=((0, 1), (1, 0)))
        rest = np.linalg.lstsq(m[1:, 1:], -m[1:, 0], rcond=None)[0]  # the lowest coefficient is 1: noise is unstable
        roots = np.roots(np.concatenate([[1.0], rest])[::-1])
        poles = np.log(roots[np.abs(roots) > 1e-9]) / step + 2j * np.pi * start
        poles = poles[(np.imag(poles) > 2 * np.pi * f[0]) & (np.imag(poles) < 2 * np.pi * f[-1])]
        models.append(
            OrderModes(n, np.arange(len(poles)), poles, np.zeros((0, 0)), poles, _shapes(f, values, poles, outputs))
        )
    return models


def _shapes(f: np.ndarray, values: np.ndarray, poles: np.ndarray, outputs: int) -> np.ndarray:
    """(outputs, k): residues of the poles by least squares, of the best input; modes beyond the band as a rest."""
    if not len(poles):
        return np.zeros((outputs, 0), complex)
    s = 2j * np.pi * f
    one = 1.0 / (s[:, None] - poles)
    two = 1.0 / (s[:, None] - poles.conj())
    # r/(s − μ) + r̄/(s − μ̄) is linear in the real and the imaginary part of r
    rest = np.stack([np.ones(len(f)), s**2], axis=1)  # of modes above and below the band, in accelerations
    columns = np.concatenate([one + two, 1j * (one - two), rest], axis=1)
    scale = np.linalg.norm(columns, axis=0)
    stacked = np.concatenate([(columns / scale).real, (columns / scale).imag])
    found = np.linalg.lstsq(stacked, np.concatenate([np.real(values), np.imag(values)]), rcond=None)[0] / scale[:, None]
    k = len(poles)
    residues = (found[:k] + 1j * found[k : 2 * k]).reshape(k, outputs, -1)
    best = np.abs(residues).sum(axis=1).argmax(axis=1)
    return residues[np.arange(k), :, best].T
