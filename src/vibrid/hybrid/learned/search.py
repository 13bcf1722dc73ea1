"""A grid search over the settings of a recipe (Optuna)."""

from __future__ import annotations

import itertools
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from vibrid.core.errors import InputError, require, unknown_name
from vibrid.core.progress import SILENT, Progress
from vibrid.hybrid.learned.answers import ScaledLaw
from vibrid.hybrid.learned.histories import DeviceTest
from vibrid.hybrid.learned.recipes import Recipe, score_tests, train_models
from vibrid.records.force_scores import ForceScores


@dataclass(frozen=True)
class SearchTrial:
    """A choice of settings, and its scores on the validation tests."""

    choice: dict
    scores: ForceScores
    seconds: float


def search_recipes(
    recipe: Recipe, choices: Mapping[str, Sequence], training: Sequence[DeviceTest], validation: Sequence[DeviceTest],
    *, law: ScaledLaw | None = None, companion_names: Sequence[str] = (), workers: int = 1,
    progress: Progress = SILENT,
) -> list[SearchTrial]:  # fmt: skip
    """Train with every combination of choices; the best on the validation tests first. Ctrl-C keeps those done.

    Arguments
        recipe: the fixed settings; give it few epochs.
        choices: values to try for each setting of the recipe, e.g. {"hidden": [[32], [64, 64]]}.
        workers: trials at a time, each on a thread.
    """
    optuna = require("optuna", "tune", "Searching settings")
    known = [f.name for f in fields(Recipe)]
    for name, values in choices.items():
        if name not in known:
            raise unknown_name("setting of a recipe", name, known)
        if not list(values):
            raise InputError(f"There is nothing to choose from for '{name}'.")
    if not validation:
        raise InputError("A search needs validation tests: settings chosen on the training tests are the largest ones.")
    numbered = {name: list(range(len(values))) for name, values in choices.items()}
    count = len(list(itertools.product(*numbered.values())))
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(sampler=optuna.samplers.GridSampler(numbered, seed=0))
    trials: list[SearchTrial] = []
    progress.stage("searching settings", count)

    def objective(trial) -> float:
        choice = {name: choices[name][trial.suggest_categorical(name, numbers)] for name, numbers in numbered.items()}
        settings = {name: tuple(value) if isinstance(value, list) else value for name, value in choice.items()}
        began = time.perf_counter()
        saved = train_models(
            recipe.replace(**settings), training, validation, law=law, companion_names=companion_names
        )[0]
        scores = ForceScores.mean(score_tests(saved.model, validation))
        trials.append(SearchTrial(choice, scores, time.perf_counter() - began))
        progress.update(len(trials), f"best {100 * min(t.scores.nrmse for t in trials):.2f} %")
        return scores.nrmse

    try:
        study.optimize(objective, n_trials=count, n_jobs=workers)
    except KeyboardInterrupt:
        if not trials:
            raise
    finally:
        optuna.logging.set_verbosity(before)
    return sorted(trials, key=lambda trial: trial.scores.nrmse)
