"""Training of device networks on the processor: time and accuracy of the shipped recipes.

    python benchmarks/device_training.py [--data FOLDER] [--seed 0]

One set of initial weights of the data-driven and of the physics-based recipe, trained on 84 tests (42 pairs of the
virtual specimen) and scored on the 30 held-out ones; with `--data` the motions are real, otherwise synthetic. The time
does not include making the pairs; they are kept for the next call. Training as published on an accelerator is timed by
`vibrid reproduce ocpnn --part published`.
"""

import argparse
import time
from pathlib import Path

from table import save

from vibrid.core.device import on_processor
from vibrid.core.loops import compile_whole_loops

LIMITS = {"data-driven": 4.0, "physics-based": 5.4}  # %, held-out NRMSE
MINUTES = 20.0


def measured(name: str, run, kind: str, seed: int) -> dict:
    """A recipe trained and scored; the law of a law layer is fitted first."""
    from vibrid.commands.progress import PlainProgress
    from vibrid.hybrid.learned.recipes import train_models
    from vibrid.papers.ocpnn.models import EVERY, RECIPES, data, fitted_lugre, network_forces, scores, training_tests
    from vibrid.papers.ocpnn.pairs import COMPANION_SIGNALS
    from vibrid.records.force_scores import ForceScores

    recipe, pairs = RECIPES[name], run.once(data, kind)
    training, validation = training_tests(pairs.training), [p.test(EVERY) for p in pairs.validation]
    began = time.perf_counter()
    saved = train_models(
        recipe, training, validation, companion_names=COMPANION_SIGNALS,
        law=fitted_lugre(run, kind) if recipe.answer != "direct" else None,
        seeds=[seed], progress=PlainProgress(),
    )[0]  # fmt: skip
    minutes = (time.perf_counter() - began) / 60
    tests = [p.test(EVERY) for p in pairs.held_out]
    error = 100 * ForceScores.mean(scores(network_forces(saved, tests), tests)).nrmse
    limit = LIMITS[name]
    return {
        "what": f"{name}, {recipe.epochs} epochs on {len(training)} tests",
        "measured": f"{minutes:.1f} min, {error:.2f} %",
        "target": f"under {MINUTES:g} min, held-out NRMSE ≤ {limit} %", "met": minutes < MINUTES and error <= limit,
        "note": "compilation, the fit of a law and scores on the validation tests included",
        "details": {"minutes": minutes, "held-out NRMSE, %": error, "seed": seed},
    }  # fmt: skip


def main() -> None:
    from vibrid.papers.ocpnn.models import data
    from vibrid.papers.pages import machine
    from vibrid.papers.paper import Run

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of real records")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--machine", default=machine())
    chosen = parser.parse_args()
    compile_whole_loops()
    kind = "real" if chosen.data else "synthetic"
    with on_processor():
        run = Run(data=chosen.data)
        run.once(data, kind)
        rows = [measured(name, run, kind, chosen.seed) for name in LIMITS]
    command = f"python benchmarks/device_training.py{' --data FOLDER' if chosen.data else ''}"
    save(f"device_training-{kind}", f"Training of device networks, {kind} motions", command, chosen.machine, rows)


if __name__ == "__main__":
    main()
