"""The recommended network on the paper's training tests, and the paper's network over its unprinted settings."""

from __future__ import annotations

import numpy as np

from vibrid.core.device import accelerated, cores
from vibrid.hybrid.learned.search import search_recipes
from vibrid.papers.ocpnn.as_published import PUBLISHED
from vibrid.papers.ocpnn.models import EVERY, data, kept_networks, network_forces, networks, recipe_of
from vibrid.papers.ocpnn.open_loop import row_of, score
from vibrid.papers.ocpnn.pairs import COMPANION_SIGNALS
from vibrid.papers.ocpnn.paper import PAPER
from vibrid.papers.paper import Check, Outcome, Run
from vibrid.papers.verdict import DOES_NOT, REPRODUCES, UNTESTABLE

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


CHOICES = {"dropout": [0.0, 0.1, 0.2], "batch": [5, 10, 42], "decay": [0.9, 0.99], "joined": [[48], [48, 48]]}
"""Around the printed settings."""


@PAPER.study("published-search", "The published network over dropout, batch, decay and layers", real_data=True,
             part="published")  # fmt: skip
def published_search(run: Run) -> Outcome:
    pairs = run.once(data, "real")
    choices = {"dropout": [0.0, 0.1]} if run.quick else CHOICES
    recipe = PUBLISHED[NAME].replace(epochs=1 if run.quick else 30, seeds=1, rate=1024.0 / EVERY, stretch=1500)
    if run.quick:
        recipe = recipe.replace(joined=(8,), branch=4, stretch=512)
    trials = search_recipes(
        recipe, choices, [pair.test(EVERY) for pair in pairs.training], [pair.test(EVERY) for pair in pairs.validation],
        companion_names=COMPANION_SIGNALS, workers=1 if accelerated() else cores(), progress=run.progress,
    )  # fmt: skip
    rows = [{**t.choice, "validation NRMSE, %": 100 * t.scores.nrmse, "seconds": t.seconds} for t in trials]
    best, printed = trials[0], {name: getattr(PUBLISHED[NAME], name) for name in choices}
    mine = next(t for t in trials if all(_same(t.choice[name], value) for name, value in printed.items()))
    words = ", ".join(f"{name} {value}" for name, value in best.choice.items())
    gain = f"{100 * best.scores.nrmse:.2f} % ({words}), the printed settings {100 * mine.scores.nrmse:.2f} %"
    close = mine.scores.nrmse <= 1.05 * best.scores.nrmse
    verdict = f"{REPRODUCES}: no choice is much better" if close else f"{DOES_NOT} another choice is better: {gain}"
    note = f"{recipe.epochs} epochs, one initial weight, every {EVERY}-th sample (256 Hz); a full grid, the best first."
    return Outcome(rows, [Check("verdict", verdict), Check("best", gain)], note)


def _same(choice, value) -> bool:
    return (tuple(choice) if isinstance(choice, list) else choice) == value
