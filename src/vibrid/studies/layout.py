"""The dataset of a study of runs: its variables, the coordinates of its dimensions, and what it says of its origin."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib import metadata
from typing import TYPE_CHECKING, Any

import numpy as np

from vibrid.core.version import __version__
from vibrid.records.record import QUANTITIES
from vibrid.studies.axes import Axis, plain_name
from vibrid.studies.kept import OUTCOMES
from vibrid.studies.laws import Laws, part_names
from vibrid.studies.store import Coordinate, Variable, flags, with_unit

if TYPE_CHECKING:
    from vibrid.studies.motions import StudyMotion
    from vibrid.studies.study import Study


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


def run_variables(study: Study) -> dict[str, Variable]:
    """The arrays that have a place for every run."""
    dims = tuple(study.sizes)
    found = {
        "outcome": Variable(dims, np.int8, flags(OUTCOMES, "how the run ended"), len(dims)),
        "ended_at": Variable(dims, float, with_unit("s", long_name="when the run collapsed or failed"), len(dims)),
    }
    if study.hunt is not None and study.measure is not None:
        about = with_unit(study.measure.unit, long_name=str(study.measure))
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
        found[name] = Variable((*dims, *more), float, with_unit(unit), len(dims))
    return found


def coordinates(study: Study) -> dict[str, Coordinate]:
    """The coordinates of all dimensions."""
    found = motion_coordinates(study.program.motions)
    if study.measure is not None:
        text = f"{study.measure} as given"
        found["intensity"] = ("motion", study.intensities, with_unit(study.measure.unit, long_name=text))
    if study.scale_name is not None:
        found |= scale_coordinates(study)
    for axis in study.parameters:
        found |= axis_coordinates(axis)
    if study.laws is not None:
        found["law"] = ("law", list(study.laws.names), {})
        found["law_fingerprint"] = ("law", study.laws.fingerprints, {})
    return found | _watched(study)


def motion_coordinates(motions: tuple[StudyMotion, ...]) -> dict[str, Coordinate]:
    """Names of motions, and what tells them apart."""
    return {
        "motion": ("motion", [motion.name for motion in motions], {}),
        "fingerprint": ("motion", [motion.fingerprint for motion in motions], {"long_name": "of the excitation"}),
    }


def scale_coordinates(study: Study) -> dict[str, Coordinate]:
    """The levels or scale factors of motions."""
    name, text = str(study.scale_name), str(study.measure) if study.measure else "factor on the motion"
    return {name: (name, study.scales, with_unit(study.measure.unit if study.measure else "", long_name=text))}


def axis_coordinates(axis: Axis) -> dict[str, Coordinate]:
    """The ticks of a parameter, and the values of those that go along `sample`."""
    alone = next(iter(axis.units.values())) if axis.labels.dtype.kind == "f" else ""
    found: dict[str, Coordinate] = {axis.name: (axis.name, axis.labels, with_unit(alone))}
    if axis.name == "sample":
        found |= {
            plain_name(path): ("sample", values, with_unit(axis.units[path])) for path, values in axis.values.items()
        }
    return found


def _watched(study: Study) -> dict[str, Coordinate]:
    """The coordinates of what is kept of a run."""
    keep, sensors = study.program.keep, study.program.sensors
    found: dict[str, Coordinate] = {}
    if study.storeys and {"peaks", "residuals"} & set(keep):
        found["storey"] = ("storey", [s.name for s in study.storeys], {})
        heights = [np.nan if s.height is None else s.height for s in study.storeys]
        found["height"] = ("storey", heights, with_unit("m"))
    if {"peaks", "residuals", "channels"} & set(keep):
        for quantity, columns in study.quantities().items():
            name = f"{quantity}_at"
            found[name] = (name, [sensors[i].place for i in columns], {})
    if "energy" in keep:
        found["part"] = ("part", part_names(study.program), {})
    if "channels" in keep:
        time = np.arange(study.longest) * float(study.program.motions[0].record.step or 0.0)
        found["time"] = ("time", time, with_unit("s"))
    return found


def provenance(study: Study) -> dict[str, Any]:
    """What the dataset says of its origin."""
    p = study.program
    return {
        "title": f"Study of a {type(p.structure).__name__}",
        **made_with(),
        "structure": repr(p.structure),
        "integrator": repr(p.integrator),
        "hold": p.hold,
        "substeps": p.substeps,
        **({} if study.laws is None else {"laws": _of_laws(study.laws)}),
        "key": study.key,
        "collapse_drift": [float(v) for v in p.limits if np.isfinite(v)],
        "history": [f"{motion.name}: {line}" for motion in p.motions for line in motion.record.history],
        **study.attributes,
    }


def _of_laws(laws: Laws) -> list[str]:
    return [
        f"{name}: {program.structure!r}, {program.integrator!r}"
        for name, program in zip(laws.names, laws.programs, strict=True)
    ]


def made_with() -> dict[str, str]:
    """Versions, kind of processor, and the time."""
    versions = {name: metadata.version(name) for name in ("jax", "numpy", "scipy", "zarr", "xarray")}
    return {
        "vibrid": __version__,
        "versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "processor": platform.machine(),
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
    }
