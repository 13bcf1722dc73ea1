"""Quantities of a structure over windows of time, each with its standard deviation, and what surrounded them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from vibrid.core.errors import InputError


@dataclass(frozen=True, eq=False)
class Series:
    """Frequencies or parameters of a structure, window by window, in order of time.

    Arguments
        starts: (w,) UTC at which each window began.
        names: of the q quantities.
        values: (w, q), positive; NaN where a window gave none.
        deviations: (w, q) standard deviations of the estimates; NaN where they are not known.
        environment: (w, e) means of temperature and the like over each window.
        environment_names: of its e columns.
    """

    starts: np.ndarray
    names: tuple[str, ...]
    values: np.ndarray
    deviations: np.ndarray
    environment: np.ndarray
    environment_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "starts", np.asarray(self.starts, "M8[ns]"))
        object.__setattr__(self, "names", tuple(self.names))
        object.__setattr__(self, "environment_names", tuple(self.environment_names))
        w, q, e = len(self.starts), len(self.names), len(self.environment_names)
        for name, shape in (("values", (w, q)), ("deviations", (w, q)), ("environment", (w, e))):
            given = np.asarray(getattr(self, name), float)
            if given.size != w * max(shape[1], 0) or (given.size and given.shape != shape):
                raise InputError(f"The {name} of a series of {w} windows have the shape {shape}, not {given.shape}.")
            object.__setattr__(self, name, given.reshape(shape))
        if np.any(self.values <= 0) or np.any(np.isinf(self.values)):
            raise InputError("The quantities of a series are positive; NaN stands for one that is missing.")

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def logarithms(self) -> np.ndarray:
        """(w, q) ln of the values: differences are shares."""
        return np.log(self.values)

    @property
    def shares(self) -> np.ndarray:
        """(w, q) standard deviations as shares of the values: those of the logarithms, of first order."""
        return self.deviations / self.values

    def part(self, windows: slice | np.ndarray) -> Series:
        """Some of the windows."""
        return replace(
            self,
            starts=self.starts[windows],
            values=self.values[windows],
            deviations=self.deviations[windows],
            environment=self.environment[windows],
        )

    def of(self, names: Sequence[str]) -> Series:
        """Some of the quantities."""
        unknown = [name for name in names if name not in self.names]
        if unknown:
            raise InputError(f"There is no quantity '{unknown[0]}'; there are {', '.join(self.names)}.")
        chosen = [self.names.index(name) for name in names]
        return replace(self, names=tuple(names), values=self.values[:, chosen], deviations=self.deviations[:, chosen])
