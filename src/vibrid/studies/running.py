"""Running a study: what is missing in its dataset is cut into batches, computed by an engine, and written."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vibrid.core.device import accelerated
from vibrid.core.errors import InputError
from vibrid.core.progress import SILENT, Progress
from vibrid.core.version import __version__
from vibrid.records.record import QUANTITIES
from vibrid.studies.axes import plain_name
from vibrid.studies.engine import Engine, InProcess
from vibrid.studies.kept import SET_ASIDE, WAITING
from vibrid.studies.program import Batch, StudyProgram
from vibrid.studies.store import FORMAT, OUTCOME_ATTRIBUTES, Store, Variable

if TYPE_CHECKING:
    import xarray

    from vibrid.studies.study import Study

_WIDTH, _WIDTH_ON_ACCELERATOR = 64, 4096
_SHORT = 2000


def run_study(
    study: Study, out: str | Path | None = None, engine: Engine | None = None, progress: Progress = SILENT
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
                engine.begin(study.program)
            compute(study.program, store, batches, missing, engine, progress, variables_of(study))
        finally:
            engine.close()
    return store.dataset()


def _all_batches(study: Study, generations: Sequence[Mapping[str, Any]]) -> Iterator[Batch]:
    before = None
    for generation in generations:
        yield from study.batches(before, generation["shape"], generation["width"])
        before = generation["shape"]


def is_missing(outcomes: np.ndarray, batch: Batch) -> bool:
    """Whether a run of a batch was not computed yet, or set aside."""
    return bool(np.isin(outcomes[tuple(batch.runs.T)], (WAITING, SET_ASIDE)).any())


def compute(
    program: StudyProgram,
    store: Store,
    batches: Iterator[Batch],
    missing: int,
    engine: Engine,
    progress: Progress,
    names: Mapping[str, tuple[str, list[int] | None]],
    label: str = "",
) -> None:
    """Compute batches and write them as they come; those that were set aside are written as such with their inputs."""
    if not missing:
        return
    progress.stage(label or f"computing {missing} runs", missing)
    begun, done = time.monotonic(), 0
    for batch, answer in engine.results(batches):
        if isinstance(answer, Exception):
            name = "-".join(map(str, batch.runs[0]))
            store.set_aside(name, _inputs(program, batch, answer))
            answer = program.set_aside(batch)
        store.write(batch.runs, {**batch.labels, **named(answer, names)})
        done += batch.size
        progress.update(done, _note(done, missing, time.monotonic() - begun))


def _note(done: int, total: int, seconds: float) -> str:
    rate = done / max(seconds, 1e-9)
    left = max(total - done, 0) / rate
    spoken = f"{left:.0f} s" if left < 100 else f"{left / 60:.0f} min" if left < 6000 else f"{left / 3600:.1f} h"
    return f"{rate:.3g} runs/s, {spoken} left"


def _inputs(program: StudyProgram, batch: Batch, why: Exception) -> dict[str, Any]:
    return {
        "runs": batch.runs,
        "motions": np.array([program.motions[i].name for i in batch.motions]),
        "factors": batch.factors,
        "reason": np.array(f"{type(why).__name__}: {why}"),
        **{f"value {path}": values for path, values in batch.values.items()},
    }


# -- a dataset -------------------------------------------------------------------------------------------------------


def variables_of(study: Study) -> dict[str, tuple[str, list[int] | None]]:
    """The variables of the dataset: the array of a batch that each is taken from, and which of its columns."""
    keep = study.program.keep
    found: dict[str, tuple[str, list[int] | None]] = {"outcome": ("outcome", None), "ended_at": ("ended_at", None)}
    for prefix, wanted, drift, other in (
        ("peak", "peaks", "drift_peaks", "peaks"),
        ("residual", "residuals", "drift_last", "last"),
    ):
        if wanted in keep:
            if study.storeys:
                found[f"{prefix}_storey_drift"] = (drift, None)
            found |= {f"{prefix}_{q}": (other, columns) for q, columns in study.quantities().items()}
    if "energy" in keep:
        found["energy"] = ("energy", None)
    if "channels" in keep:
        found |= {q: ("channels", columns) for q, columns in study.quantities().items()}
    return found


def named(answer: Mapping[str, np.ndarray], names: Mapping[str, tuple[str, list[int] | None]]) -> dict[str, np.ndarray]:
    """The arrays of a batch by the names of the dataset."""
    return {
        name: answer[source] if columns is None else answer[source][..., columns]
        for name, (source, columns) in names.items()
        if source in answer
    }


def begun(study: Study, store: Store) -> dict[str, Any]:
    """A new dataset for a study, and its state."""
    fixed = _fixed_coordinates(study)
    sizes = study.sizes | {dim: len(values) for (_, dim), values in fixed.items()}
    variables = _run_variables(study, tuple(study.sizes)) | _coordinate_variables(study)
    for (name, dim), values in fixed.items():
        kind = str if np.asarray(values).dtype.kind in "UO" else float
        variables[name] = Variable((dim,), kind, _unit({"height": "m", "time": "s"}.get(name, "")))
    store.create(sizes, variables, provenance(study))
    for (name, _), values in fixed.items():
        store.fill(name, values)
    _write_coordinates(study, store)
    state = state_of_study(study)
    store.keep_state(state)
    return state


def _unit(unit: str, **more: Any) -> dict[str, Any]:
    return ({"units": unit} if unit else {}) | more


def _run_variables(study: Study, dims: tuple[str, ...]) -> dict[str, Variable]:
    """The arrays that have a place for every run."""
    found = {
        "outcome": Variable(dims, np.int8, OUTCOME_ATTRIBUTES, len(dims)),
        "ended_at": Variable(dims, float, _unit("s", long_name="when the run collapsed or failed"), len(dims)),
    }
    if study.hunt is not None and study.measure is not None:
        about = _unit(study.measure.unit, long_name=str(study.measure))
        found["level"] = Variable(dims, float, about, len(dims))
    for name in variables_of(study):
        if name in found:
            continue
        kind, _, quantity = name.partition("_")
        if name.endswith("storey_drift"):
            more, unit = ("storey",), "m"
        elif name == "energy":
            more, unit = ("part",), "J"
        elif kind in ("peak", "residual") and quantity in QUANTITIES:
            more, unit = (f"{quantity}_at",), QUANTITIES[quantity]
        else:
            more, unit = ("time", f"{name}_at"), QUANTITIES[name]
        found[name] = Variable((*dims, *more), float, _unit(unit), len(dims))
    return found


def _fixed_coordinates(study: Study) -> dict[tuple[str, str], Any]:
    """(name, dimension) and values of the coordinates that never grow."""
    keep, sensors = study.program.keep, study.program.sensors
    found: dict[tuple[str, str], Any] = {}
    if study.storeys and {"peaks", "residuals"} & set(keep):
        found["storey", "storey"] = [s.name for s in study.storeys]
        found["height", "storey"] = [np.nan if s.height is None else s.height for s in study.storeys]
    if {"peaks", "residuals", "channels"} & set(keep):
        for quantity, columns in study.quantities().items():
            found[f"{quantity}_at", f"{quantity}_at"] = [sensors[i].place for i in columns]
    if "energy" in keep:
        found["part", "part"] = study.part_names()
    if "channels" in keep:
        found["time", "time"] = np.arange(_longest(study)) * float(study.program.motions[0].record.step or 0.0)
    return found


def _coordinate_variables(study: Study) -> dict[str, Variable]:
    """The coordinates of the dimensions of the study, which may grow."""
    found = {
        "motion": Variable(("motion",), str, {}),
        "fingerprint": Variable(("motion",), str, {"long_name": "of the excitation"}),
    }
    if study.measure is not None:
        text = f"{study.measure} as given"
        found["intensity"] = Variable(("motion",), float, _unit(study.measure.unit, long_name=text))
    if study.scale_name is not None:
        text = str(study.measure) if study.measure else "factor on the motion"
        unit = study.measure.unit if study.measure else ""
        found[study.scale_name] = Variable((study.scale_name,), float, _unit(unit, long_name=text))
    for axis in study.parameters:
        kind = float if axis.labels.dtype.kind == "f" else np.int64
        alone = next(iter(axis.units.values())) if kind is float else ""
        found[axis.name] = Variable((axis.name,), kind, _unit(alone))
        if axis.name == "sample":
            found |= {plain_name(p): Variable(("sample",), float, _unit(axis.units[p])) for p in axis.values}
    return found


def _write_coordinates(study: Study, store: Store) -> None:
    motions = study.program.motions
    store.fill("motion", [motion.name for motion in motions])
    store.fill("fingerprint", [motion.fingerprint for motion in motions])
    if study.measure is not None:
        store.fill("intensity", study.intensities)
    if study.scale_name is not None:
        store.fill(study.scale_name, study.scales)
    for axis in study.parameters:
        store.fill(axis.name, axis.labels)
        if axis.name == "sample":
            for path, values in axis.values.items():
                store.fill(plain_name(path), values)


def provenance(study: Study) -> dict[str, Any]:
    """What the dataset says of its origin."""
    p = study.program
    versions = {name: metadata.version(name) for name in ("jax", "numpy", "scipy", "zarr", "xarray")}
    return {
        "title": f"Study of a {type(p.structure).__name__}",
        "vibrid": __version__,
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "processor": platform.machine(),
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "structure": repr(p.structure),
        "integrator": repr(p.integrator),
        "hold": p.hold,
        "substeps": p.substeps,
        "key": study.key,
        "collapse_drift": [float(v) for v in p.limits if np.isfinite(v)],
        "history": [f"{motion.name}: {line}" for motion in p.motions for line in motion.record.history],
        **study.attributes,
    }


# -- going on --------------------------------------------------------------------------------------------------------


def state_of_study(study: Study) -> dict[str, Any]:
    """What must stay the same, and how the runs are cut into batches."""
    shape = list(study.sizes.values())
    together = int(np.prod(shape)) if study.hunt is None else len(study.program.motions)
    width = batch_width(together, _longest(study))
    return {
        "format": FORMAT,
        "vibrid": __version__,
        "fingerprint": study.fingerprint(),
        "generations": [{"shape": shape, "width": width}],
    }


def batch_width(runs: int, samples: int) -> int:
    """Runs in a batch: 64 keep a processor core busy, 4096 an accelerator; more of them where motions are short."""
    most = _WIDTH_ON_ACCELERATOR if accelerated() else _WIDTH * max(1, min(16, _SHORT // samples))
    return max(1, min(most, runs))


def _longest(study: Study) -> int:
    return max(len(motion.record) for motion in study.program.motions)


def continued(study: Study, store: Store) -> tuple[Study, dict[str, Any]]:
    """The study in the order of the dataset that is there, which has grown to hold what is new; and its state."""
    state = store.open()
    if state["fingerprint"] != study.fingerprint():
        raise InputError(
            f"The folder '{store.folder}' holds another study: structure, integrator, sensors, limits or what is kept "
            "differ. Motions, levels and values of lists may be added; for anything else take another folder."
        )
    last = state["generations"][-1]["shape"]
    there = dict(zip(study.sizes, last, strict=True))  # without what was added by a process that was killed meanwhile

    def order(dim: str, name: str, wanted: list) -> list[int]:
        return _order(store.read(name).tolist()[: there[dim]], wanted, dim, store)

    motions = order("motion", "fingerprint", [motion.fingerprint for motion in study.program.motions])
    scales = [] if study.scales is None else order(name := str(study.scale_name), name, study.scales.tolist())
    ticks = {axis.name: order(axis.name, axis.name, axis.labels.tolist()) for axis in study.parameters}
    study = study.ordered(motions, scales, ticks)
    shape = list(study.sizes.values())
    if shape != last:
        new = int(np.prod(shape)) - int(np.prod(last))
        state["generations"].append({"shape": shape, "width": batch_width(new, _longest(study))})
        fixed = _fixed_coordinates(study)
        store.grow(study.sizes | {dim: len(values) for (_, dim), values in fixed.items()})
        if ("time", "time") in fixed:
            store.fill("time", fixed["time", "time"])
        _write_coordinates(study, store)
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
