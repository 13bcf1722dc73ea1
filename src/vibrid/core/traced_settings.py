"""Parameters of JAX's primitives as settings of `traced.Operation`; unknown ones are refused, not ignored."""

from __future__ import annotations

from typing import Any

import jax

from vibrid.core.errors import Refusal

_HINTS = {
    "accuracy", "fill_value", "indices_are_sorted", "new_sizes", "out_dtype", "out_sharding", "precision",
    "preferred_element_type", "sharding", "shape", "unique_indices", "update_consts", "update_jaxpr", "weak_type",
}  # fmt: skip
"""Parameters that follow from the shapes and types of the results, or affect how to compute, not what."""


def read_settings(kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """The settings of an operation from the parameters of its primitive."""
    rest = {name: value for name, value in given.items() if name not in _HINTS}
    read = _READERS.get(kind)
    known = read(rest) if read else {}
    left = [name for name, value in rest.items() if value is not None]
    if left:
        raise Refusal(
            f"The operation '{kind}' of this step has settings that are not understood ({', '.join(sorted(left))}; "
            f"JAX {jax.__version__}), so the step cannot be written out."
        )
    return known


def _power(rest: dict[str, Any]) -> dict[str, Any]:
    return {"power": int(rest.pop("y"))}


def _axes(name: str = "axes"):
    return lambda rest: {"axes": tuple(rest.pop(name))}


def _shape(rest: dict[str, Any]) -> dict[str, Any]:
    """The shape of the result is sufficient."""
    rest.pop("dimensions")
    return {}


def _product(rest: dict[str, Any]) -> dict[str, Any]:
    summed, shared = rest.pop("dimension_numbers")
    return {"summed": tuple(map(tuple, summed)), "shared": tuple(map(tuple, shared))}


def _slice(rest: dict[str, Any]) -> dict[str, Any]:
    begin, end, jump = rest.pop("start_indices"), rest.pop("limit_indices"), rest.pop("strides")
    return {"begin": list(begin), "end": list(end), "jump": list(jump or [1] * len(begin))}


def _gather(rest: dict[str, Any]) -> dict[str, Any]:
    how = _not_many(rest.pop("dimension_numbers"))
    return {
        "start_axes": how.start_index_map,
        "dropped_axes": how.collapsed_slice_dims,
        "window_axes": how.offset_dims,
        "sizes": tuple(rest.pop("slice_sizes")),
        "outside": _outside(rest),
    }


def _scatter(rest: dict[str, Any]) -> dict[str, Any]:
    how = _not_many(rest.pop("dimension_numbers"))
    return {
        "start_axes": how.scatter_dims_to_operand_dims,
        "dropped_axes": how.inserted_window_dims,
        "window_axes": how.update_window_dims,
        "outside": _outside(rest),
    }


def _not_many(how):
    if getattr(how, "operand_batching_dims", ()):
        raise Refusal("A step that picks from many arrays at once cannot be written out.")
    return how


def _outside(rest: dict[str, Any]) -> str:
    """Treatment of a place outside the array: "fill" (picked: a NaN; put: left out), "clip", or "promised" never."""
    mode = str(rest.pop("mode")).upper()
    return "fill" if "FILL" in mode else "clip" if "CLIP" in mode else "promised"


_READERS = {
    "integer_pow": _power,
    "squeeze": _shape,
    "expand_dims": _shape,
    "dot_general": _product,
    "slice": _slice,
    "dynamic_slice": lambda rest: {"sizes": tuple(rest.pop("slice_sizes"))},
    "transpose": lambda rest: {"order": tuple(rest.pop("permutation"))},
    "rev": _axes("dimensions"),
    "broadcast_in_dim": _axes("broadcast_dimensions"),
    "concatenate": lambda rest: {"axis": int(rest.pop("dimension"))},
    "pad": lambda rest: {"edges": [tuple(map(int, edge)) for edge in rest.pop("padding_config")]},
    "gather": _gather,
    "scatter": _scatter,
    "scatter-add": _scatter,
    **{f"reduce_{name}": _axes() for name in ("sum", "max", "min", "and", "or")},
}
