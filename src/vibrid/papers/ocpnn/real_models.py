"""Networks for the real device, and their predictions on tests that were left out of their training."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from vibrid.core.files import make_folder
from vibrid.hybrid.learned.answers import Adapted, Answer, Direct, LawLayer, ScaledLaw
from vibrid.hybrid.learned.features import MotionFeatures
from vibrid.hybrid.learned.histories import DeviceTest, stack
from vibrid.hybrid.learned.model import DeviceModel
from vibrid.hybrid.learned.network import DeviceNetwork
from vibrid.hybrid.learned.training import fit_models, follow
from vibrid.laws import Backlash, LuGre
from vibrid.networks.checkpoint import Checkpoint, fingerprint
from vibrid.papers.ocpnn.paper import trained_folder
from vibrid.papers.ocpnn.real_tests import EVERY, RATE, Fold
from vibrid.papers.paper import Run

FORCE, DISPLACEMENT, VELOCITY = 2e4, 0.03, 0.2
"""Scales: N, m, m/s."""
PLAYS = (2.5e-4, 5e-4, 1e-3, 2e-3, 3e-3, 5e-3, 8e-3)
STRETCH = 128
SEEN = MotionFeatures(DISPLACEMENT, VELOCITY, PLAYS)
GRIP = ScaledLaw(
    Backlash(1.7e4, 1.7e4, 2e-3, 4.5e-3, 1.8, 1.0, stiffness=500.0, damping=50.0), 2e4,
    ("slip_positive",), ("slip_negative",),
)  # fmt: skip
"""Initial values, read from measured loops: unloading over 2–3 mm, a play of 1–2.6 mm, grip again over 3–6 mm."""
GRIP_LEARNED = ("slip_positive", "slip_negative", "play", "take_up", "release", "exponent")
BRISTLES = ScaledLaw(
    LuGre(2.3e6, 2e3, 1.9e4, 1.9e4, 2e4, 2e4, 0.04), 2e4,
    ("coulomb_positive", "static_positive"), ("coulomb_negative", "static_negative"),
)  # fmt: skip


class ModelKind(NamedTuple):
    """A kind of network and its training."""

    make: Callable
    epoch: dict
    epochs: int
    members: int = 1  # networks whose mean is the prediction
    law: str = ""  # "companion": the force of the companion's law is an input; "corrected": and is corrected


def network(
    features: MotionFeatures, answer: Answer, branch: int, joined: tuple[int, ...], uses_companion: bool = True, *,
    small: float = 1.0, dropout: float = 0.0, sizes=(FORCE, DISPLACEMENT), rate: float = RATE / EVERY,
):  # fmt: skip
    """A function from a key to a model; `small` scales its initial output weights, `sizes` its measured inputs."""
    own, companion = DeviceModel.own_inputs(features), len(sizes) if uses_companion else 0
    widths = {"branch": branch, "joined": joined, "dropout": dropout}

    def make(key):
        layers = DeviceNetwork.make(key, companion, own, answer.outputs, **widths)
        layers = eqx.tree_at(lambda n: n.weights, layers, small * layers.weights)
        return DeviceModel(features, layers, answer, tuple(float(size) for size in sizes), rate)

    return make


def kinds() -> dict[str, ModelKind]:
    """The networks that are compared."""
    displacement = MotionFeatures(DISPLACEMENT, VELOCITY, (), False)
    adapted = Adapted(GRIP, GRIP_LEARNED, 0.7, 1.0)
    bristles = LawLayer(BRISTLES, ("bristle_stiffness", "bristle_damping"))
    ours, paper = {"rate": 5e-3, "decay": 0.85, "every": 5}, {"rate": 3e-3, "decay": 0.9, "every": 5}
    signals = (FORCE, DISPLACEMENT, FORCE)
    return {
        "hears the companion's law": ModelKind(
            network(SEEN, adapted, 12, (12,), small=0.1, sizes=signals), ours, 50, 3, "companion"
        ),
        "corrects the companion's law": ModelKind(
            network(SEEN, Direct(), 12, (12,), small=0.1, sizes=signals), ours, 25, 3, "corrected"
        ),
        "one law, adapted": ModelKind(network(SEEN, adapted, 12, (12,), small=0.1), ours, 50, 3),
        "one law, adapted, not listening": ModelKind(network(SEEN, adapted, 12, (12,), False, small=0.1), ours, 50, 3),
        "physics layer (LuGre)": ModelKind(network(SEEN, bristles, 12, (12,), small=0.1), ours, 50, 3),
        "network of the paper": ModelKind(network(displacement, Direct(), 16, (48, 48), dropout=0.1), paper, 50),
    }


class Predicted(NamedTuple):
    """Forces (seeds, tests, samples) where each test was left out, and of the extra folds (seeds, folds, tests, …)."""

    forces: np.ndarray
    extra: np.ndarray
    error: np.ndarray  # (seeds, folds) of the training at its end
    seconds: float


def predictions(run: Run, name: str, kind: ModelKind, tests: list[DeviceTest], main: list[Fold], extra: list[Fold],
                seeds: int, weights: np.ndarray, law=None) -> Predicted:  # fmt: skip
    """All seeds and folds of a kind, trained at once; saved on disk, so that they can be scored again without training.

    `weights` (tests,): weight of each test in training. `law` (tests, samples): forces of the law of the companion, for
    kinds that have it as one more input.
    """
    shapes = jax.tree.map(lambda leaf: (leaf.shape, str(leaf.dtype)), kind.make(jax.random.key(0)).trained)
    data = [(t.name, t.companion.shape, f"{t.capacity[0]:.3g} {t.capacity[1]:.3g}") for t in tests]
    data = data, [f.name for f in main + extra], list(map(float, weights))
    purpose = fingerprint(name, *kind[1:], seeds, STRETCH, repr(shapes), repr(data))
    folder = trained_folder()
    make_folder(folder)
    file = Checkpoint(folder / f"ocpnn-{purpose}.npz", purpose)
    kept = file.load()
    if kept is not None:
        return Predicted(*(kept[0][n] for n in ("forces", "extra", "error")), seconds=float(kept[1]["seconds"]))
    everything = main + extra
    histories = stack(tests, STRETCH)
    base = np.asarray(law, np.float32) if kind.law == "corrected" else np.zeros_like(histories.force)
    if kind.law:
        signals = np.concatenate([histories.sample.companion, np.asarray(law, np.float32)[..., None]], axis=-1)
        histories = histories._replace(
            sample=histories.sample._replace(companion=signals), force=histories.force - base
        )
    drawn = seeds * kind.members
    keys = jax.random.split(jax.random.key(7), drawn)[np.repeat(np.arange(drawn), len(everything))]
    shares = np.tile([weights * ~fold.left_out for fold in everything], (drawn, 1))
    run.progress.stage(f"{name}: {len(keys)} networks at once", kind.epochs)
    started = time.perf_counter()
    models, training = fit_models(
        kind.make, keys, shares, histories, {"stretch": STRETCH, **kind.epoch}, kind.epochs,
        key=jax.random.key(1), progress=run.progress,
    )  # fmt: skip
    seconds = time.perf_counter() - started
    predicted = np.asarray(_follow_all(models[0].fixed, training.state.trained, jax.tree.map(jnp.asarray, histories)))
    members = predicted.reshape(seeds, kind.members, len(everything), *predicted.shape[1:])
    predicted = members.mean(axis=1).astype(np.float32) + base
    forces = np.zeros((seeds, *predicted.shape[2:]), np.float32)
    for i, fold in enumerate(main):
        forces[:, fold.left_out] = predicted[:, i, fold.left_out]
    error = np.asarray(training.history[-1]).reshape(seeds, kind.members, -1).mean(axis=1)
    file.keep(
        {"forces": forces, "extra": predicted[:, len(main) :], "error": error}, {"seconds": seconds, "kind": name}
    )
    run.progress.stage(f"{name}: trained in {seconds:.0f} s")
    return Predicted(forces, predicted[:, len(main) :], error, seconds)


@eqx.filter_jit
def _follow_all(fixed, trained, histories):
    """(models, tests, samples)."""

    def force_of(weights):
        model = eqx.combine(weights, fixed)
        return follow(model, model.start((histories.tests,)), histories.sample, histories.setting)[0]

    return jax.vmap(force_of)(trained)
