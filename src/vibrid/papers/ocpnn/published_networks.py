"""The networks as published: the paper's layers, scaling, batches and training.

All three are trained on the 42 second-storey tests of the paper's recipe, at 1024 Hz. An interrupted training is
resumed; trained networks are saved in `trained_folder()`. The number of epochs is our assumption: the paper does not
state it.
"""

from __future__ import annotations

from vibrid.hybrid.learned.files import SavedModel
from vibrid.hybrid.learned.recipes import Recipe
from vibrid.papers.ocpnn.as_published import PUBLISHED
from vibrid.papers.ocpnn.characterisation import lugre
from vibrid.papers.ocpnn.kept import is_trained, trained_once
from vibrid.papers.ocpnn.models import data
from vibrid.papers.ocpnn.suite import HAZARD
from vibrid.papers.paper import Run


def _training(run: Run, name: str) -> tuple[Recipe, list]:
    """The recipe, and what identifies its tests."""
    recipe = PUBLISHED[name]
    if run.quick:
        recipe = recipe.replace(epochs=1, seeds=1, stretch=512, joined=(8,), branch=4)
    return recipe, [[pair.test().name for pair in run.once(data, "real").training], HAZARD.name]


def published_networks(run: Run, name: str) -> list[SavedModel]:
    """A network of the paper from several initial weights, the best on the validation tests first."""
    pairs, (recipe, tests) = run.once(data, "real"), _training(run, name)
    return trained_once(
        run, name, recipe, tests, lambda: [p.test() for p in pairs.training],
        lambda: [p.test() for p in pairs.validation], lugre() if recipe.answer == "law-layer" else None,
    )  # fmt: skip


def trained_published(run: Run) -> dict[str, list[SavedModel]]:
    """The networks of the paper whose training has ended on this machine; training them takes an hour of a GPU."""
    return {
        f"{name}, as published": run.once(published_networks, name)
        for name in PUBLISHED
        if is_trained(name, *_training(run, name))
    }
