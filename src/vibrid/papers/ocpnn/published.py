"""Results of the networks as published, to the end of their training."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np

from vibrid.core.device import accelerated, on_processor
from vibrid.papers.ocpnn.models import data, network_forces
from vibrid.papers.ocpnn.open_loop import PAPER_TABLE_3, row_of, score
from vibrid.papers.ocpnn.paper import PAPER
from vibrid.papers.ocpnn.published_networks import published_networks
from vibrid.papers.paper import Check, Outcome, Run


def as_published(run: Run, name: str) -> Outcome:
    """Scores of one of the paper's networks on its validation motions and on motions that were not used in training."""
    pairs, rows, models = run.once(data, "real"), [], run.once(published_networks, name)
    means = []
    with on_processor():
        for split, split_pairs in (("validation", pairs.validation), ("held-out", pairs.held_out)):
            tests = [p.test() for p in split_pairs]
            for saved in models:
                model = jax.device_put(saved.model, jax.devices("cpu")[0])
                results = score(network_forces(dataclasses.replace(saved, model=model), tests), tests, 1)
                rows.append(row_of(name, split, results, str(saved.facts["seed"])))
                means.append((split, 100 * float(np.mean([s.nrmse for s in results.whole]))))
    best, worst = (f([m for split, m in means if split == "validation"]) for f in (min, max))
    printed = PAPER_TABLE_3.get(name)
    words = f"{printed[0][0]} ± {printed[0][1]} (paper)" if printed else ""
    note = (
        f"{models[0].facts['epochs']} epochs (our assumption: the paper does not state it), {len(models)} initial "
        f"weights trained at once, best on the validation tests first; trained on {len(pairs.training)} second-storey "
        "tests at 1024 Hz. The device, its tests and two of the four validation motions are not the paper's."
    )
    if not accelerated() and not run.quick:
        note += " Trained on an accelerator; scored on processors."
    return Outcome(rows, [Check("NRMSE on the validation motions, %", f"{best:.2f} to {worst:.2f}", words)], note)


def _add(name: str, title: str) -> None:
    @PAPER.study(f"published-{name}", title, real_data=True, part="published")
    def study(run: Run) -> Outcome:
        return as_published(run, name)


_add("data-driven", "The data-driven network as published, to the end of its training")
_add("physics-based", "The physics-based network as published, to the end of its training")
_add("offline", "The offline network as published, to the end of its training")
