"""Checkpoints: the state of a training in one file, so that it can be resumed after Ctrl-C or a kill.

Arrays and plain text only (NumPy's `npz` with pickling refused, JSON inside): nothing is executed on loading.
"""

from __future__ import annotations

import hashlib
import json
import warnings
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.arrays import read_arrays
from vibrid.core.errors import FileProblem
from vibrid.core.files import write_arrays

_TEXT = "facts"


class Checkpoint:
    """One file that holds arrays by name and a few facts.

    Arguments
        path: the file, e.g. "training.npz"; it appears complete or not at all.
        purpose: a text that identifies the training (`fingerprint` of settings and data); a file left by another
            training is refused, so that it is not lost either.
    """

    def __init__(self, path, purpose: str = ""):
        self.path, self.purpose = Path(path), purpose
        self.problem = ""
        """Why it could not be written the last time; empty while there is no problem."""

    def save(self, arrays: dict[str, Any], facts: dict[str, Any] | None = None) -> None:
        """Write arrays and facts (numbers, text, lists of them)."""
        text = json.dumps({"purpose": self.purpose, "facts": facts or {}})
        write_arrays(self.path, **{_TEXT: np.array(text)}, **{k: np.asarray(v) for k, v in arrays.items()})

    def keep(self, arrays: dict[str, Any], facts: dict[str, Any] | None = None) -> None:
        """As `save`, for work that continues without the file: where it cannot be written, there is one warning."""
        try:
            self.save(arrays, facts)
            self.problem = ""
        except FileProblem as problem:
            if not self.problem:
                warnings.warn(f"{problem} The work goes on without checkpoints.", RuntimeWarning, stacklevel=2)
            self.problem = str(problem)

    def load(self) -> tuple[dict[str, np.ndarray], dict] | None:
        """Arrays and facts; None when there is no file."""
        if not self.path.exists():
            return None
        arrays, purpose, facts = self._read()
        if purpose != self.purpose:
            raise FileProblem(
                self.path, "it belongs to a training with other data or settings; remove it, or name another file."
            )
        return arrays, facts

    def stored_purpose(self) -> str:
        """The purpose of an existing file."""
        return str(self._read()[1])

    def _read(self) -> tuple[dict[str, np.ndarray], str, dict]:
        arrays = read_arrays(self.path, "a checkpoint", "Remove it to start again.")
        try:
            text = json.loads(str(arrays.pop(_TEXT)))
            purpose, facts = text["purpose"], text["facts"]
            if not isinstance(purpose, str) or not isinstance(facts, dict):
                raise TypeError("its text is not a table")
        except (ValueError, KeyError, TypeError, RecursionError) as problem:
            raise FileProblem(self.path, f"it is not a checkpoint ({problem}); remove it to start again.") from None
        return arrays, purpose, facts

    def remove(self) -> None:
        """Remove it: the training is done."""
        self.path.unlink(missing_ok=True)


def fingerprint(*parts) -> str:
    """A short text that changes with arrays and settings."""
    digest = hashlib.sha256()
    for leaf in jax.tree.leaves(parts):
        array = np.ascontiguousarray(leaf) if isinstance(leaf, jax.Array | np.ndarray) else np.array(repr(leaf))
        digest.update(str((array.shape, array.dtype)).encode() + array.tobytes())
    return digest.hexdigest()[:24]


def tree_arrays(tree, prefix: str) -> dict[str, np.ndarray]:
    """The arrays of a tree by numbered names."""
    leaves = jax.tree.leaves(eqx.filter(tree, eqx.is_array))
    return {f"{prefix}{i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}


def tree_from(arrays: dict[str, Any], prefix: str, like):
    """A tree like `like` with the arrays of `tree_arrays`; None where they do not fit."""
    current, static = eqx.partition(like, eqx.is_array)
    leaves, structure = jax.tree.flatten(current)
    stored = [arrays.get(f"{prefix}{i}") for i in range(len(leaves))]
    if any(f is None or f.shape != leaf.shape for f, leaf in zip(stored, leaves, strict=True)):
        return None
    restored = [jnp.asarray(f, leaf.dtype) for f, leaf in zip(stored, leaves, strict=True)]
    return eqx.combine(jax.tree.unflatten(structure, restored), static)
