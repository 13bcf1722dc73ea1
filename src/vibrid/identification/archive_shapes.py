"""Checks of what a result file holds, before anything is built from it: kinds of entries, shapes of arrays, sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from vibrid.core.errors import InputError
from vibrid.identification.archive_layout import entry_of

_KINDS: dict[str, type | tuple[type, ...]] = {
    "structure": dict, "sensors": list, "integrator": dict, "records": list, "unknowns": dict, "fits": list,
    "inseparable": list, "loads": list, "files": list, "inputs": list, "needs": list, "unknown_loads": list,
    "load_deviations": list, "method": str, "settings": dict, "convergence": dict, "warnings": list, "seed": int,
    "seconds": (int, float), "cut_short": bool, "versions": dict, "provenance": list, "hold": str, "substeps": int,
}  # fmt: skip
_TEXTS = ("warnings", "inseparable", "needs", "unknown_loads")
_PER_UNKNOWN = ("names", "units", "places", "kinds", "positive")
_PER_SAMPLE = ("readings", "used", "scored", "predicted", "excitation")
_SQUARE = ("parameters/free_covariance", "limits/information", "limits/correlation")
_TABLES = ("parameters/interval_95", "parameters/samples", "history/estimate", "history/deviation")
_DIMENSIONS = dict.fromkeys((*_SQUARE, *_TABLES), 2)
"""Other arrays of parameters, limits and sensors have one dimension."""
_MOST_SUBSTEPS = 10_000
_MOST_NUMBERS = 100_000_000


def check_shapes(text: dict, arrays: Mapping) -> None:
    """Refuse a result whose entries are of another kind or size than each other require (InputError)."""
    for key, kind in _KINDS.items():
        if key not in text:
            raise InputError(f"the result is damaged or incomplete: '{key}' is missing.")
        if not isinstance(text[key], kind) or (kind is int and isinstance(text[key], bool)):
            raise _wrong(key)
    for key in _TEXTS:
        if not all(isinstance(entry, str) for entry in text[key]):
            raise _wrong(key)
    for key in ("records", "fits", "loads", "files", "checks"):
        entries = text.get(key, [])  # early files have no checks
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise _wrong(key)
    for entry in text.get("checks", []):
        if not all(isinstance(entry.get(key), str) for key in ("name", "verdict", "sentence")):
            raise _wrong("checks")
    unknowns = text["unknowns"]
    if not all(isinstance(unknowns.get(key), list) for key in _PER_UNKNOWN):
        raise _wrong("unknowns")
    counts = {"parameters": len(unknowns["names"]), "sensors": len(text["sensors"])}
    if any(len(unknowns[key]) != counts["parameters"] for key in _PER_UNKNOWN):
        raise _wrong("unknowns")
    for name, values in arrays.items():
        count = counts.get(entry_of(name).columns)
        if count is not None and (not np.ndim(values) or np.shape(values)[-1] != count):
            raise _wrong(name)
    for name, values in arrays.items():
        expected = _DIMENSIONS.get(name, 1 if name.startswith(("parameters/", "limits/", "sensors/")) else None)
        if name.startswith(("parameters/", "limits/")) and (
            np.asarray(values).dtype.kind != "f" or not np.size(values)
        ):
            raise _wrong(name)
        square = name in _SQUARE and np.shape(values) != (counts["parameters"],) * 2
        if square or (expected is not None and np.ndim(values) != expected):
            raise _wrong(name)
    _check_convergence(text["convergence"])
    _check_records(text, arrays)
    _check_loads(text, arrays)
    _check_answers(arrays)


def _check_convergence(convergence: dict) -> None:
    """What `convergence_message` reads of a descent."""
    number = lambda key: isinstance(convergence.get(key), (int, float))  # noqa: E731
    if "projected_gradient" not in convergence:
        return
    held = convergence.get("at_bound")
    names = isinstance(held, list) and all(isinstance(name, str) for name in held)
    if not (number("projected_gradient") and number("gradient_tolerance") and number("converged") and names):
        raise _wrong("convergence")


def _check_records(text: dict, arrays: Mapping) -> None:
    count = len(text["records"])
    if any(int(found[1]) >= count for name in arrays if (found := re.match(r"records/(\d{1,9})/", name))):
        raise _wrong("records")
    substeps = text["substeps"]
    if not 1 <= substeps <= _MOST_SUBSTEPS:
        raise InputError(f"the result states {substeps} substeps; 1 to {_MOST_SUBSTEPS} can be used.")
    for i in range(count):
        shapes = {key: np.shape(arrays[f"records/{i}/{key}"]) for key in _PER_SAMPLE if f"records/{i}/{key}" in arrays}
        if set(shapes) != set(_PER_SAMPLE):
            raise InputError(f"the result is damaged or incomplete: arrays of record {i} are missing.")
        if any(len(shape) != 2 or shape[0] != shapes["readings"][0] for shape in shapes.values()):
            raise _wrong(f"records/{i}")
        inputs = text["records"][i].get("loads")
        if not isinstance(inputs, list) or len(inputs) != shapes["excitation"][1]:
            raise _wrong(f"records/{i}/excitation")
        if 12 * substeps * shapes["excitation"][0] * max(1, len(inputs)) > _MOST_NUMBERS and text["hold"] != "linear":
            raise InputError(f"record {i} of the result needs more than {_MOST_NUMBERS} numbers with its substeps.")


def _check_answers(arrays: Mapping) -> None:
    shapes = {name: np.shape(values) for name, values in arrays.items() if name.startswith("answers/")}
    if not shapes:
        return
    rows, second, count = (
        shapes.get(f"answers/{key}", ()) for key in ("estimate", "standard_deviation", "log_likelihood")
    )
    kinds = {np.asarray(arrays[name]).dtype.kind for name in shapes}
    if len(rows) != 2 or second != rows or count != rows[:1] or kinds != {"f"}:
        raise _wrong("answers")


def _check_loads(text: dict, arrays: Mapping) -> None:
    if len(text["loads"]) > len(text["records"]):
        raise _wrong("loads")
    for i, load in enumerate(text["loads"]):
        shapes = {key: np.shape(arrays.get(f"loads/{i}/{key}", ())) for key in ("time", "values", "standard_deviation")}
        samples = shapes["time"][0] if len(shapes["time"]) == 1 else -1
        names, units = load.get("names"), load.get("units")
        if not (isinstance(names, list) and isinstance(units, list) and len(names) == len(units)):
            raise _wrong(f"loads/{i}")
        if shapes["values"] != (samples, len(names)) or shapes["standard_deviation"] != shapes["values"]:
            raise _wrong(f"loads/{i}/values")


def _wrong(name: str) -> InputError:
    return InputError(f"the result is damaged or incomplete: '{name}' is not of the kind or size that it must have.")
