"""What PIDynNet costs, on whatever device JAX has: the paper's schedule, a training step, and our default setting.

    python benchmarks/pidynnet.py [--seeds 10] [--machine "one GPU"] [--whole]

The paper's schedule (`faithful`: ten initialisations, eight subperiods, 1000 + 10 000 iterations each, no early stop)
runs whole where there is an accelerator, or with --whole; elsewhere it is told from the time of an iteration.
"""

from __future__ import annotations

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np
from table import save

from vibrid.identification import PIDynNet, identify, make_problem
from vibrid.identification.methods.pidynnet import faithful
from vibrid.identification.regression import measured_motion
from vibrid.networks import train
from vibrid.papers.pages import machine
from vibrid.papers.pidynnet.systems import cubic, measured, respond, synthetic

PAPER_SECONDS = 432.0  # one initialisation on two A100
SUBPERIODS, PRETRAINING, ITERATIONS = 8, 1000, 10_000


def step_seconds(problem, seeds: int, count: int) -> float:
    """Seconds of one iteration of all initialisations in a scan of `count`; the best of three, compiled before."""
    method = PIDynNet(faithful=True, seeds=seeds)
    letter = method.letter(problem)
    motion = tuple(np.asarray(p) for p in measured_motion(problem))
    n, p = motion[0].shape[1], len(problem.unknowns)
    m = int(faithful.flat_start(letter.model(jnp.ones(p))).size)
    learner = faithful.new_learners(jax.random.key(0), seeds, (2, *[method.width] * (method.layers - 1), n), m, p)
    free = np.full((seeds, p), np.inf)
    inside = slice(0, round(5.0 / problem.data[0].step) + 1)
    draw = (np.random.default_rng(0), seeds, method.pool)
    part = faithful.subperiod_of(problem, motion, inside, draw, -free, free, np.full((seeds, m), np.nan))
    state = faithful.begin_training(letter, learner)
    return _best(lambda: train(letter, state, jax.random.key(0), count, block=count, data=part).state, count)


def products_seconds(outputs: tuple[int, int], seeds: int, count: int, batch: int = 500, width: int = 64) -> float:
    """Seconds of the matrix products of one iteration alone: values and derivatives forward, both products backward."""
    streams = {outputs[0]: 3, outputs[1]: 2}  # x with two derivatives, z with one
    shapes = []
    for out, stream in streams.items() if outputs[0] != outputs[1] else ((outputs[0], 5),):
        layers = [(2, width), *[(width, width)] * 3, (width, out)]
        shapes += [(stream * batch, a, b) for a, b in layers]
    keys = jax.random.split(jax.random.key(0), len(shapes))
    pairs = [(jax.random.normal(k, (seeds, r, a)), jax.random.normal(k, (seeds, a, b)))
             for k, (r, a, b) in zip(keys, shapes, strict=True)]  # fmt: skip

    @jax.jit
    def run(pairs):
        def body(total, _):
            for x, w in pairs:
                w = w + 1e-12 * total  # what the loop changes, so that nothing is hoisted out of it
                y = x @ w
                back = y @ jnp.swapaxes(w, 1, 2)
                slope = jnp.swapaxes(x, 1, 2) @ y
                total = total + 1e-12 * (back[0, 0, 0] + slope[0, 0, 0])
            return total, None

        return jax.lax.scan(body, 0.0, None, length=count)[0]

    return _best(lambda: run(pairs), count)


def _best(call, count: int, runs: int = 3) -> float:
    jax.block_until_ready(call())
    found = []
    for _ in range(runs):
        began = time.perf_counter()
        jax.block_until_ready(call())
        found.append((time.perf_counter() - began) / count)
    return min(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--machine", default=machine())
    parser.add_argument("--name", default="pidynnet")
    parser.add_argument("--whole", action="store_true", help="run the whole schedule without an accelerator too")
    chosen = parser.parse_args()
    accelerated = jax.default_backend() != "cpu"
    count = 500 if accelerated else 5
    system = cubic()
    record = measured(system, respond(system.building, synthetic(), 1000.0), 0.0)
    problem = make_problem(system.guess, record, system.unknown)
    rows = []

    def row(what, value, target="", met=None, note="", **details):
        rows.append({"what": what, "measured": value, "target": target, "met": met, "note": note, "details": details})
        print(rows[-1], flush=True)

    for seeds in dict.fromkeys((1, chosen.seeds)):
        step, alone = step_seconds(problem, seeds, count), products_seconds((10, 10), seeds, count)
        row(f"faithful: one iteration, {seeds} initialisation(s)", f"{1e3 * step:.3g} ms", "within 2 × its products",
            step < 2 * alone, f"its matrix products alone {1e3 * alone:.3g} ms ({step / alone:.1f} ×)", step=step,
            products=alone)  # fmt: skip
    schedule = f"faithful: {chosen.seeds} initialisations, {SUBPERIODS} subperiods, the paper's schedule"
    if accelerated or chosen.whole:
        fit = identify(system.guess, record, system.unknown, PIDynNet(faithful=True, seeds=chosen.seeds, tolerance=0.0))
        errors = [system.mean_error(v) for v in fit.history["seeds"]]
        row(schedule, f"{fit.seconds:.0f} s", "under 60 s on a GPU", fit.seconds < 60 if accelerated else None,
            f"compilation included; paper {PAPER_SECONDS:.0f} s for one; mean error {np.mean(errors):.3g} ± "
            f"{np.std(errors):.2g} %", seconds=fit.seconds, errors=errors)  # fmt: skip
    else:
        total = SUBPERIODS * (PRETRAINING + ITERATIONS) * step
        row(schedule, f"about {total / 60:.0f} min", "under 60 s on a GPU", None,
            "told from the time of an iteration: no accelerator here", seconds=total)  # fmt: skip
    coarse = measured(system, respond(system.building, synthetic(), 100.0), 0.05)
    for turn in ("compilation included", "compiled before"):
        began, busy = time.perf_counter(), time.process_time()
        fit = identify(system.guess, coarse, system.unknown, PIDynNet())
        seconds, busy = time.perf_counter() - began, time.process_time() - busy
        row(f"PIDynNet default, cubic, 5 % noise, one initialisation, {turn}", f"{seconds:.0f} s", "under 240 s",
            seconds < 240, f"{busy:.0f} s of a processor; error {system.mean_error(fit.estimate):.2g} %",
            seconds=seconds, processor=busy)  # fmt: skip
    save(chosen.name, "PIDynNet", "python benchmarks/pidynnet.py", chosen.machine, rows)


if __name__ == "__main__":
    main()
