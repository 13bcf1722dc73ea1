"""Cost of PIDynNet and WeakCollocation, on the device that JAX uses.

    python benchmarks/pidynnet.py [--part iteration] [--part schedule] [--part default] [--part weak] [--seeds 10]

`iteration`: a training step of the recipe as published against its matrix products alone. `schedule`: the paper's
schedule (ten initialisations, eight subperiods, 1000 + 10 000 iterations each, no early stop); it needs an accelerator
and is left out elsewhere unless named. `default`: our default setting, one initialisation, on the processor. `weak`:
WeakCollocation on the processor. Earlier results of other parts are kept.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from table import FOLDER, save

from vibrid.core.device import accelerated, on_processor
from vibrid.core.progress import Progress
from vibrid.identification import PIDynNet, WeakCollocation, identify, make_problem
from vibrid.identification.regression import measured_motion
from vibrid.networks import train
from vibrid.papers.pages import machine
from vibrid.papers.pidynnet.as_published import PIDynNetAsPublished
from vibrid.papers.pidynnet.losses import begin_training, flat_start, new_learners, subperiod_of
from vibrid.papers.pidynnet.systems import bouc_wen, cubic, measured, respond, synthetic

PAPER_SECONDS = 432.0  # one initialisation on two A100
SUBPERIODS, PRETRAINING, ITERATIONS = 8, 1000, 10_000


def step_seconds(problem, seeds: int, count: int) -> float:
    """Seconds of one iteration of all initialisations in a scan of `count`; the best of three, compiled before."""
    method = PIDynNetAsPublished(seeds=seeds)
    iteration = method.iteration(problem)
    motion = tuple(np.asarray(p) for p in measured_motion(problem))
    n, p = motion[0].shape[1], len(problem.unknowns)
    m = int(flat_start(iteration.model(jnp.ones(p))).size)
    learner = new_learners(jax.random.key(0), seeds, (2, *[method.width] * (method.layers - 1), n), m, p)
    free = np.full((seeds, p), np.inf)
    inside = slice(0, round(5.0 / problem.data[0].step) + 1)
    draw = (np.random.default_rng(0), seeds, method.pool)
    part = subperiod_of(problem, motion, inside, draw, -free, free, np.full((seeds, m), np.nan))
    state = begin_training(iteration, learner)
    return _best(lambda: train(iteration, state, jax.random.key(0), count, block=count, data=part).state, count)


def products_seconds(outputs: tuple[int, int], seeds: int, count: int, batch: int = 500, width: int = 64) -> float:
    """Seconds of the matrix products of one iteration alone: values and derivatives forward, both products backward."""
    streams = {outputs[0]: 3, outputs[1]: 2}  # x with two derivatives, z with one
    shapes = []
    for out, stream in streams.items() if outputs[0] != outputs[1] else ((outputs[0], 5),):
        layers = [(2, width), *[(width, width)] * 3, (width, out)]
        shapes += [(stream * batch, a, b) for a, b in layers]
    keys = jax.random.split(jax.random.key(0), len(shapes))
    pairs = [(jax.random.normal(k, (seeds, r, a), jnp.float32), jax.random.normal(k, (seeds, a, b), jnp.float32))
             for k, (r, a, b) in zip(keys, shapes, strict=True)]  # fmt: skip

    product = partial(jnp.matmul, precision=jax.lax.Precision.HIGHEST)

    @jax.jit
    def run(pairs):
        def body(total, _):
            for x, w in pairs:
                w = w + 1e-12 * total  # what the loop changes, so that nothing is hoisted out of it
                y = product(x, w)
                back, slope = product(y, jnp.swapaxes(w, 1, 2)), product(jnp.swapaxes(x, 1, 2), y)
                total = total + 1e-12 * (back[0, 0, 0] + slope[0, 0, 0])
            return total, None

        return jax.lax.scan(body, jnp.zeros((), jnp.float32), None, length=count)[0]

    return _best(lambda: run(pairs), count)


def _best(call, count: int, runs: int = 3) -> float:
    jax.block_until_ready(call())
    found = []
    for _ in range(runs):
        began = time.perf_counter()
        jax.block_until_ready(call())
        found.append((time.perf_counter() - began) / count)
    return min(found)


def iteration(rows, chosen) -> None:
    """One iteration of the recipe as published against its matrix products alone."""
    count = 500 if accelerated() else 5
    system = cubic()
    record = measured(system, respond(system.building, synthetic(), 100.0), 0.0)
    problem = make_problem(system.guess, record, system.unknown)
    for seeds in dict.fromkeys((1, chosen.seeds)):
        step, alone = step_seconds(problem, seeds, count), products_seconds((10, 10), seeds, count)
        row(rows, f"as published: one iteration, {seeds} initialisation(s)", f"{1e3 * step:.3g} ms",
            "within 2 × its products", step < 2 * alone,
            f"its matrix products alone {1e3 * alone:.3g} ms ({step / alone:.2f} ×)", step=step,
            products=alone)  # fmt: skip
    total = SUBPERIODS * (PRETRAINING + ITERATIONS) * step
    row(rows, f"as published: {chosen.seeds} initialisations, estimated from the time of an iteration",
        _duration(total), "", None,
        f"{SUBPERIODS} subperiods of {PRETRAINING} + {ITERATIONS} iterations, no compilation",
        seconds=total)  # fmt: skip


def schedule(rows, chosen) -> None:
    """The paper's schedule whole: every subperiod, no early stop, compilation and conclusion included."""
    system = cubic()
    record = measured(system, respond(system.building, synthetic(), 1000.0), 0.0)
    method = PIDynNetAsPublished(seeds=chosen.seeds, tolerance=0.0, iterations=chosen.iterations,
                      pretraining=PRETRAINING)  # fmt: skip
    stages = Stages()
    began = time.perf_counter()
    fit = identify(system.guess, record, system.unknown, method, progress=stages)
    seconds = time.perf_counter() - began
    errors = [system.mean_error(v) for v in fit.history["seeds"]]
    rows += schedule_rows(chosen, seconds, [b - began for b in stages.began], errors)


def schedule_rows(chosen, seconds: float, began: list[float], errors) -> list[dict]:
    """The schedule's training alone, and the whole call of a fresh process: what compiles and concludes beside it."""
    judged = accelerated() and chosen.iterations == ITERATIONS
    one = float(np.median(np.diff(began)[1:]))  # the first subperiod compiles
    training, compiling = SUBPERIODS * one, began[1] - began[0] - one
    concluding = seconds - began[-1] - one
    made: list[dict] = []
    row(made, f"as published: {chosen.seeds} initialisations, {SUBPERIODS} subperiods of {PRETRAINING} + "
        f"{chosen.iterations} iterations: training", _duration(training), "under 60 s on a GPU",
        training < 60 if judged else None,
        f"{SUBPERIODS} × {one:.2f} s, the median of the subperiods after the first, which compiles; paper "
        f"{PAPER_SECONDS:.0f} s for one initialisation; mean error {np.mean(errors):.3g} ± {np.std(errors):.2g} %",
        seconds=training, errors=list(errors))  # fmt: skip
    before = "programs compiled by an earlier one" if chosen.compiled else "nothing compiled before"
    row(made, f"the same: the whole first call of a fresh process, {before}", _duration(seconds),
        "under 60 s on a GPU", seconds < 60 if judged else None,
        f"{began[0]:.0f} s preparing, {compiling:.0f} s compiling the training, {training:.0f} s training, "
        f"{concluding:.0f} s concluding", seconds=seconds, began=list(began))  # fmt: skip
    return made


class Stages(Progress):
    """When every subperiod began."""

    def __init__(self):
        self.began: list[float] = []

    def stage(self, name, total=None):
        self.began.append(time.perf_counter())
        print(f"{time.strftime('%X')} {name}", flush=True)


def default(rows, chosen) -> None:
    """The default setting, one initialisation, as a user meets it and once compiled."""
    system = cubic()
    coarse = measured(system, respond(system.building, synthetic(), 100.0), 0.05)
    for turn in ("compilation included", "compiled before"):
        began, busy = time.perf_counter(), time.process_time()
        with on_processor():
            fit = identify(system.guess, coarse, system.unknown, PIDynNet())
        seconds, busy = time.perf_counter() - began, time.process_time() - busy
        row(rows, f"PIDynNet default, cubic, 5 % noise, one initialisation, {turn}", _duration(seconds),
            "under 240 s on 2 cores", seconds < 240,
            f"{busy:.0f} s of a processor; error {system.mean_error(fit.estimate):.2g} %",
            seconds=seconds, processor=busy)  # fmt: skip


def weak(rows, chosen) -> None:
    """WeakCollocation on both systems, as a user meets it and once compiled."""
    for system in (cubic(), bouc_wen()):
        true = respond(system.building, synthetic(), 100.0)
        for noise, key, turn in ((0.0, 0, "compilation included"), (0.025, 0, ""), (0.05, 0, ""), (0.05, 1, "again")):
            record = measured(system, true, noise, key)
            began, busy = time.perf_counter(), time.process_time()
            with on_processor():
                fit = identify(system.guess, record, system.unknown, WeakCollocation())
            seconds, busy = time.perf_counter() - began, time.process_time() - busy
            row(rows, f"WeakCollocation, {system.name}, {100 * noise:g} % noise{turn and ', '}{turn}",
                f"{busy:.1f} s of a processor", "under 20 s on 2 cores", busy < 20,
                f"{seconds:.1f} s by the clock; error {system.mean_error(fit.estimate):.2g} %",
                seconds=seconds, processor=busy)  # fmt: skip


PARTS = {"iteration": iteration, "schedule": schedule, "default": default, "weak": weak}


def row(rows, what, value, target="", met=None, note="", **details):
    rows.append({"what": what, "measured": value, "target": target, "met": met, "note": note, "details": details})
    print(rows[-1], flush=True)


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 600 else f"{seconds / 60:.0f} min"


def kept(name: str) -> list[dict]:
    """Rows of an earlier call, so that parts can be measured one by one."""
    file = FOLDER / "results" / f"{name}.json"
    return json.loads(file.read_text())["rows"] if file.exists() else []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=PARTS, action="append", help="what to measure; may be given again")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--iterations", type=int, default=ITERATIONS, help="of a subperiod of the schedule")
    parser.add_argument("--compiled", action="store_true", help="an earlier call has filled the cache of programs")
    parser.add_argument("--machine", default=machine())
    parser.add_argument("--name", default="pidynnet", help="of the table")
    parser.add_argument("--title", default="PIDynNet and WeakCollocation", help="of the table")
    chosen = parser.parse_args()
    rows = kept(chosen.name)
    for part in chosen.part or (PARTS if accelerated() else ("iteration", "default", "weak")):
        name = f"{part}, compiled before" if chosen.compiled else part
        rows = [old for old in rows if old["part"] != name]
        new: list[dict] = []
        PARTS[part](new, chosen)
        rows += [own | {"part": name} for own in new]
        parts = dict.fromkeys(own["part"].split(",")[0] for own in rows)
        command = " ".join(["python benchmarks/pidynnet.py", *(f"--part {p}" for p in parts), f"--name {chosen.name}"])
        save(chosen.name, chosen.title, command.removesuffix(" --name pidynnet"), chosen.machine, rows)


if __name__ == "__main__":
    main()
