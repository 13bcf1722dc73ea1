"""What a result file holds of a fit to measured modes: the modes, and the matrices of its residuals."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import InputError
from vibrid.identification.archive_formats import Arrays
from vibrid.identification.modal_problem import ModalProblem
from vibrid.identification.modal_result import ModalIdentification
from vibrid.identification.result import Identification
from vibrid.modal.measured import MeasuredModes
from vibrid.records.record import Channel

_REAL = (
    "frequencies", "ratios", "shapes", "frequency_deviations", "ratio_deviations", "shape_deviations", "covariances",
)  # fmt: skip
_ABOUT_CHANNELS = ("name", "quantity", "unit", "location")


def text_of_modes(fit: ModalIdentification) -> dict[str, Any]:
    """The key `modes` of the text: how they were found, and at which channels."""
    measured = _measured(fit)
    channels = [{key: getattr(channel, key) for key in _ABOUT_CHANNELS} for channel in measured.channels]
    about = {"method": measured.method, "independent": measured.independent, "notes": measured.notes}
    return {"modes": {**about, "channels": channels, "independent_residuals": fit.independent_residuals}}


def arrays_of_modes(fit: ModalIdentification) -> Arrays:
    """The datasets `modes/…`; the stabilisation diagram and the spectra are not kept."""
    measured, problem = _measured(fit), fit.problem
    assert isinstance(problem, ModalProblem)
    return {
        **{f"modes/{name}": getattr(measured, name) for name in _REAL},
        "modes/poles": _parts(measured.poles),
        "modes/complex_shapes": None if measured.complex_shapes is None else _parts(measured.complex_shapes),
        "modes/motion": np.asarray(problem.rows),
        "modes/whitening": np.asarray(problem.whitening),
        "modes/misfit": fit.misfit,
    }


def result_of_modes(fit: Identification, text: dict[str, Any], arrays: Mapping[str, Any]) -> ModalIdentification:
    """A result of another file as the fit to modes that it is."""
    about = text["modes"]
    own = {name.removeprefix("modes/"): values for name, values in arrays.items() if name.startswith("modes/")}
    _check(about, own, np.shape(own.get("motion", ()))[-1:])
    numbers: dict[str, Any] = {name: own.get(name) for name in _REAL}
    measured = MeasuredModes(
        **numbers,
        poles=_whole(own["poles"]),
        complex_shapes=_whole(own["complex_shapes"]) if "complex_shapes" in own else None,
        channels=tuple(Channel(**{key: str(channel[key]) for key in _ABOUT_CHANNELS}) for channel in about["channels"]),
        method=about["method"],
        independent=about["independent"],
        notes=tuple(about["notes"]),
    )
    fields = {f.name: getattr(fit.problem, f.name) for f in dataclasses.fields(fit.problem)}
    shapes = measured.shapes / np.linalg.norm(measured.shapes, axis=0)
    problem = ModalProblem(
        **fields,
        rows=jnp.asarray(own["motion"]),
        frequencies=jnp.asarray(measured.frequencies),
        shapes=jnp.asarray(shapes),
        whitening=jnp.asarray(own["whitening"]),
    )
    kept: dict[str, Any] = {f.name: getattr(fit, f.name) for f in dataclasses.fields(fit)}
    kept["problem"] = problem
    return ModalIdentification(
        **kept, measured=measured, misfit=own["misfit"], independent_residuals=about["independent_residuals"]
    )


def _measured(fit: ModalIdentification) -> MeasuredModes:
    assert fit.measured is not None
    return fit.measured


def _parts(values: np.ndarray) -> np.ndarray:
    """Real and imaginary parts, on the last axis."""
    return np.stack([np.real(values), np.imag(values)], axis=-1)


def _whole(parts: np.ndarray) -> np.ndarray:
    return parts[..., 0] + 1j * parts[..., 1]


def _check(about: Any, own: Mapping[str, Any], size: tuple[int, ...]) -> None:
    """Refuse modes whose entries are of another kind or size than each other require."""
    wrong = InputError(
        "the result is damaged or incomplete: its 'modes' are not of the kind or size that they must have."
    )
    kinds = {"method": str, "independent": int, "notes": list, "channels": list, "independent_residuals": int}
    if not isinstance(about, dict) or not all(isinstance(about.get(key), kind) for key, kind in kinds.items()):
        raise wrong
    told = all(
        isinstance(c, dict) and all(isinstance(c.get(k), str) for k in _ABOUT_CHANNELS) for c in about["channels"]
    )
    if not told or not all(isinstance(note, str) for note in about["notes"]):
        raise wrong
    k, l = np.size(own.get("frequencies", ())), len(about["channels"])
    sizes = {
        "frequencies": (k,), "ratios": (k,), "frequency_deviations": (k,), "ratio_deviations": (k,), "misfit": (k,),
        "shapes": (l, k), "shape_deviations": (l, k), "poles": (k, 2), "motion": (l, *size),
        "whitening": (k, 1 + l, 1 + l),
    }  # fmt: skip
    optional = {"covariances": (k, 2 + l, 2 + l), "complex_shapes": (l, k, 2)}
    sizes |= {name: shape for name, shape in optional.items() if name in own}
    if not k or not size or any(np.shape(own.get(name, ())) != shape for name, shape in sizes.items()):
        raise wrong
    if any(np.asarray(own[name]).dtype.kind != "f" for name in sizes):
        raise wrong
