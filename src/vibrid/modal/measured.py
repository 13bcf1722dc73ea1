"""Measured modes: what operational and experimental modal analysis return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from vibrid.core.arguments import Numbers, checked
from vibrid.core.attached import attached
from vibrid.core.errors import InputError, unknown_name
from vibrid.records.record import Channel
from vibrid.structures.modes import Modes

if TYPE_CHECKING:
    from pathlib import Path

    from vibrid.modal.spectra import SingularValues


@dataclass(frozen=True, eq=False)
class StabilisationDiagram:
    """The poles of all model orders, as automatic selection sorted them.

    Fields
        order, frequency, ratio: (poles,) of each.
        kind: (poles,) 0 spurious, 1 stable, 2 in the cluster of a mode.
        mode: (poles,) number of that mode from 0, −1 where there is none.
    """

    order: np.ndarray
    frequency: np.ndarray
    ratio: np.ndarray
    kind: np.ndarray
    mode: np.ndarray


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredModes(Modes):
    """Modes found in measurements; printing them gives a table.

    Fields, beside those of `Modes`
        shapes: (channels, k) displacements, the complex shapes turned to be as real as possible; unit length.
        channels: the channels that were used, in the order of the rows of shapes.
        method: that found them.
        frequency_deviations: (k,) Hz, standard deviations; NaN where none is known.
        ratio_deviations: (k,) standard deviations of the damping ratios.
        shape_deviations: (channels, k) standard deviations of `shapes`.
        covariances: (k, 2 + channels, 2 + channels) of frequency, ratio and shape of each mode; None: not known.
        independent: pieces of the record from which covariances were estimated; 0 where they were given.
        diagram: poles of all orders, where the method has them.
        spectra: singular values of the spectra, where they were computed.
        notes: messages: what was done, and what may be wrong.
    """

    channels: tuple[Channel, ...]
    method: str
    frequency_deviations: np.ndarray
    ratio_deviations: np.ndarray
    shape_deviations: np.ndarray
    covariances: np.ndarray | None = None
    independent: int = 0
    diagram: StabilisationDiagram | None = None
    spectra: SingularValues | None = None
    notes: tuple[str, ...] = ()

    @property
    def places(self) -> tuple[str, ...]:
        return tuple(str(channel.location) or channel.name for channel in self.channels)

    def at(self, place: str) -> np.ndarray:
        places = self.places
        if place not in places:
            raise unknown_name("measured place", place, places)
        return self.shapes[places.index(place)]

    def only(self, chosen: Sequence[int] | np.ndarray) -> MeasuredModes:
        """Some of the modes, by their numbers from 0; without the diagram, which shows all of them."""
        index = np.asarray(chosen, int)
        return replace(
            self,
            frequencies=self.frequencies[index],
            ratios=self.ratios[index],
            shapes=self.shapes[:, index],
            poles=self.poles[index],
            complex_shapes=None if self.complex_shapes is None else self.complex_shapes[:, index],
            frequency_deviations=self.frequency_deviations[index],
            ratio_deviations=self.ratio_deviations[index],
            shape_deviations=self.shape_deviations[:, index],
            covariances=None if self.covariances is None else self.covariances[index],
            diagram=None,
        )

    @property
    def phase_collinearity(self) -> np.ndarray:
        """(k,) modal phase collinearity: 1 where all channels move in phase or opposite, 0 for a travelling wave."""
        return phase_collinearity(self.shapes if self.complex_shapes is None else self.complex_shapes)

    def table(self) -> list[dict[str, Any]]:
        """One row per mode: frequency, damping ratio, their standard deviations, phase collinearity."""
        columns = zip(
            self.frequencies, self.frequency_deviations, self.ratios, self.ratio_deviations, self.phase_collinearity,
            strict=True,
        )  # fmt: skip
        return [
            {
                "mode": i,
                "frequency": float(f),
                "frequency_deviation": float(df),
                "damping_ratio": float(z),
                "damping_deviation": float(dz),
                "phase_collinearity": float(c),
            }
            for i, (f, df, z, dz, c) in enumerate(columns, 1)
        ]

    def __repr__(self) -> str:
        lines = [
            f"{len(self)} modes from {len(self.channels)} channels by {self.method}",
            "mode   frequency        ± 2σ     damping        ± 2σ   collinearity",
            "              Hz          Hz           %           %",
        ]
        lines += [
            f"{r['mode']:4d} {r['frequency']:11.5g} {_twice(r['frequency_deviation'])} "
            f"{100 * r['damping_ratio']:11.4g} {_twice(100 * r['damping_deviation'])} {r['phase_collinearity']:14.4f}"
            for r in self.table()
        ]
        return "\n".join([*lines, *self.notes])

    @attached
    def report(self, path: Path | str, **keywords: Any) -> Path:
        """Write a self-contained HTML page: table, stabilisation diagram, spectra, shapes; returns its path."""
        ...


def _twice(deviation: float) -> str:
    return f"{2 * deviation:11.3g}" if np.isfinite(deviation) else f"{'–':>11}"


@checked
def measured_modes(
    frequencies: Numbers,
    shapes: Numbers,
    places: Sequence[str | int],
    *,
    ratios: Numbers | None = None,
    frequency_deviations: Numbers | None = None,
    shape_deviations: Numbers | None = None,
) -> MeasuredModes:
    """Modes from a table, such as that of another program or a report, to be compared, drawn or used by `ModalFit`.

    Arguments
        frequencies: (k,) Hz.
        shapes: (places, k), real, of any scale.
        places: the structure's names of the rows of `shapes`.
        ratios: (k,) share of critical damping; unknown by default.
        frequency_deviations: (k,) Hz, or one for all.
        shape_deviations: (places, k), or one for all, of shapes whose length is 1.
    """
    f, phi = np.atleast_1d(np.asarray(frequencies, float)), np.atleast_2d(np.asarray(shapes, float))
    k, n = f.size, len(places)
    if f.ndim != 1 or phi.shape != (n, k):
        raise InputError(f"{k} modes at {n} places need shapes of {n} rows and {k} columns, not {phi.shape}.")
    if not (f > 0).all() or not np.linalg.norm(phi, axis=0).all():
        raise InputError("Frequencies of measured modes are positive, in Hz, and no shape is zero everywhere.")
    order = np.argsort(f)
    zeta = _spread(ratios, (k,), "ratios", order)
    df = _spread(frequency_deviations, (k,), "frequency_deviations", order)
    dphi = _spread(shape_deviations, (n, k), "shape_deviations", order)
    if (df <= 0).any() or (dphi <= 0).any():
        raise InputError("Standard deviations of frequencies and shapes are positive.")
    f, phi = f[order], phi[:, order] / np.linalg.norm(phi[:, order], axis=0)
    covariances = None
    if np.isfinite(df).all() and np.isfinite(dphi).all():
        covariances = np.zeros((k, 2 + n, 2 + n))
        covariances[:, 0, 0] = df**2
        for i in range(k):
            covariances[i, 2:, 2:] = _across(phi[:, i]) @ np.diag(dphi[:, i] ** 2) @ _across(phi[:, i])
    used = np.where(np.isfinite(zeta), zeta, 0.0)
    return MeasuredModes(
        frequencies=f,
        ratios=zeta,
        shapes=phi,
        poles=2 * np.pi * f * (-used + 1j * np.sqrt(1 - used**2)),
        complex_shapes=None,
        channels=tuple(Channel(f"place {p}", "displacement", location=p) for p in places),
        method="a table",
        frequency_deviations=df,
        ratio_deviations=np.full(k, np.nan),
        shape_deviations=dphi,
        covariances=covariances,
    )


def _across(shape: np.ndarray) -> np.ndarray:
    """The projection on what is orthogonal to a shape of unit length: its length carries no information."""
    return np.eye(len(shape)) - np.outer(shape, shape)


def _spread(values, shape: tuple[int, ...], name: str, order: np.ndarray) -> np.ndarray:
    """The given numbers in a shape, modes (the last axis) in order; NaN where none were given."""
    given = np.asarray(np.nan if values is None else values, float)
    try:
        return np.broadcast_to(given, shape)[..., order].copy()
    except ValueError:
        raise InputError(f"'{name}' is one number, or of shape {shape}, not {given.shape}.") from None


def as_real(shapes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Complex shapes (n, k) of unit length, turned to be as real as possible and the largest entry positive; factors.

    The turn makes Σφ² real and positive: the sum of squares of the real parts is then the largest.
    """
    turn = np.exp(-0.5j * np.angle(np.sum(shapes**2, axis=0)))
    turned = shapes * turn
    largest = np.abs(np.real(turned)).argmax(axis=0)
    sign = np.where(np.real(turned)[largest, np.arange(shapes.shape[1])] < 0, -1.0, 1.0)
    factor = turn * sign / np.linalg.norm(shapes, axis=0)
    return shapes * factor, factor


def phase_collinearity(shapes: np.ndarray) -> np.ndarray:
    """(k,) modal phase collinearity of shapes (n, k): how much longer the ellipse of their entries is than wide."""
    x, y = np.real(shapes), np.imag(shapes)
    sxx, syy, sxy = np.sum(x * x, axis=0), np.sum(y * y, axis=0), np.sum(x * y, axis=0)
    total = np.where(sxx + syy > 0, sxx + syy, np.inf)
    return ((sxx - syy) ** 2 + 4 * sxy**2) / total**2
