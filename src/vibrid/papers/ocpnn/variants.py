"""Beyond the paper: other laws in the layer, the published training in one batch, a grid search, several devices."""

from __future__ import annotations

import time

import jax
import numpy as np

from vibrid.core.device import accelerated, cores, on_processor
from vibrid.core.progress import Progress
from vibrid.hybrid.characterise import Search, characterise, forces_of_law
from vibrid.hybrid.coordinator import HybridTest
from vibrid.hybrid.learned.closed_loop import loop_errors, run_or_break
from vibrid.hybrid.learned.files import SavedModel
from vibrid.hybrid.learned.histories import stack
from vibrid.hybrid.learned.recipes import Recipe, train_models
from vibrid.hybrid.learned.search import search_recipes
from vibrid.hybrid.parts import Experimental, Modelled
from vibrid.laws.linear import Linear
from vibrid.papers.ocpnn.as_published import PUBLISHED
from vibrid.papers.ocpnn.characterisation import candidates
from vibrid.papers.ocpnn.models import (
    EVERY,
    RATE,
    RECIPES,
    data,
    laws,
    network_forces,
    networks,
    scores,
    training_tests,
)
from vibrid.papers.ocpnn.open_loop import row_of
from vibrid.papers.ocpnn.pairs import CAPACITIES, COMPANION_SIGNALS, specimen
from vibrid.papers.ocpnn.paper import PAPER, laboratory, side_by_side
from vibrid.papers.ocpnn.suite import AFTER, at_half_scale, real_suite
from vibrid.papers.paper import Check, Outcome, Run
from vibrid.records.force_scores import ForceScores
from vibrid.structures.damping import Rayleigh
from vibrid.structures.shear import ShearBuilding

LAYERS = {
    "LuGre": ("bristle_stiffness", "bristle_damping"),
    "Bouc–Wen": ("stiffness",),
    "Masing": ("damping",),
}
"""Laws, and the parameters that the network predicts. The stiffness of a law that stores forces of turning points
cannot change during a test: the force would not return to the stored one."""
EPOCHS = 300
"""Epochs of the paper's training, our assumption."""


@PAPER.study("layers", "Other laws in the physics layer", real_data=True, part="variants")
def layers(run: Run) -> Outcome:
    """Every law is fitted to the training tests first, as it would be without a network."""
    pairs = run.once(data, "real")
    epochs = 2 if run.quick else 40
    search: Search = {"population": 4, "generations": 12}
    if run.quick:
        search = {"population": 2, "generations": 1, "polished": 1}
    training, tests = [p.test(EVERY) for p in pairs.training], [p.test(EVERY) for p in pairs.held_out]
    rows = []
    for name, learned in LAYERS.items():
        law, free = candidates()[name]
        run.progress.stage(f"{name} on the training tests")
        with on_processor():
            law = characterise(law, free, training[::3], RATE / EVERY, progress=run.progress, **search).law
            alone = forces_of_law(law, stack(tests), RATE / EVERY)
        alone = [np.asarray(force)[: len(test.x)] for force, test in zip(alone, tests, strict=True)]
        rows.append(row_of(f"{name}, fitted", "held-out", scores(alone, tests)))
        recipe = Recipe(answer="law-layer", learned=learned, span=3.0, epochs=epochs, every=max(epochs // 25, 1))
        began = time.perf_counter()
        saved = train_models(
            recipe, training, [p.test(EVERY) for p in pairs.validation], law=law, companion_names=COMPANION_SIGNALS,
            progress=run.progress,
        )[0]  # fmt: skip
        seconds = time.perf_counter() - began
        row = row_of(f"{name} layer", "held-out", scores(network_forces(saved, tests), tests))
        rows.append({**row, "given by the network": ", ".join(learned), "training, s": seconds})
    note = (
        f"Laws are fitted to a third of the training tests. {epochs} epochs, one seed, second-storey tests only. "
        "The network predicts the parameters named, the others stay as fitted. Any registered law can be used."
    )
    return Outcome(rows, [], note)


@PAPER.study("recurrent", "The layers of the paper with our features and training", real_data=True, part="variants")
def recurrent(run: Run) -> Outcome:
    pairs = run.once(data, "real")
    epochs, seeds = (1, 1) if run.quick else (60, 3)
    recipe = Recipe(network="lstm", branch=16, joined=(48, 48), epochs=epochs, every=max(epochs // 25, 1), seeds=seeds)
    began = time.perf_counter()
    models = train_models(recipe, training_tests(pairs.training), [p.test(EVERY) for p in pairs.validation],
                          companion_names=COMPANION_SIGNALS, progress=run.progress)  # fmt: skip
    seconds, rows = time.perf_counter() - began, []
    for split, split_pairs in (("validation", pairs.validation), ("held-out", pairs.held_out)):
        tests = [p.test(EVERY) for p in split_pairs]
        for saved in models:
            results = scores(network_forces(saved, tests), tests)
            rows.append(row_of("LSTM 16 + 16, 48, 48", split, results, str(saved.facts["seed"])))
    note = (
        f"{epochs} epochs, {seeds} initial weights at once in {seconds:.0f} s; play operators and velocity at 256 Hz."
    )
    return Outcome(rows, [], note)


class EpochClock(Progress):
    """Progress that also records the time of every update."""

    def __init__(self, shown: Progress):
        self.shown = shown
        self.ended: list[tuple[int, float]] = []

    def stage(self, label: str, total: int | None = None) -> None:
        self.shown.stage(label, total)

    def update(self, done: int, note: str = "") -> None:
        self.ended.append((done, time.perf_counter()))
        self.shown.update(done, note)

    def seconds_an_epoch(self) -> float:
        """Without the epochs before the first update, which include compilation; zero if there was one update only."""
        (first, began), (last, ended) = self.ended[0], self.ended[-1]
        return (ended - began) / max(last - first, 1)


@PAPER.study(
    "published-one-batch", "The published training with all tests in one batch", real_data=True, part="published"
)
def one_batch(run: Run) -> Outcome:
    """The data-driven network as published, but in one batch instead of batches of ten; few epochs without a GPU."""
    epochs = 1 if run.quick else EPOCHS if accelerated() else 4
    pairs = run.once(data, "real")
    training, validation = [p.test() for p in pairs.training], [p.test() for p in pairs.validation]
    held_out, clock, rows = [p.test() for p in pairs.held_out], EpochClock(run.progress), []
    began = time.perf_counter()
    recipe = PUBLISHED["data-driven"].replace(epochs=epochs, batch=0, seeds=1)
    saved = train_models(recipe, training, validation, companion_names=COMPANION_SIGNALS, progress=clock)[0]
    seconds, epochs = time.perf_counter() - began, saved.facts["epochs"]  # fewer after Ctrl-C
    each = clock.seconds_an_epoch() or seconds / epochs
    minutes = (seconds if epochs == EPOCHS else EPOCHS * each) / 60
    with on_processor():
        model = jax.device_put(saved.model, jax.devices("cpu")[0])
        for split, tests in (("validation", validation), ("held-out", held_out)):
            forces = network_forces(SavedModel(model, saved.stiffness, saved.facts), tests)
            rows.append({**row_of("as published, one batch", split, scores(forces, tests)),
                         "tests in a batch": len(training), "epochs": epochs, "seconds": seconds,
                         "seconds an epoch": each, f"minutes for {EPOCHS} epochs": minutes})  # fmt: skip
    judged = minutes < 20 if accelerated() and epochs == EPOCHS else None
    words = f"{len(training)} tests at 1024 Hz, {EPOCHS} epochs in one batch, minutes"
    note = (
        f"{epochs} of {EPOCHS} epochs (our assumption: the paper does not state it). Seconds include compilation "
        "and the scores on the validation tests, seconds per epoch do not; the minutes of epochs that were not run "
        "are estimated from the seconds per epoch."
    )
    return Outcome(rows, [Check(words, f"{minutes:.1f}", "< 20 on a GPU", judged)], note)


@PAPER.study("four-storeys", "Four storeys: two devices tested, two modelled", real_data=True, part="loops")
def four_storeys(run: Run) -> Outcome:
    """A shear building of four storeys; networks trained for the two-storey frame, not for this building."""
    building = ShearBuilding(
        masses=[9e3] * 4, storeys=[Linear(k) for k in (14e6, 13e6, 11e6, 9e6)],
        damping=Rayleigh.from_ratios([1.6, 4.6], 0.03),
    )  # fmt: skip
    motions = dict(list(real_suite(run).held_out.items())[: 1 if run.quick else 4])
    places = ((0, ""), (1, "0"), (2, "1"), (3, "2"))
    names = ("first", "second", "third", "fourth")
    companions = {"second": "first", "fourth": "third"}
    saved, fixed = run.once(networks, "real", "data-driven")[0], run.once(laws, "real")["LuGre, fitted"]

    def test(key: int, capacity: float, device) -> HybridTest:
        tested, modelled = [], []
        for i, (name, (at, to)) in enumerate(zip(names, places, strict=True)):
            place = {"at": at, "to": to, "name": name, "count": 2}
            if name in companions:
                modelled.append(Modelled(device(key + i, capacity, i), **place, companion=companions[name]))
            else:
                tested.append(Experimental(specimen(key + i, capacity, 0), **place, **laboratory()))
        return HybridTest(building, tested, modelled)

    kinds = {
        "the specimens": lambda key, capacity, i: specimen(key, capacity, 1),
        "the specimens in another test": lambda key, capacity, i: specimen(key, capacity, 3),
        "data-driven network": lambda key, capacity, i: saved.device(RATE, capacity),
        "LuGre, fitted": lambda key, capacity, i: fixed(capacity),
    }
    jobs = [
        (name, at_half_scale(scaled), capacity, 700 + 10 * j, words)
        for j, (name, scaled) in enumerate(motions.items())
        for capacity in CAPACITIES
        for words in kinds
    ]
    run.progress.stage("four storeys", len(jobs))

    def run_job(name, record, capacity, key, words):
        return run_or_break(test(key, capacity, kinds[words]), record)

    results = dict(zip([(j[0], j[2], j[4]) for j in jobs], side_by_side(run_job, jobs, run.progress), strict=True))
    rows = []
    for words in list(kinds)[1:]:
        errors = {place: [] for place in companions}
        for (name, capacity, kind), result in results.items():
            if kind == words and result is not None:
                true = results[name, capacity, "the specimens"]
                for place in companions:
                    errors[place].append(loop_errors(result, true, place, "roof", AFTER))
        for place, at_place in errors.items():
            rows.append({"modelled": words, "storey": place, "companion": companions[place], "tests": len(at_place),
                         "roof NRMSE, %": 100 * float(np.mean([e.displacement for e in at_place])),
                         "force NRMSE, %": 100 * float(np.mean([e.force for e in at_place])),
                         "residual roof, worst, mm": 1e3 * float(np.max([e.residual for e in at_place]))})  # fmt: skip
    network = np.mean([r["roof NRMSE, %"] for r in rows if r["modelled"] == "data-driven network"])
    law = np.mean([r["roof NRMSE, %"] for r in rows if r["modelled"] == "LuGre, fitted"])
    return Outcome(
        rows,
        [Check("roof NRMSE, network / fitted LuGre, %", f"{network:.2f} / {law:.2f}", "smaller", bool(network < law))],
        "Every storey has two dampers; the modelled ones use measurements of the tested one below them. Four held-out "
        "motions, three capacities. Each storey has its own specimen.",
    )


@PAPER.study("search", "Layers, units and learning rate, searched", real_data=True, part="variants")
def search(run: Run) -> Outcome:
    pairs = run.once(data, "real")
    epochs = 1 if run.quick else 15
    choices = {"oscillators": [12, 24, 48], "hidden": [[32], [48, 32], [64, 64]], "learning_rate": [2e-3, 5e-3, 1e-2]}
    if run.quick:
        choices = {"oscillators": [12], "hidden": [[32]], "learning_rate": [5e-3, 1e-2]}
    trials = search_recipes(
        RECIPES["data-driven"].replace(epochs=epochs, every=1), choices, training_tests(pairs.training),
        [p.test(EVERY) for p in pairs.validation], companion_names=COMPANION_SIGNALS,
        workers=1 if accelerated() else cores(), progress=run.progress,
    )  # fmt: skip
    rows = [{**trial.choice, "validation NRMSE, %": 100 * trial.scores.nrmse, "seconds": trial.seconds}
            for trial in trials]  # fmt: skip
    best: ForceScores = trials[0].scores
    note = f"A full grid, {epochs} epochs each; the best first. The errors differ little: the sizes hardly matter."
    return Outcome(rows, [Check("best validation NRMSE, %", f"{100 * best.nrmse:.2f}")], note)
