"""Tables 1 and 2: online identification with the right and with a wrong distribution."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from vibrid.identification import OnlineRecall
from vibrid.laws import RayleighYield, WeibullYield
from vibrid.papers.masing.cases import (
    KOBE,
    SAN_FERNANDO,
    UNKNOWN,
    as_record,
    constants,
    data_of,
    device,
    errors,
    force_of,
    identify_many,
    motion,
    noisy,
)
from vibrid.papers.paper import Check, Outcome
from vibrid.report.style import BOUND, CYCLE, INK, log_axis, new_axes
from vibrid.simulation import simulate

TABLE_1 = (
    (1, KOBE, 1, 0.0, 0.034), (2, KOBE, 1, 0.01, 0.039), (3, KOBE, 1, 0.05, 0.051), (4, KOBE, 1, 0.10, 0.025),
    (5, KOBE, 2, 0.0, 0.050), (6, KOBE, 2, 0.01, 0.052), (7, KOBE, 2, 0.05, 0.051), (8, KOBE, 2, 0.10, 0.119),
    (9, SAN_FERNANDO, 1, 0.0, 0.046), (10, SAN_FERNANDO, 1, 0.01, 0.064),
    (11, SAN_FERNANDO, 2, 0.0, 0.033), (12, SAN_FERNANDO, 2, 0.01, 0.042),
)  # fmt: skip
"""Case, motion, objective, noise, the paper's error."""

TRUTH_2 = (3.0, 4.0, 2.1, 7.0, 0.2, 1.0)  # β, k, a, b, x0, c*
GUESS_2 = (3.5, 4.5, 6.0, 1.5)
TABLE_2 = (
    (1, 1, 0.0, (3.02, 4.16, 6.32, 1.02), 0.06), (2, 1, 0.10, (2.96, 4.11, 6.45, 1.06), 0.08),
    (3, 2, 0.0, (3.55, 3.97, 6.40, 1.11), 0.07), (4, 2, 0.10, (3.36, 4.03, 6.32, 1.16), 0.06),
)  # fmt: skip
"""Case, objective, noise, the paper's θ̂ and its error of the distribution."""


def seeds_of(run) -> int:
    return 2 if run.quick else 20


def recalled(run, system, noise: float, real: bool):
    """Estimates and certainty of the better method on a test: shared by cases that differ in the objective alone."""
    ends, sure, _ = identify_many(
        OnlineRecall(), device(system.guess), data_of(run, system, noise, seeds_of(run), real)
    )
    return ends, sure


def table_1(run, real: bool) -> Outcome:
    rows, met = [], {"low": [], "high": [], "better": []}
    for case, system, objective, noise, paper in TABLE_1:
        run.progress.stage(f"case {case}")
        data = data_of(run, system, noise, seeds_of(run), real)
        ends, _, _ = identify_many(system.method(objective), device(system.guess), data)
        printed = {}
        if real:  # λ_θ as eq. 14 is printed
            method = system.method(objective, as_published=True)
            published = errors(identify_many(method, device(system.guess), data)[0], system.truth)
            printed = {"as printed": float(np.median(published)), "as printed, worst": float(published.max())}
        better, sure = run.once(recalled, system, noise, real)
        masing = errors(ends, system.truth)
        recall = errors(better, system.truth)
        met["high" if noise == 0.10 else "low"].append(np.median(masing))
        if noise == 0.10:
            met["better"].append(np.median(recall))
        rows.append(
            {
                "case": case,
                "motion": system.name,
                "objective": objective,
                "noise": f"{100 * noise:g} %",
                "paper": paper,
                "OnlineMasing": float(np.median(masing)),
                "worst": float(masing.max()),
                **printed,
                "median θ̂": np.array2string(np.median(ends, axis=0), precision=2, separator=" "),
                "OnlineRecall": float(np.median(recall)),
                "its worst": float(recall.max()),
                "its unsure": int(np.sum(~sure)),
            }
        )
    rows.append(no_deterioration(run, real))
    checks = [
        Check("paper's method, worst case median up to 5 % noise", f"{max(met['low']):.3f}", "≤ 0.05",
              bool(max(met["low"]) <= 0.05)),
        Check("paper's method, worst case median at 10 % noise", f"{max(met['high']):.3f}", "≤ 0.10",
              bool(max(met["high"]) <= 0.10)),
        Check("OnlineRecall, worst case median at 10 % noise", f"{max(met['better']):.4f}", "≤ 0.015",
              bool(max(met["better"]) <= 0.015)),
    ]  # fmt: skip
    return Outcome(rows=rows, checks=checks, note=note_1(run, real))


def no_deterioration(run, real: bool) -> dict:
    """A further case: a system that never breaks, identified with β = ∞."""
    data = data_of(run, KOBE, 0.05, seeds_of(run), real, float("inf"))
    guess = device(KOBE.guess, ductility=float("inf"))
    ends, _, _ = identify_many(KOBE.method(1), guess, data, UNKNOWN[1:])
    better, sure, _ = identify_many(OnlineRecall(), guess, data, UNKNOWN[1:])
    masing, recall = errors(ends, KOBE.truth), errors(better, KOBE.truth)
    return {
        "case": "β = ∞",
        "motion": "Kobe",
        "objective": 1,
        "noise": "5 %",
        "OnlineMasing": float(np.median(masing)),
        "worst": float(masing.max()),
        "median θ̂": np.array2string(np.median(ends, axis=0), precision=2, separator=" "),
        "OnlineRecall": float(np.median(recall)),
        "its worst": float(recall.max()),
        "its unsure": int(np.sum(~sure)),
    }


def spread(run) -> Outcome:
    """The seeds of the hardest cases one by one, with λ_θ as printed: the paper's single run among them."""
    rows, dots = [], {}
    for case, system, objective, noise, paper in TABLE_1:
        if noise < 0.10:
            continue
        run.progress.stage(f"case {case}, as printed")
        data = data_of(run, system, noise, seeds_of(run), True)
        method = system.method(objective, as_published=True)
        by_seed = errors(identify_many(method, device(system.guess), data)[0], system.truth)
        dots[case] = by_seed
        rows.append(
            {
                "case": case,
                "objective": objective,
                "paper": paper,
                "lowest": float(by_seed.min()),
                "median": float(np.median(by_seed)),
                "worst": float(by_seed.max()),
                "seeds not worse than the paper's run": int(np.sum(by_seed <= paper)),
            }
        )
    note = f"Kobe, 10 % noise, {seeds_of(run)} seeds, errors ‖θ̂ − θ‖/‖θ‖; window 150, stride 3."
    return Outcome(rows=rows, figure=dots_figure(dots), note=note)


def dots_figure(dots: dict):
    """Every seed of a case as a dot, its median as a line, the paper's single run dashed."""
    ax = new_axes(6.5, 3.6)
    papers = {case: paper for case, _, _, _, paper in TABLE_1}
    for place, (case, by_seed) in enumerate(dots.items()):
        ax.semilogy(place + np.linspace(-0.2, 0.2, len(by_seed)), by_seed, "o", ms=4, color=CYCLE[0])
        ax.plot([place - 0.3, place + 0.3], [np.median(by_seed)] * 2, color=INK, lw=1.5)
        ax.plot([place - 0.4, place + 0.4], [papers[case]] * 2, color=BOUND, lw=1.5, ls="--")
    objectives = {case: objective for case, _, objective, _, _ in TABLE_1}
    ax.set_xticks(range(len(dots)), [f"case {case}, objective {objectives[case]}" for case in dots])
    ax.set(ylabel="‖θ̂ − θ‖/‖θ‖", title="10 % noise; line: median of seeds; dashed: the paper")
    log_axis(ax.yaxis, plain=True)
    return ax.figure


def note_1(run, real: bool) -> str:
    which = (
        "Kobe KJMA 000 and San Fernando Lake Hughes 4 (111), integrated above 0.1 Hz"
        if real
        else "two synthetic earthquakes with PGV/PGD and PGA/PGV of the real ones, integrated above 0.1 Hz; the strong "
        f"part of the first lasts {KOBE.synthetic['significant_duration']:g} s: with the 8 s of the record the paper's "
        "descent is 0.08 off at its end even without noise"
    )
    return (
        f"Errors ‖θ̂ − θ‖/‖θ‖, medians over {seeds_of(run)} noise seeds; the paper shows one run of each case. Motions: "
        f"{which}; at 50 Hz, scaled to peak displacements of {KOBE.peak:g} and {SAN_FERNANDO.peak:g} (the paper scales "
        "too, and does not state by how much: these are the peaks that the PEER database lists for the two records, in "
        "cm and mm"
        + ("; with a Kobe peak of 8, 12 or 21 the paper's method with objective 2 misses the targets" if real else "")
        + "). The true force comes from 20000 sliders followed one by one, not from the law that is identified. "
        f"Constants as printed: {constants(KOBE)}; {constants(SAN_FERNANDO)}; δ_i 1.2, δ_d 0.95, three random "
        "directions. Ours: window 150, stride 3 (not printed), linear ramps; λ_θ also shrinks when a step is rejected"
        + (" ('as printed' keeps eq. 14 as it is printed)." if real else ".")
    )


def wrong_distribution(run, objective: int, noise: float):
    """Estimates of the paper's method, and of the better one, with a Rayleigh law for a Weibull system."""
    beta, k, a, b, x0, c = TRUTH_2
    x, v = run.once(motion, KOBE, True)
    f = force_of(stats.weibull_min(a, loc=x0, scale=b), beta, k, c / 10.0, x, v)
    data = np.stack([noisy(x, v, f, noise, seed) for seed in range(seeds_of(run))])
    ends, _, _ = identify_many(KOBE.method(objective), device(GUESS_2), data)
    better, _, _ = identify_many(OnlineRecall(), device(GUESS_2), data)
    return ends, better


def distribution_error(mean: float) -> float:
    """‖φ − φ̂‖/‖φ‖ of a Rayleigh distribution against the true Weibull one."""
    x = jnp.linspace(1e-4, 40.0, 8000)
    true = jax.vmap(WeibullYield(*TRUTH_2[2:5]).density)(x)
    return float(jnp.linalg.norm(true - jax.vmap(RayleighYield(mean).density)(x)) / jnp.linalg.norm(true))


def table_2(run) -> Outcome:
    rows = []
    for case, objective, noise, paper, paper_error in TABLE_2:
        run.progress.stage(f"case {case}")
        ends, better = run.once(wrong_distribution, objective, noise)
        of_distribution = [distribution_error(e[2]) for e in ends]
        rows.append(
            {
                "case": case,
                "objective": objective,
                "noise": f"{100 * noise:g} %",
                "paper θ̂": str(list(paper)),
                "paper error": paper_error,
                "median θ̂": np.array2string(np.median(ends, axis=0), precision=2, separator=" "),
                "‖φ−φ̂‖/‖φ‖": float(np.median(of_distribution)),
                "of the paper's θ̂": distribution_error(paper[2]),
                "OnlineRecall θ̂": np.array2string(np.median(better, axis=0), precision=2, separator=" "),
                "its ‖φ−φ̂‖/‖φ‖": float(np.median([distribution_error(e[2]) for e in better])),
            }
        )
    note = (
        f"True system: Weibull, θ = {list(TRUTH_2)} (β, k, a, b, x₀, c*); identified with a Rayleigh law from "
        f"{list(GUESS_2)}; medians over {seeds_of(run)} noise seeds. The printed integral diverges (φ = 0 below x₀), "
        "so ‖φ − φ̂‖/‖φ‖ is given, also for the paper's θ̂."
    )
    return Outcome(rows=rows, note=note)


def guard(run) -> Outcome:
    """Fifty seeds of the hardest case: does the better method flag its wrong results?"""
    seeds = 4 if run.quick else 50
    ends, sure, _ = identify_many(OnlineRecall(), device(KOBE.guess), data_of(run, KOBE, 0.10, seeds, True))
    by_seed = errors(ends, KOBE.truth)
    worst_sure = float(by_seed[sure].max()) if sure.any() else float("nan")
    flagged = float(np.mean(~sure))
    return Outcome(
        rows=[
            {
                "seeds": seeds,
                "median": float(np.median(by_seed)),
                "95 %": float(np.percentile(by_seed, 95)),
                "worst": float(by_seed.max()),
                "worst of the sure": worst_sure,
                "unsure": int(np.sum(~sure)),
            }
        ],
        checks=[
            Check("worst of the seeds that are not flagged unsure", f"{worst_sure:.3f}", "≤ 0.10", worst_sure <= 0.10),
            Check("flagged unsure", f"{100 * flagged:.0f} %", "≤ 10 %", flagged <= 0.10),
        ],
        note="Kobe, 10 % noise in displacement, velocity and force, first guess as in Table 1.",
    )


def simulate_force(theta, x, v):
    """Force of a Rayleigh system of the paper's θ for a noise-free motion."""
    beta, k, alpha, c = np.asarray(theta, dtype=float)
    return simulate(device((beta, k, alpha, c)), as_record(np.stack([x, v, x], axis=1))).part("device")[1]
