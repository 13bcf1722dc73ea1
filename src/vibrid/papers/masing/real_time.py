"""The rate at which samples can be processed one by one, as in a test that runs."""

from __future__ import annotations

import time

import jax

from vibrid.identification import Sample, make_problem
from vibrid.papers.masing.cases import KOBE, RATE, UNKNOWN, as_record, data_of, device
from vibrid.papers.masing.seeds import OURS, PRINTED, RECALL, method_of
from vibrid.papers.paper import Check, Outcome
from vibrid.papers.verdict import DOES_NOT, REPRODUCES


def study(run) -> Outcome:
    """Updates a second of each method, one sample at a time, after compilation."""
    count = 50 if run.quick else 1500
    problem = make_problem(device(KOBE.guess), as_record(data_of(run, KOBE, 0.05, 1, True)[0]), UNKNOWN)
    data = problem.data[0]
    samples = [
        Sample(data.readings[k], data.present[k], data.drive.samples[k], data.drive.samples[k], data.step)
        for k in range(count)
    ]
    rows = []
    for kind, objective in ((PRINTED, 1), (PRINTED, 2), (OURS, 1), (OURS, 2), (RECALL, 1)):
        method = method_of(kind, KOBE, objective)
        step = jax.jit(lambda state, sample, method=method: method.step(problem, state, sample))
        state = jax.block_until_ready(step(method.init(problem), samples[0]))
        longest, started = 0.0, time.perf_counter()
        for sample in samples[1:]:
            before = time.perf_counter()
            state = jax.block_until_ready(step(state, sample))
            longest = max(longest, time.perf_counter() - before)
        rate = (count - 1) / (time.perf_counter() - started)
        which = kind if kind == RECALL else f"{kind}, objective {objective}"
        rows.append({"method": which, "updates a second": float(rate), "longest update (ms)": 1e3 * longest})
    slowest = min(row["updates a second"] for row in rows[:2])
    text = f"{slowest:.0f} updates a second at least, where the record has {RATE:g} samples a second"
    verdict = f"{REPRODUCES}: {text}" if slowest >= RATE else f"{DOES_NOT} the method is too slow: {text}"
    note = "Kobe at 50 Hz, window 150, stride 3, four unknowns; the Python call is included, compilation is not."
    return Outcome(rows, [Check("verdict", verdict)], note)
