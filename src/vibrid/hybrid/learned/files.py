"""A trained device model as a file: arrays and plain text (NumPy's `npz`, pickling refused); nothing is executed."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.errors import FileProblem, InputError, missing_file, newer_format
from vibrid.hybrid.learned.answers import Adapted, Answer, Corrected, Direct, LawLayer, MinMax, ScaledLaw
from vibrid.hybrid.learned.committee import Committee, MeanPort
from vibrid.hybrid.learned.features import BoundedFeatures, MotionFeatures
from vibrid.hybrid.learned.in_loop import NetworkDevice
from vibrid.hybrid.learned.input_limits import InputLimits
from vibrid.hybrid.learned.model import DeviceModel
from vibrid.hybrid.learned.modulators import Modulators
from vibrid.hybrid.learned.network import Constant, DeviceNetwork
from vibrid.hybrid.learned.passive import PassivePort
from vibrid.hybrid.learned.resonant import ResonantNetwork
from vibrid.laws.base import LAWS, Law
from vibrid.networks.checkpoint import Checkpoint, tree_arrays, tree_from

FORMAT = 1
KIND = "vibrid device model"
_STORED = {"companion": "heard"}
"""Settings of networks whose name in files of format 1 is another; the file's `heard_…` are `companion_…` too."""
NETWORKS = {
    "lstm": DeviceNetwork, "resonant": ResonantNetwork, "passive": Modulators, "passive-committee": Committee,
    "constant": Constant,
}  # fmt: skip
ANSWERS = {
    "adapted": Adapted, "direct": Direct, "min-max": MinMax, "law-layer": LawLayer, "corrected": Corrected,
    "passive": PassivePort, "passive-mean": MeanPort,
}  # fmt: skip
FEATURES = {"motion": MotionFeatures, "bounded": BoundedFeatures}


@dataclass(frozen=True)
class SavedModel:
    """A trained model and facts about its training.

    Arguments
        model: the model.
        stiffness: N/m, steepest slope of the training tests, for integrators.
        facts: how it was trained and scored, in plain numbers and words.
        twin: the same training without the tests by which the model is scored, where they are in its own; not in files.
    """

    model: DeviceModel
    stiffness: float = 0.0
    facts: dict[str, Any] = field(default_factory=dict)
    twin: DeviceModel | None = None

    @property
    def scored(self) -> DeviceModel:
        """What its scores are of."""
        return self.model if self.twin is None else self.twin

    def device(self, rate: float, *capacity, first_force: Any = 0.0) -> NetworkDevice:
        """As a device in a test with `rate` commands per second; `capacity`: N, one number or one per direction;
        `first_force`: N, before the test, where it is known."""
        every = rate / self.model.rate
        if every < 1 or abs(every - round(every)) > 1e-6:
            raise InputError(
                f"The model was trained at {self.model.rate:g} Hz; a test needs a multiple of that, not {rate:g} Hz."
            )
        both = jnp.asarray(capacity[0] if len(capacity) == 1 else capacity, float)
        devices = int(self.facts.get("devices", 0))
        return NetworkDevice(self.model, both, self.stiffness, round(every), first_force, devices)


def save_model(path, saved: SavedModel) -> Path:
    """Write a model; the file (.npz) is written completely or not at all."""
    path, model = Path(path), saved.model
    if path.suffix != ".npz":
        raise InputError(f"The file of a device model must end in .npz; '{path.name}' does not.")
    about = {
        "features": {"kind": _kind(FEATURES, model.features), **dataclasses.asdict(model.features)},
        "network": {"kind": _kind(NETWORKS, model.network), **_renamed(model.network.sizes(), _STORED)},
        "answer": _answer_table(model.answer),
        "heard_sizes": list(model.companion_sizes),
        "heard_names": list(model.companion_names),
        "heard_middles": list(model.companion_middles),
        "is_told": model.is_told,
        "capacity": model.capacity,
        "is_told_first": model.is_told_first,
        "limits": dataclasses.asdict(model.limits),
        "rate": model.rate,
        "stiffness": float(saved.stiffness),
        "facts": saved.facts,
    }
    Checkpoint(path, f"{KIND} {FORMAT}").save(tree_arrays(model.network, "w"), about)
    return path


def load_model(path) -> SavedModel:
    """Read a model; any other file is refused with a message."""
    path = Path(path)
    if not path.exists():
        raise missing_file(path)
    file = Checkpoint(path, f"{KIND} {FORMAT}")
    try:
        kind, _, format = file.stored_purpose().rpartition(" ")
    except FileProblem:
        kind, format = "", ""
    if kind != KIND or not format.isdecimal():
        raise FileProblem(path, "it is not a device model of vibrid; `vibrid hybrid train` makes one.")
    if int(format) > FORMAT:
        raise newer_format(path, "device model", int(format), f"format {FORMAT}")
    stored = file.load()
    if stored is None:
        raise missing_file(path)
    arrays, about = stored
    try:
        sizes = _renamed(about["network"], {stored: name for name, stored in _STORED.items()})
        make = NETWORKS[sizes.pop("kind")].make
        shapes = eqx.filter_eval_shape(lambda: make(jax.random.key(0), **sizes))  # nothing is allocated yet
        stated = [leaf.shape for leaf in jax.tree.leaves(shapes) if isinstance(leaf, jax.ShapeDtypeStruct)]
        if stated != [np.shape(arrays.get(f"w{i}", ())) for i in range(len(stated))]:
            raise InputError("its arrays do not fit its description")
        filled = tree_from(arrays, "w", make(jax.random.key(0), **sizes))
        if filled is None:
            raise InputError("its arrays do not fit its description")
        features = dict(about["features"])
        seen = FEATURES[features.pop("kind", "motion")](**features)
        model = DeviceModel(
            seen, filled, _answer_of(about["answer"]), about["heard_sizes"], about["rate"],
            about["heard_names"], about["heard_middles"], about["is_told"],
            capacity=about.get("capacity", 0.0), is_told_first=about.get("is_told_first", False),
            **({"limits": InputLimits(**about["limits"])} if "limits" in about else {}),  # older files have none
        )  # fmt: skip
        return SavedModel(model, about["stiffness"], about["facts"])
    except Exception as problem:  # the description can be wrong in any way
        reason = f"{type(problem).__name__}: {problem}"[:200]
        raise FileProblem(path, f"it is a device model that cannot be read ({reason}).") from None


def _renamed(table: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    return {names.get(key, key): value for key, value in table.items()}


def _kind(table: dict[str, Any], thing) -> str:
    return next(name for name, cls in table.items() if cls is type(thing))


def _answer_table(answer: Answer) -> dict[str, Any]:
    fields = {f.name: getattr(answer, f.name) for f in dataclasses.fields(answer) if f.name != "law"}
    table = {"kind": _kind(ANSWERS, answer), **fields}
    law = getattr(answer, "law", None)
    if law is not None:
        scaled = {f.name: getattr(law, f.name) for f in dataclasses.fields(law) if f.name != "law"}
        table["law"] = {**scaled, "law": _law_table(law.law)}
    return table


def _answer_of(table: dict[str, Any]) -> Answer:
    fields = dict(table)
    kind = ANSWERS[fields.pop("kind")]
    if "law" in fields:
        scaled: dict[str, Any] = dict(fields["law"])
        scaled["law"] = _law_of(scaled["law"])
        fields["law"] = ScaledLaw(**scaled)
    return kind(**fields)


def _law_table(law: Law) -> dict[str, Any]:
    """A law as its registered name and its fields, laws inside included."""
    table: dict[str, Any] = {"law": LAWS.name_of(type(law))}
    for f in dataclasses.fields(law):
        value = getattr(law, f.name)
        if isinstance(value, Law):
            table[f.name] = _law_table(value)
        else:
            table[f.name] = np.asarray(value).tolist() if eqx.is_array_like(value) else value
    return table


def _law_of(table: dict[str, Any]) -> Law:
    fields: dict[str, Any] = {k: _law_of(value) if isinstance(value, dict) else value for k, value in table.items()}
    return LAWS[fields.pop("law")](**fields)
