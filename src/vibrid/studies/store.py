"""The dataset of a study on disk: Zarr arrays that grow, written batch by batch and readable meanwhile.

The arrays of a batch are written one after the other, `outcome` last: a run counts once its outcome is there. Zarr
gives a piece of an array its name only when it is complete, so that a process may be killed at any moment; what was
written of a batch whose outcomes are missing is computed and written again.
"""

from __future__ import annotations

import contextlib
import json
import os
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from vibrid.core.errors import FileProblem, newer_format, require
from vibrid.core.files import cannot_write, make_folder, write_arrays

if TYPE_CHECKING:
    import xarray

RESULTS = "results.zarr"
FORMAT = 1
_RUNS_IN_CHUNK = 4096
_NUMBERS_IN_CHUNK = 1 << 20


@dataclass(frozen=True)
class Variable:
    """An array of a dataset; the first `run_dims` of its dimensions are those of the runs."""

    dims: tuple[str, ...]
    dtype: Any
    attributes: Mapping[str, Any]
    run_dims: int = 0


Coordinate: TypeAlias = tuple[str, Any, Mapping[str, Any]]
"""The dimension of a coordinate, its values (numbers or texts), and its attributes."""


def with_unit(unit: str, **more: Any) -> dict[str, Any]:
    """Attributes of an array with a unit, if it has one."""
    return ({"units": unit} if unit else {}) | more


def flags(names: Sequence[str], meaning: str) -> dict[str, Any]:
    """Attributes of an array of codes, each of which has a name."""
    words = " ".join(name.replace(" ", "_") for name in names)
    return {"long_name": meaning, "flag_values": list(range(len(names))), "flag_meanings": words}


class Store:
    """The arrays of one study.

    Arguments
        folder: where it is, or None for memory.
    """

    def __init__(self, folder: str | Path | None):
        self.zarr = require("zarr", "studies", "The dataset of a study")
        require("xarray", "studies", "The dataset of a study")
        self.folder = None if folder is None else Path(folder)
        if self.folder is None:
            self._place: Any = self.zarr.storage.MemoryStore()
        else:
            self._place = str(make_folder(self.folder) / RESULTS)
        self._group: Any = None

    # -- opening ------------------------------------------------------------------------------------------------

    @property
    def exists(self) -> bool:
        """Whether a study is there already; one that was stopped before it was laid out is not."""
        return self.folder is not None and _text_of_state(self.folder / RESULTS) is not None

    def open(self) -> dict[str, Any]:
        """The state of the study that is there; pieces that a killed process left behind are removed."""
        assert self.folder is not None
        for part in (self.folder / RESULTS).rglob("*.partial"):
            with contextlib.suppress(OSError):
                part.unlink()
        state = state_of(self.folder)
        self._group = self._opened("r+")
        return state

    def _opened(self, mode: str) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # texts have no final specification in Zarr yet; xarray reads them
            return self.zarr.open_group(self._place, mode=mode, zarr_format=3)

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Refuse a second process on the same folder; a process that dies lets go of it."""
        if self.folder is None:
            yield
            return
        try:
            import fcntl
        except ImportError:  # Windows
            yield
            return
        handle = os.open(self.folder / ".lock", os.O_CREAT | os.O_RDWR, 0o666)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise FileProblem(self.folder, "another process is running this study; wait for it.") from None
            yield
        finally:
            os.close(handle)

    # -- writing ------------------------------------------------------------------------------------------------

    def create(
        self,
        sizes: Mapping[str, int],
        variables: Mapping[str, Variable],
        coordinates: Mapping[str, Coordinate],
        attributes: Mapping[str, Any],
    ) -> None:
        """A new dataset; `sizes` are those of all dimensions. It counts as there once `keep_state` was called."""
        with self._reported():
            self._group = self._opened("w")
            beside = [name for name, (dim, _, _) in coordinates.items() if name != dim]
            self._group.attrs.update({**attributes, "coordinates": " ".join(beside)})
            for name, variable in variables.items():
                self._array(name, [sizes[dim] for dim in variable.dims], variable)
            for name, (dim, values, about) in coordinates.items():
                kind = {"f": float, "i": np.int64, "u": np.int64}.get(np.asarray(values).dtype.kind, str)
                self._array(name, [sizes[dim]], Variable((dim,), kind, about))
                self.fill(name, values)

    def _array(self, name: str, shape: Sequence[int], variable: Variable) -> None:
        text = variable.dtype is str
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._group.create_array(
                name,
                shape=tuple(shape),
                dtype=str if text else np.dtype(variable.dtype),
                chunks=_chunks(shape, variable.run_dims),
                dimension_names=variable.dims,
                fill_value="" if text else (np.nan if np.dtype(variable.dtype).kind == "f" else 0),
                attributes=dict(variable.attributes),
            )

    def fill(self, name: str, values: Any) -> None:
        """Write a whole array, such as a coordinate."""
        with self._reported(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            array = self._group[name]
            values = np.asarray(values)
            array[...] = values.astype(object) if values.dtype.kind in "UO" else values

    def grow(self, sizes: Mapping[str, int]) -> None:
        """Enlarge every array whose dimensions grew."""
        with self._reported():
            for _, array in self._group.arrays():
                names = array.metadata.dimension_names or ()
                shape = tuple(sizes.get(dim, old) for dim, old in zip(names, array.shape, strict=True))
                if shape != array.shape:
                    array.resize(shape)

    def keep_state(self, state: Mapping[str, Any]) -> None:
        """What the study must be like to go on with it, and how its batches are cut."""
        with self._reported():
            self._group.attrs.update({"vibrid_study": json.dumps(dict(state))})

    def write(self, runs: np.ndarray, arrays: Mapping[str, np.ndarray]) -> None:
        """Write the numbers of runs at their places (runs, dimensions), the outcomes last."""
        names = [name for name in arrays if name != "outcome"] + ["outcome"]
        with self._reported():
            for name in names:
                _put(self._group[name], runs, arrays[name])

    def set_aside(self, number: str, inputs: Mapping[str, Any]) -> Path | None:
        """Keep the inputs of a batch that could not be computed."""
        if self.folder is None:
            return None
        return write_arrays(make_folder(self.folder / "set-aside") / f"batch-{number}.npz", **inputs)

    @contextlib.contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as problem:
            raise cannot_write(self.folder or "memory", problem) from problem

    # -- reading ------------------------------------------------------------------------------------------------

    def read(self, name: str) -> np.ndarray:
        """A whole array."""
        return np.asarray(self._group[name][...])

    def dataset(self) -> xarray.Dataset:
        """All of it, loaded when it is looked at."""
        return _dataset(self._place)


def _put(array: Any, runs: np.ndarray, values: np.ndarray) -> None:
    """Write `values` (runs, …) at the places `runs` (runs, dimensions) of an array.

    Places that fill a box are written as one; others, such as the runs of some motions, number by number.
    """
    low, high = runs.min(axis=0), runs.max(axis=0) + 1
    shape = tuple(high - low)
    inside = np.ravel_multi_index(tuple((runs - low).T), shape)
    if np.prod(shape) == len(runs) and np.array_equal(inside, np.arange(len(runs))):
        box = [slice(a, b) for a, b in zip(low, high, strict=True)] + [slice(0, n) for n in values.shape[1:]]
        array[tuple(box)] = values.reshape(shape + values.shape[1:])
        return
    more = np.indices(values.shape[1:]).reshape(values.ndim - 1, int(np.prod(values.shape[1:])))
    places = [np.repeat(place, more.shape[1]) for place in runs.T] + [np.tile(axis, len(runs)) for axis in more]
    array.set_coordinate_selection(tuple(places), values.reshape(-1))


def _chunks(shape: Sequence[int], run_dims: int) -> tuple[int, ...]:
    """Pieces of about four thousand runs and at most a million numbers; the last dimensions are whole."""
    pieces: list[int] = []
    room, runs = _NUMBERS_IN_CHUNK, _RUNS_IN_CHUNK
    for place in reversed(range(len(shape))):
        piece = max(1, min(shape[place], room, runs if place < run_dims else room))
        room //= piece
        runs //= piece if place < run_dims else 1
        pieces.append(piece)
    return tuple(reversed(pieces))


def _text_of_state(path: Path) -> str | None:
    zarr = require("zarr", "studies", "The dataset of a study")
    if not path.exists():
        return None
    try:
        return zarr.open_group(str(path), mode="r").attrs.get("vibrid_study")
    except (OSError, ValueError, KeyError):
        return None


def state_of(folder: Path) -> dict[str, Any]:
    """The state of the study in a folder; refused where there is none, or a later one."""
    text = _text_of_state(folder / RESULTS)
    if text is None:
        raise FileProblem(folder, f"there is no dataset of a study here ({RESULTS}).")
    state = json.loads(text)
    if state["format"] > FORMAT:
        raise newer_format(folder, "study", state["format"], f"format {FORMAT}", f"vibrid {state.get('vibrid', '')}")
    return state


def open_study(folder: str | Path) -> xarray.Dataset:
    """The dataset of a study, also of one that still runs: numbers are read when they are looked at.

    Runs that wait have outcome 0 (`vibrid.studies.OUTCOMES`) and NaN elsewhere.
    """
    state_of(Path(folder))
    return _dataset(str(Path(folder) / RESULTS))


def _dataset(place: Any) -> xarray.Dataset:
    xarray = require("xarray", "studies", "The dataset of a study")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        data = xarray.open_zarr(place, consolidated=False, chunks=None)
    ticks = [name for name in ("level", "scale", "noise", "seed") if name in data.dims]
    return data.sortby(ticks) if ticks else data
