"""Long trainings that run once: interrupted ones are resumed, finished ones are read from `trained_folder()`."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from pathlib import Path

from vibrid.core.device import on_processor
from vibrid.core.files import make_folder
from vibrid.hybrid.learned.answers import ScaledLaw
from vibrid.hybrid.learned.files import SavedModel, load_model, save_model
from vibrid.hybrid.learned.histories import DeviceTest
from vibrid.hybrid.learned.recipes import Recipe, train_models
from vibrid.networks.checkpoint import Checkpoint, fingerprint
from vibrid.papers.ocpnn.pairs import COMPANION_SIGNALS
from vibrid.papers.ocpnn.paper import trained_folder
from vibrid.papers.paper import Run

_FIRST = {
    "network": None, "answer": None, "uses_companion": None, "rate": None, "plays": None, "sees_velocity": None,
    "encoded": 32, "oscillators": 24, "hidden": (48, 32), "branch": None, "joined": None, "dropout": None,
    "min_max": None, "epochs": None, "learning_rate": 5e-3, "decay": None, "every": None, "batch": 0, "stretch": None,
    "shrink": 0.0, "emphasis": None, "learned": None, "span": None, "bound": None, "seeds": None,
}  # fmt: skip
"""Settings of the first stored trainings in their order, and what a recipe stands for that leaves one out."""


def trained_once(
    run: Run, name: str, recipe: Recipe, data: list, training: Callable[[], list[DeviceTest]],
    validation: Callable[[], list[DeviceTest]], law: ScaledLaw | None = None,
) -> list[SavedModel]:  # fmt: skip
    """Networks of a recipe, one for each of its seeds, the best on the validation tests first.

    Arguments
        name: beginning of the file names.
        data: identifies the tests; trainings with the same recipe and data are the same training.
    """
    purpose, files = _files(name, recipe, data)
    if all(file.exists() for file in files):
        run.reused = True
    else:
        folder = make_folder(trained_folder())
        checkpoint = Checkpoint(folder / f"ocpnn-training-{name}-{purpose}.npz", purpose)
        run.reused |= checkpoint.path.exists()  # its time is then that of the last part alone
        began = time.perf_counter()
        models = train_models(
            recipe, training(), validation(), law=law, companion_names=COMPANION_SIGNALS, progress=run.progress,
            checkpoint=checkpoint,
        )  # fmt: skip
        seconds = time.perf_counter() - began
        for saved in models:
            facts = {**saved.facts, "seconds": seconds}
            save_model(files[facts["seed"]], dataclasses.replace(saved, facts=facts))
        checkpoint.remove()
    with on_processor():
        return sorted((load_model(file) for file in files), key=lambda saved: saved.facts["scores"]["nrmse"])


def is_trained(name: str, recipe: Recipe, data: list) -> bool:
    """Whether `trained_once` finds all networks of this training."""
    return all(file.exists() for file in _files(name, recipe, data)[1])


def _files(name: str, recipe: Recipe, data: list) -> tuple[str, list[Path]]:
    """Fingerprint of a training, and the files of its networks."""
    purpose = fingerprint(name, stored_settings(recipe), data)
    return purpose, [trained_folder() / f"ocpnn-{name}-{purpose}-{seed}.npz" for seed in range(recipe.seeds)]


def stored_settings(recipe: Recipe) -> str:
    """The settings of a training as text, by which a stored one is found: settings that were added later are named only
    where they are not as they were."""
    values = dataclasses.asdict(recipe)
    text = [f"{name}={first if values[name] is None else values[name]!r}" for name, first in _FIRST.items()]
    later = [f for f in dataclasses.fields(recipe) if f.name not in _FIRST and values[f.name] != f.default]
    text += [f"{f.name}={values[f.name]!r}" for f in later]
    return f"Recipe({', '.join(text)})".replace("uses_companion=", "listens=")
