"""Running a study: what is missing in its dataset is cut into batches, computed by an engine, and written."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from vibrid.core.device import accelerated
from vibrid.core.errors import InputError
from vibrid.core.progress import SILENT, Progress
from vibrid.core.version import __version__
from vibrid.studies.engine import AnyBatch, Engine, InProcess
from vibrid.studies.kept import SET_ASIDE, WAITING
from vibrid.studies.store import FORMAT, Coordinate, Store, Variable

if TYPE_CHECKING:
    import xarray

_WIDTH, _WIDTH_ON_ACCELERATOR = 64, 4096
_SHORT = 2000


class Described(ABC):
    """What is asked of a study, of runs or of fits, to compute it into a dataset."""

    noun: ClassVar[str] = "runs"
    program: Any  # a `BatchProgram`

    @property
    def computing(self) -> Any:
        """The program of its batches, which is sent to workers."""
        return self.program

    @property
    @abstractmethod
    def sizes(self) -> dict[str, int]:
        """The dimensions of the study and how many ticks each has."""

    @abstractmethod
    def ticks(self) -> dict[str, str]:
        """By dimension that can grow, the coordinate by which its ticks are told apart."""

    @abstractmethod
    def ordered(self, order: Mapping[str, Sequence[int]]) -> Self:
        """The same study with the ticks of its dimensions in another order."""

    @abstractmethod
    def batches(self, before: Sequence[int] | None, shape: Sequence[int], width: int) -> Iterator[Any]:
        """The batches of all runs within `shape` that are not within the shape `before`."""

    @abstractmethod
    def width(self, runs: int) -> int:
        """The most runs of a batch, where there are so many."""

    @abstractmethod
    def variables(self) -> dict[str, Variable]:
        """The arrays of the dataset that have a place for every run, `outcome` among them."""

    @abstractmethod
    def coordinates(self) -> dict[str, Coordinate]:
        """All coordinates of the dataset."""

    @abstractmethod
    def named(self, answer: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The arrays of a batch by the names of the dataset."""

    @abstractmethod
    def fingerprint(self) -> str:
        """The same for studies that can stand in one dataset: all but the ticks of dimensions that grow."""

    @abstractmethod
    def provenance(self) -> dict[str, Any]:
        """What the dataset says of its origin."""


AnyStudy = TypeVar("AnyStudy", bound=Described)


def run_study(
    study: Described, out: str | Path | None = None, engine: Engine | None = None, progress: Progress = SILENT
) -> xarray.Dataset:
    """Compute the runs of a study that are not in its folder yet, and return the dataset."""
    store = Store(out)
    with store.locked():
        if store.exists:
            study, state = continued(study, store)
        else:
            state = begun(study, store)
        generations = state["generations"]
        outcomes = store.read("outcome")[tuple(map(slice, generations[-1]["shape"]))]
        missing = int(np.isin(outcomes, (WAITING, SET_ASIDE)).sum())
        batches = (batch for batch in _all_batches(study, generations) if is_missing(outcomes, batch))
        engine = InProcess() if engine is None else engine
        try:
            if missing:
                engine.begin(study.computing)
            compute(study, store, batches, missing, engine, progress)
        finally:
            engine.close()
    return store.dataset()


def _all_batches(study: Described, generations: Sequence[Mapping[str, Any]]) -> Iterator[AnyBatch]:
    before = None
    for generation in generations:
        yield from study.batches(before, generation["shape"], generation["width"])
        before = generation["shape"]


def is_missing(outcomes: np.ndarray, batch: AnyBatch) -> bool:
    """Whether a run of a batch was not computed yet, or set aside."""
    return bool(np.isin(outcomes[tuple(batch.runs.T)], (WAITING, SET_ASIDE)).any())


def compute(
    study: Described,
    store: Store,
    batches: Iterator[Any],
    missing: int,
    engine: Engine,
    progress: Progress,
    label: str = "",
) -> None:
    """Compute batches and write them as they come; those that were set aside are written as such with their inputs."""
    if not missing:
        return
    progress.stage(label or f"computing {missing} {study.noun}", missing)
    begun, done = time.monotonic(), 0
    for batch, answer in engine.results(batches):
        if isinstance(answer, Exception):
            why = {"runs": batch.runs, "reason": np.array(f"{type(answer).__name__}: {answer}")}
            store.set_aside("-".join(map(str, batch.runs[0])), why | study.computing.inputs(batch))
            answer = {"outcome": np.full(batch.size, SET_ASIDE, np.int8)}
        store.write(batch.runs, {**batch.labels, **study.named(answer)})
        done += batch.size
        progress.update(done, _note(study.noun, done, missing, time.monotonic() - begun))


def _note(noun: str, done: int, total: int, seconds: float) -> str:
    rate = done / max(seconds, 1e-9)
    left = max(total - done, 0) / rate
    spoken = f"{left:.0f} s" if left < 100 else f"{left / 60:.0f} min" if left < 6000 else f"{left / 3600:.1f} h"
    return f"{rate:.3g} {noun}/s, {spoken} left"


# -- a dataset -------------------------------------------------------------------------------------------------------


def begun(study: Described, store: Store, together: int | None = None) -> dict[str, Any]:
    """A new dataset for a study, and its state; `together` runs can be computed at once, by default all."""
    coordinates = study.coordinates()
    store.create(_sizes(study, coordinates), study.variables(), coordinates, study.provenance())
    shape = list(study.sizes.values())
    state = {
        "format": FORMAT,
        "vibrid": __version__,
        "fingerprint": study.fingerprint(),
        "generations": [{"shape": shape, "width": study.width(together or int(np.prod(shape)))}],
    }
    store.keep_state(state)
    return state


def _sizes(study: Described, coordinates: Mapping[str, Coordinate]) -> dict[str, int]:
    return {dim: len(values) for dim, values, _ in coordinates.values()} | study.sizes


def batch_width(runs: int, samples: int) -> int:
    """Runs in a batch: 64 keep a processor core busy, 4096 an accelerator; more of them where motions are short."""
    most = _WIDTH_ON_ACCELERATOR if accelerated() else _WIDTH * max(1, min(16, _SHORT // samples))
    return max(1, min(most, runs))


# -- going on --------------------------------------------------------------------------------------------------------


def continued(study: AnyStudy, store: Store) -> tuple[AnyStudy, dict[str, Any]]:
    """The study in the order of the dataset that is there, which has grown to hold what is new; and its state."""
    state = store.open()
    if state["fingerprint"] != study.fingerprint():
        raise InputError(
            f"The folder '{store.folder}' holds another study: structure, integrator, sensors, limits or what is kept "
            "differ. Motions, levels and values of lists may be added; for anything else take another folder."
        )
    last = state["generations"][-1]["shape"]
    there = dict(zip(study.sizes, last, strict=True))  # without what was added by a process that was killed meanwhile
    wanted = study.coordinates()
    order = {
        dim: _order(store.read(name).tolist()[: there[dim]], np.asarray(wanted[name][1]).tolist(), dim, store)
        for dim, name in study.ticks().items()
    }
    study = study.ordered(order)
    shape = list(study.sizes.values())
    if shape != last:
        new = int(np.prod(shape)) - int(np.prod(last))
        state["generations"].append({"shape": shape, "width": study.width(new)})
        coordinates = study.coordinates()
        store.grow(_sizes(study, coordinates))
        for name, (_, values, _) in coordinates.items():
            store.fill(name, values)
        store.keep_state(state)
    return study, state


def _order(known: list, wanted: list, what: str, store: Store) -> list[int]:
    """The places of the wanted ticks, those that are known first and in their order."""
    places, there = {tick: i for i, tick in enumerate(wanted)}, set(known)
    lost = [tick for tick in known if tick not in places]
    if lost:
        raise InputError(
            f"The dataset in '{store.folder}' has {len(lost)} of the dimension '{what}' that this study has not (the "
            f"first is {lost[0]}): a study can grow, not shrink. Put them back, or take another folder."
        )
    return [places[tick] for tick in known] + [i for i, tick in enumerate(wanted) if tick not in there]
