"""Arrays and sparse matrices that never change, so that programs can be compiled for them: equal by content."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import scipy

from vibrid.core.arguments import Numbers
from vibrid.core.errors import InputError


class ConstantArray:
    """An array that never changes."""

    kind: type = float

    def __init__(self, values: Numbers) -> None:
        self.values: np.ndarray = np.array(values, dtype=self.kind)
        self.values.flags.writeable = False
        self._key = hashlib.sha256(self.values.tobytes()).digest(), self.values.shape

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self.values.shape}"


class ConstantPlaces(ConstantArray):
    """Integers that never change."""

    kind = np.int64


class ConstantSparse:
    """A sparse matrix that never changes."""

    def __init__(self, matrix: Any, what: str = "The matrix") -> None:
        if not scipy.sparse.issparse(matrix):
            raise InputError(f"{what} must be a sparse matrix of SciPy, not {type(matrix).__name__}.")
        made: Any = scipy.sparse.csr_matrix(matrix, dtype=float, copy=True)
        made.sum_duplicates()
        made.sort_indices()
        if made.shape[0] != made.shape[1] or not made.shape[0]:
            raise InputError(f"{what} must be square, not {made.shape[0]} by {made.shape[1]}.")
        if not np.isfinite(made.data).all():
            raise InputError(f"{what} has numbers that are not finite.")
        largest = float(abs(made).max()) if made.nnz else 0.0
        if made.nnz and float(abs(made - made.T).max()) > 1e-6 * largest:
            raise InputError(f"{what} must be symmetric.")
        self.matrix: Any = made
        digest = hashlib.sha256()
        for part in (made.data, made.indices, made.indptr):
            digest.update(np.ascontiguousarray(part).tobytes())
        self._key = digest.digest(), made.shape

    @property
    def size(self) -> int:
        return self.matrix.shape[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ConstantSparse) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"ConstantSparse{self.matrix.shape}, {self.matrix.nnz} entries"
