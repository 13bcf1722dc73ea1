"""The recommended network on the paper's training tests, and the paper's network over its unprinted settings."""

from __future__ import annotations

import itertools
import time

import numpy as np

from vibrid.core.device import on_processor
from vibrid.hybrid.learned.recipes import score_tests, train_models
from vibrid.papers.jobs import Arrays, run_jobs
from vibrid.papers.ocpnn.as_published import PUBLISHED
from vibrid.papers.ocpnn.models import EVERY, data, kept_networks, network_forces, networks, recipe_of
from vibrid.papers.ocpnn.open_loop import row_of, score
from vibrid.papers.ocpnn.pairs import COMPANION_SIGNALS
from vibrid.papers.ocpnn.paper import PAPER
from vibrid.papers.paper import Check, Outcome, Run
from vibrid.papers.verdict import DOES_NOT, REPRODUCES, UNTESTABLE
from vibrid.records.force_scores import ForceScores

NAME = "data-driven"


def second_storeys(run: Run) -> list:
    """The network trained on the second storey of every pair, as the paper's are; files of their own."""
    recipe = recipe_of(run, NAME)
    tests = lambda: [pair.test(EVERY) for pair in run.once(data, "real").training]  # noqa: E731
    return kept_networks(run, "real", recipe, tests, words=("second storeys alone",))


@PAPER.study(
    "same-tests", "Our data-driven network on the 42 tests of the paper's recipe", real_data=True, part="virtual"
)
def same_tests(run: Run) -> Outcome:
    pairs, rows, errors = run.once(data, "real"), [], {}
    tests = [pair.test(EVERY) for pair in pairs.held_out]
    kinds = {"second storeys": run.once(second_storeys), "both storeys": run.once(networks, "real", NAME)}
    for name, models in kinds.items():
        each = [score(network_forces(saved, tests), tests) for saved in models]
        errors[name] = 100 * float(np.mean([s.nrmse for results in each for s in results.whole]))
        rows.append({"training": name, "tests": len(pairs.training) * (2 if name == "both storeys" else 1),
                     "NRMSE, %": errors[name]})  # fmt: skip
        rows += [
            {"training": f"{name}, seed {saved.facts['seed']}", **row_of(NAME, "held-out", results)}
            for saved, results in zip(models, each, strict=True)
        ]
    few, many = errors["second storeys"], errors["both storeys"]
    verdict = (
        f"{UNTESTABLE}: a condition, not a claim. With the paper's 42 tests our network errs by {few:.2f} % on the "
        f"held-out motions, with both tests of every pair by {many:.2f} %"
    )
    note = "Held-out motions; trained at 256 Hz with our features and recipe, three initial weights."
    return Outcome(rows, [Check("verdict", verdict)], note)


CHOICES = {"dropout": (0.0, 0.1), "batch": (5, 10), "decay": (0.9, 0.99), "joined": ((48,), (48, 48))}
"""The printed settings and one other of each."""
EPOCHS = 30


def trial(run: Run, *settings) -> Arrays:
    """The published network with other settings, trained for few epochs at 256 Hz, as a job of one core."""
    choice = dict(zip(CHOICES, settings, strict=True))
    recipe = PUBLISHED[NAME].replace(
        epochs=1 if run.quick else EPOCHS, seeds=1, rate=1024.0 / EVERY, stretch=1500, **choice
    )  # fmt: skip
    if run.quick:
        recipe = recipe.replace(joined=(8,), branch=4, stretch=512)
    training, validation = ([p.test(EVERY) for p in part] for part in run.once(data, "real")[:2])
    began = time.perf_counter()
    with on_processor():  # batches this small wait for an accelerator at every sample
        saved = train_models(recipe, training, validation, companion_names=COMPANION_SIGNALS)[0]
        nrmse = ForceScores.mean(score_tests(saved.model, validation)).nrmse
    return {"error": np.array(100 * nrmse), "seconds": np.array(time.perf_counter() - began)}


@PAPER.study("published-search", "The published network over dropout, batch, decay and layers", real_data=True,
             part="published")  # fmt: skip
def published_search(run: Run) -> Outcome:
    run.once(data, "real")  # made here once, read by every job
    jobs = list(itertools.product(*CHOICES.values()))
    printed = tuple(getattr(PUBLISHED[NAME], name) for name in CHOICES)
    jobs = [printed, jobs[0]] if run.quick else jobs
    made = dict(zip(jobs, run_jobs(run, trial, jobs), strict=True))
    return searched(made, printed, 1 if run.quick else EPOCHS)


def searched(made: dict[tuple, Arrays], printed: tuple, epochs: int) -> Outcome:
    """Errors by choice, the best first, and whether another choice is better than the printed one."""
    ranked = sorted(made, key=lambda choice: float(made[choice]["error"]))
    rows = [
        {**{name: str(value) for name, value in zip(CHOICES, choice, strict=True)},
         "validation NRMSE, %": float(made[choice]["error"]), "seconds": float(made[choice]["seconds"])}
        for choice in ranked
    ]  # fmt: skip
    best, mine = (float(made[choice]["error"]) for choice in (ranked[0], printed))
    words = ", ".join(f"{name} {value}" for name, value in zip(CHOICES, ranked[0], strict=True))
    count = f"of {len(made)} choices, {epochs} epochs each"
    gain = f"{best:.2f} % ({words}), the printed settings {mine:.2f} % ({count})"
    verdict = (
        f"{REPRODUCES}: no choice is much better ({count})"
        if mine <= 1.05 * best
        else f"{DOES_NOT} another choice is better: {gain}"
    )
    note = (
        f"{epochs} epochs of the {PUBLISHED[NAME].epochs} we assume, one initial weight, every {EVERY}-th sample "
        "(256 Hz); a full grid around the printed settings, the best first."
    )
    return Outcome(rows, [Check("verdict", verdict), Check("best", gain)], note)
