"""A digest of what a study is made of: the same in every process for the same content."""

from __future__ import annotations

import hashlib
from typing import Any

import jax
import numpy as np


def digest(*content: Any) -> str:
    """Of numbers, texts, structures, and lists of them."""
    found = hashlib.sha256()
    leaves, form = jax.tree.flatten(content)
    for leaf in leaves:
        if isinstance(leaf, bool | int | float | np.ndarray | jax.Array | np.number):
            found.update(np.ascontiguousarray(np.asarray(leaf)).tobytes())
        else:
            found.update(repr(leaf).encode())
    found.update(str(form).encode())
    return found.hexdigest()[:16]
