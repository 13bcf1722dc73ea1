"""From tests of a device to a trained model: sizes from the data, a network, its training, scores on unseen tests.

`Recipe()` is the recommended one; that of Malik, Cao, Ricles & Downey (2025) is `vibrid.papers.ocpnn.as_published`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import numpy as np

from vibrid.core.errors import InputError, unknown_name
from vibrid.core.progress import SILENT, Progress
from vibrid.hybrid.learned.answers import Adapted, Answer, Corrected, Direct, LawLayer, MinMax, ScaledLaw
from vibrid.hybrid.learned.crops import Crops
from vibrid.hybrid.learned.features import BoundedFeatures, MotionFeatures
from vibrid.hybrid.learned.files import SavedModel
from vibrid.hybrid.learned.histories import DeviceTest, Histories, stack
from vibrid.hybrid.learned.model import DeviceModel
from vibrid.hybrid.learned.modulators import Modulators
from vibrid.hybrid.learned.network import DeviceNetwork
from vibrid.hybrid.learned.passive import PassivePort
from vibrid.hybrid.learned.resonant import ResonantNetwork
from vibrid.hybrid.learned.training import Epoch, TrainingStep, fit_models, predict
from vibrid.networks.checkpoint import Checkpoint
from vibrid.records.force_scores import ForceScores, force_scores

ANSWERS = ("direct", "law-layer", "corrected", "adapted")
NETWORKS = ("resonant", "passive", "lstm")
_EPOCHS = ("epochs", "decay", "every", "stretch", "jitter", "turned")
_CROPS = ("steps", "crop", "warm_up", "shake", "warp", "gain", "learns_first")
"""Settings of the training of networks that are not passive, and of those that are."""
_SLACK = 0.05  # of the capacity: a force that is small
_TOGETHER = 50  # steps of a passive network between two checkpoints


@dataclass(frozen=True)
class Recipe:
    """How a device model is made and trained.

    Arguments
        network: "passive" (a network that cannot give energy; its answer is its own), "resonant" (static layers around
            damped oscillators), or "lstm"; by default passive, and resonant with another answer or `min_max`.
        answer: "direct": the force; "law-layer": parameters of a law; "corrected": a law and a bounded correction;
            "adapted": both.
        uses_companion: whether it uses measurements of the tested device.
        rate: Hz, steps of the model per second.
        plays: number of play operators among its features.
        sees_velocity: whether the velocity is among its features.
        encoded, oscillators, hidden: sizes of a resonant or passive network; by default its own.
        memories, states: of a passive network.
        branch, joined, dropout: sizes of an LSTM network, and its dropout.
        min_max: inputs and force scaled to 0 … 1 between the extremes of the training tests; the capacity is no input.
        learning_rate, batch, shrink: of the training, by default those of its network; batch 0 takes all tests.
        epochs, decay, every, stretch, jitter, turned: of the training of a resonant or LSTM network (see `Epoch`);
            jitter in m.
        steps, crop, warm_up, shake, warp, gain: of the training of a passive network (see `Crops`); crop and warm_up in
            seconds.
        doubt: relative deviation of the capacities that the network is given in its training, by default that of its
            kind of training.
        learns_first: whether a passive network learns from the first force in which state a device begins.
        emphasis: how much more a sample counts whose force is as large as the capacity.
        learned: parameters of a law layer; span: their range (a factor between e^−span and e^span).
        bound: largest correction, in capacities.
        seeds: models that are trained in parallel from different initial weights.
    """

    retired: ClassVar[dict[str, str]] = {"listens": "`listens` of a recipe is called `uses_companion` since 0.2."}

    network: str | None = None
    answer: str = "direct"
    uses_companion: bool = True
    rate: float = 256.0
    plays: int = 8
    sees_velocity: bool = True
    encoded: int | None = None
    oscillators: int | None = None
    hidden: tuple[int, ...] | None = None
    memories: int = 24
    states: int = 12
    branch: int = 16
    joined: tuple[int, ...] = (48, 48)
    dropout: float = 0.0
    min_max: bool = False
    epochs: int = 100
    learning_rate: float | None = None
    decay: float = 0.9
    every: int = 4
    batch: int | None = None
    stretch: int = 256
    jitter: float = 0.0
    turned: float = 0.0
    doubt: float | None = None
    shrink: float | None = None
    steps: int = 6000
    crop: float = 10.0
    warm_up: float = 2.0
    shake: float = 0.04
    warp: float = 0.12
    gain: float = 0.1
    learns_first: bool = True
    emphasis: float = 0.0
    learned: tuple[str, ...] = ("bristle_stiffness", "bristle_damping")
    span: float = 1.5
    bound: float = 0.5
    seeds: int = 1

    def __post_init__(self):
        if self.network is None:
            free = self.answer != "direct" or self.min_max
            object.__setattr__(self, "network", "resonant" if free else "passive")
        for what, value, known in (("network", str(self.network), NETWORKS), ("answer", self.answer, ANSWERS)):
            if value not in known:
                raise unknown_name(what, value, known)
        if self.network == "passive" and (self.answer != "direct" or self.min_max):
            raise InputError("A passive network has its own answer and scaling: leave `answer` and `min_max` out.")
        of_others, kind = (_EPOCHS, "resonant or LSTM") if self.network == "passive" else (_CROPS, "passive")
        usual = {field.name: field.default for field in dataclasses.fields(self)}
        for name in of_others:
            if getattr(self, name) != usual[name]:
                raise InputError(
                    f"'{name}' of a recipe belongs to the training of a {kind} network, and this one is "
                    f"{self.network}: leave it out, or name the network."
                )
        for name in ("jitter", "turned", "doubt", "shake", "warp", "gain", "warm_up"):
            if getattr(self, name) is not None and not getattr(self, name) >= 0:
                raise InputError(f"'{name}' of a recipe must not be negative, not {getattr(self, name)!r}.")
        if self.turned > 1:
            raise InputError(f"'turned' of a recipe is a share of the tests, not {self.turned!r}.")
        for name in ("rate", "epochs", "stretch", "seeds", "learning_rate", "every", "steps", "crop"):
            if getattr(self, name) is not None and not getattr(self, name) > 0:
                raise InputError(f"'{name}' of a recipe must be positive, not {getattr(self, name)!r}.")

    @staticmethod
    def faithful(*_, **__):
        """Left `Recipe` in 0.2; goes away in 0.3."""
        raise InputError(
            "Recipe.faithful() left the library: the recipes as published are PUBLISHED in "
            "vibrid.papers.ocpnn.as_published."
        )

    def replace(self, **changes) -> Recipe:
        return dataclasses.replace(self, **changes)

    def maker(self, tests: Sequence[DeviceTest], law: ScaledLaw | None = None, companion_names: Sequence[str] = ()):
        """A function from a random key to an untrained model, with sizes taken from the tests."""
        x, v = np.concatenate([t.x for t in tests]), np.concatenate([t.v for t in tests])
        companion = np.concatenate([t.companion for t in tests])[:, : None if self.uses_companion else 0]
        low, size, middles = 0.0, float(np.abs(x).max()), ()
        sizes = np.abs(companion).max(axis=0) if companion.size else np.zeros(0)
        if self.min_max:
            low, size, middles = float(x.min()), float(np.ptp(x)), tuple(companion.min(axis=0).tolist())
            sizes = np.ptp(companion, axis=0) if companion.size else sizes
        if size == 0 or (sizes == 0).any():
            raise InputError("The tests do not move the device, or a signal of the tested device is constant.")
        widths = tuple((size * np.geomspace(0.01, 0.3, self.plays)).tolist()) if self.plays else ()
        motion = size, float(np.abs(v).max()), widths, self.sees_velocity, low
        features, capacity, told_first = MotionFeatures(*motion), 0.0, self.network == "passive" and self.learns_first
        if self.network == "passive":
            stiffness, usual = slack(tests), float(np.median([np.mean(t.capacity) for t in tests]))
            reach = _SLACK * usual / stiffness if stiffness else 0.0
            features = BoundedFeatures(*motion, stiffness=stiffness, reach=reach)
            capacity = float(np.exp(np.mean(np.log([t.capacity for t in tests]))))
        answer = self._answer(np.concatenate([t.force for t in tests]), law, features)
        inputs = len(sizes), DeviceModel.own_inputs(features, not self.min_max, told_first), answer.outputs
        names = tuple(companion_names) if self.uses_companion else ()

        def make(key) -> DeviceModel:
            if self.network == "passive":
                assert isinstance(answer, PassivePort)
                path = features.velocity / self.rate / answer.length
                passive = _given(width=self.encoded, oscillators=self.oscillators, hidden=self.hidden)
                passive["first"] = answer.of_first
                network = Modulators.make(
                    key, *inputs, self.rate, 0, path, memories=self.memories, bias=answer.first_bias(), **passive
                )
            elif self.network == "lstm":
                lstm: dict[str, Any] = dict(branch=self.branch, joined=self.joined, dropout=self.dropout)
                network = DeviceNetwork.make(key, *inputs, **lstm)
            else:
                resonant = _given(encoded=self.encoded, count=self.oscillators, hidden=self.hidden)
                network = ResonantNetwork.make(key, *inputs, self.rate, **resonant)
            return DeviceModel(
                features, network, answer, sizes.tolist(), self.rate, names, middles, not self.min_max,
                capacity=capacity, is_told_first=told_first,
            )  # fmt: skip

        return make

    def _answer(self, force, law: ScaledLaw | None, features: MotionFeatures) -> Answer:
        if self.network == "passive":
            length, soft = features.displacement / 30.0, 0.012 * features.velocity
            return PassivePort(self.states, length=length, soft=soft, learns_first=self.learns_first)
        if self.answer == "direct":
            return MinMax(float(force.min()), float(force.max())) if self.min_max else Direct()
        if law is None:
            raise InputError(f"A model with the answer '{self.answer}' needs a law.")
        if self.answer == "corrected":
            return Corrected(law, self.bound)
        if self.answer == "adapted":
            return Adapted(law, self.learned, self.span, self.bound)
        return LawLayer(law, self.learned, self.span)

    def trainer(self) -> Trainer:
        """How the network of the recipe is trained."""
        given = _given(rate=self.learning_rate, batch=self.batch, shrink=self.shrink, doubt=self.doubt)
        if self.network == "passive":
            each = min(_TOGETHER, self.steps)
            own = {name: getattr(self, name) for name in ("shake", "warp", "gain")}
            lengths = {name: round(getattr(self, name) * self.rate) for name in ("crop", "warm_up")}
            count = -(-self.steps // each)
            return Trainer(Crops, {"steps": count * each, "each": each, **lengths, **own, **given}, count, 1)
        own = {name: getattr(self, name) for name in ("decay", "every", "stretch", "jitter", "turned")}
        return Trainer(Epoch, {"rate": 5e-3, **own, **given}, self.epochs, self.stretch)


class Trainer(NamedTuple):
    """A kind of training step with its settings, how often it is repeated, and what the number of samples must be a
    multiple of."""

    kind: Callable[..., TrainingStep]
    settings: dict[str, Any]
    times: int
    multiple: int


def train_models(
    recipe: Recipe, training: Sequence[DeviceTest], validation: Sequence[DeviceTest], *, law: ScaledLaw | None = None,
    companion_names: Sequence[str] = (), seeds: Sequence[int] | None = None, progress: Progress = SILENT,
    checkpoint: Checkpoint | None = None, with_all: bool = False,
) -> list[SavedModel]:  # fmt: skip
    """Models trained from several initial weights, the best on the validation tests first.

    They are scored as they are used in a hybrid test: without the force before the test.

    Arguments
        training, validation: tests at the rate of the recipe; without validation models are ranked by training tests.
        law: the law of a law layer or a correction.
        companion_names: names of the signals of the tested device.
        seeds: of the initial weights; by default 0, 1 … as many as in the recipe.
        checkpoint: written after every few epochs; a training with an existing checkpoint is resumed. It stays when the
            training is finished: remove it once the models are saved.
        with_all: whether the validation tests are in the training of the models that are returned. Each then has a
            twin, trained beside it without them, that is scored in its place.
    """
    if not training:
        raise InputError("There are no tests to train with.")
    with_all = with_all and bool(validation)
    tests = [*training, *validation] if with_all else list(training)
    make = recipe.maker(tests, law, companion_names)
    trainer = recipe.trainer()
    histories = emphasised(stack(tests, trainer.multiple), recipe.emphasis)
    seeds = range(recipe.seeds) if seeds is None else seeds
    count = len(seeds)
    keys = jax.vmap(jax.random.key)(np.tile(np.array(seeds), 1 + with_all))
    progress.stage(f"training {count} × {recipe.network} on {len(tests)} tests", trainer.times)
    weights = np.tile([test.weight for test in tests], (len(keys), 1))
    weights[count:, len(training) :] = 0.0  # of the twins
    models, fitting = fit_models(
        make, keys, weights, histories, trainer.settings, trainer.times, key=jax.random.key(1),
        block=max(trainer.times // 50, 1), progress=progress, checkpoint=checkpoint, kind=trainer.kind,
    )  # fmt: skip
    if checkpoint is not None and fitting.cut_short:
        raise KeyboardInterrupt  # the same call resumes from the checkpoint
    stiffness = steepest(tests)
    ranked = []
    for i, (model, scored) in enumerate(zip(models[:count], models[-count:], strict=True)):
        scores = score_tests(scored, validation or training, told=False)
        facts = {
            "recipe": {k: list(v) if isinstance(v, tuple) else v for k, v in dataclasses.asdict(recipe).items()},
            "tests": [t.name for t in tests],
            "validation": [t.name for t in validation],
            "seed": int(seeds[i]),
            "epochs": int(fitting.steps),  # of a passive network: blocks of steps
            "training_error": float(np.asarray(fitting.history)[-1, i]),
            "scores": dataclasses.asdict(ForceScores.mean(scores)),
        }
        ranked.append(SavedModel(model, stiffness, facts, twin=scored if with_all else None))
    return sorted(ranked, key=lambda saved: saved.facts["scores"]["nrmse"])


def _given(**sizes) -> dict[str, Any]:
    return {name: size for name, size in sizes.items() if size is not None}


def emphasised(histories: Histories, emphasis: float) -> Histories:
    """Tests whose samples count more where the force is large."""
    if not emphasis:
        return histories
    share = np.abs(histories.force) / histories.setting.capacity.mean(axis=1, keepdims=True)
    counts = histories.counts * (1 + emphasis * share)
    return histories._replace(counts=(counts * (histories.counts.sum() / counts.sum())).astype(np.float32))


def forces(model: DeviceModel, tests: Sequence[DeviceTest], told: bool = True) -> list[np.ndarray]:
    """The forces that a model predicts for tests, from rest; `told` whether it knows the force before the test, which a
    hybrid test does not."""
    histories = stack(list(tests))
    if not told:
        unknown = np.zeros_like(histories.setting.first_force)
        histories = histories._replace(setting=histories.setting._replace(first_force=unknown))
    predicted = np.asarray(predict(model, histories))
    return [force[: len(t.x)] for force, t in zip(predicted, tests, strict=True)]


def score_tests(model: DeviceModel, tests: Sequence[DeviceTest], told: bool = True) -> list[ForceScores]:
    """Scores of every test."""
    return [force_scores(f, t.force, t.v) for f, t in zip(forces(model, tests, told), tests, strict=True)]


def steepest(tests: Sequence[DeviceTest]) -> float:
    """N/m: the slope of force over displacement that one in a hundred of the moving samples exceeds."""
    found = [np.abs(_slopes(t)[0]) for t in tests]
    return float(np.percentile(np.concatenate(found), 99)) if any(map(len, found)) else 0.0


def slack(tests: Sequence[DeviceTest]) -> float:
    """N/m: the usual slope of force over displacement while the force is small; 0 where it never is."""
    found = []
    for t in tests:
        slopes, force = _slopes(t)
        found.append(slopes[np.abs(force) < _SLACK * np.mean(t.capacity)])
    usual = [float(np.median(slopes)) for slopes in found if len(slopes)]
    return max(float(np.median(usual)), 0.0) if usual else 0.0


def _slopes(test: DeviceTest) -> tuple[np.ndarray, np.ndarray]:
    """Slopes of force over displacement in N/m, and the force in the middle of each."""
    step = max(np.abs(test.x).max() / 50, 1e-12)  # noise does not count over such a way
    last = 0
    marks = [0]
    for i in np.flatnonzero(np.abs(np.diff(test.x)) > 0):
        if abs(test.x[i] - test.x[last]) > step:
            marks.append(int(i))
            last = i
    x, f = test.x[marks], test.force[marks]
    if len(marks) < 3:
        return np.zeros(0), np.zeros(0)
    return np.diff(f) / np.diff(x), (f[1:] + f[:-1]) / 2
