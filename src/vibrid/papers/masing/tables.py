"""Tables 1 and 2: online identification with the right and with a wrong distribution."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

from vibrid.identification import OnlineRecall
from vibrid.laws import RayleighYield, WeibullYield
from vibrid.papers.jobs import Arrays, run_jobs
from vibrid.papers.masing.cases import (
    KOBE,
    SAN_FERNANDO,
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
from vibrid.papers.masing.seeds import KINDS, OURS, PRINTED, RECALL, identified, job_of, method_of, seeds_of
from vibrid.papers.paper import Check, Outcome
from vibrid.report.style import CYCLE, INK, legend_above, log_axis, new_figure, styled
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


def table_1(run, real: bool) -> Outcome:
    kinds = KINDS if real else (OURS, RECALL)
    cases = [c for c in TABLE_1 if not run.quick or c[0] in (1, 9)]
    jobs = {(case, kind): job_of(kind, system, objective, noise, real) for case, system, objective, noise, _ in cases
            for kind in kinds}  # fmt: skip
    unique = list(dict.fromkeys(jobs.values()))
    results = dict(zip(unique, run_jobs(run, identified, unique), strict=True))
    done = {key: results[job] for key, job in jobs.items()}
    rows, met = [], {"low": [], "high": [], "better": []}
    for case, system, objective, noise, paper in cases:
        ours, recall = done[case, OURS], done[case, RECALL]
        printed = spread_of(done[case, PRINTED]["errors"], paper) if real else {}
        met["high" if noise == 0.10 else "low"].append(np.median(ours["errors"]))
        if noise == 0.10:
            met["better"].append(np.median(recall["errors"]))
        rows.append(
            {
                "case": case,
                "motion": system.name,
                "objective": objective,
                "noise": f"{100 * noise:g} %",
                "paper": paper,
                "OnlineMasing": float(np.median(ours["errors"])),
                "worst": float(ours["errors"].max()),
                **printed,
                "median θ̂": np.array2string(np.median(ours["ends"], axis=0), precision=2, separator=" "),
                "OnlineRecall": float(np.median(recall["errors"])),
                "its worst": float(recall["errors"].max()),
                "its unsure": int(recall["unsure"]),
            }
        )
    checks = [
        Check(f"{what}, worst case median {when}", f"{max(met[key]):.4f}", f"≤ {limit}", bool(max(met[key]) <= limit))
        for what, when, key, limit in (
            ("paper's method", "up to 5 % noise", "low", 0.05),
            ("paper's method", "at 10 % noise", "high", 0.10),
            ("OnlineRecall", "at 10 % noise", "better", 0.015),
        )
        if met[key]
    ]
    return Outcome(rows, checks, note_1(run, real), dots_figure(cases, done) if real else None)


def spread_of(by_seed, paper: float) -> dict:
    """The seeds of λ_θ as eq. 14 is printed, and how the paper's single run stands among them."""
    return {
        "as printed": float(np.median(by_seed)),
        "as printed, lowest": float(by_seed.min()),
        "as printed, worst": float(by_seed.max()),
        "as printed, not worse than the paper": f"{int(np.sum(by_seed <= paper))} of {len(by_seed)}",
    }


def dots_figure(cases, done):
    """Table 1: every seed as a dot, the medians as lines, and the paper's single run."""
    figure = new_figure(10.0, 4.4)
    colours = {PRINTED: CYCLE[1], OURS: CYCLE[0], RECALL: CYCLE[2]}
    with styled():
        ax = figure.subplots()
        for place, (case, _, _, _, paper) in enumerate(cases):
            ax.plot(
                [place - 0.42, place + 0.42],
                [paper] * 2,
                color=INK,
                lw=1.6,
                label="paper, one run" if not place else None,
            )
            for n, kind in enumerate(KINDS):
                by_seed, middle = done[case, kind]["errors"], place - 0.27 + 0.27 * n
                x = middle + np.linspace(-0.09, 0.09, len(by_seed))
                ax.semilogy(x, by_seed, "o", ms=2.2, color=colours[kind], label=kind if not place else None)
                ax.plot([middle - 0.12, middle + 0.12], [np.median(by_seed)] * 2, color=colours[kind], lw=1.6)
        names = [
            f"{case}\n{'Kobe' if s is KOBE else 'S. Fern.'}\nobj. {o}\n{100 * n:g} %" for case, s, o, n, _ in cases
        ]
        ax.set_xticks(range(len(cases)), names)
        ax.set_ylabel("‖θ̂ − θ‖/‖θ‖, noise seeds as dots, medians as lines")
        log_axis(ax.yaxis, plain=True)
        legend_above(figure, ax)
    return figure


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


def wrong_distribution(run, kind: str, objective: int, noise: float) -> Arrays:
    """Estimates with a Rayleigh law for a Weibull system, as a job."""
    ends, _, _ = identify_many(method_of(kind, KOBE, objective), device(GUESS_2), weibull_data(run, noise))
    return {"ends": ends}


def weibull_data(run, noise: float) -> np.ndarray:
    """(seeds, nt, 3) of Table 2's system under Kobe."""
    beta, k, a, b, x0, c = TRUTH_2
    x, v = run.once(motion, KOBE, True)
    f = force_of(stats.weibull_min(a, loc=x0, scale=b), beta, k, c / 10.0, x, v)
    return np.stack([noisy(x, v, f, noise, seed) for seed in range(seeds_of(run))])


def distribution_error(mean: float) -> float:
    """‖φ − φ̂‖/‖φ‖ of a Rayleigh distribution against the true Weibull one."""
    x = jnp.linspace(1e-4, 40.0, 8000)
    true = jax.vmap(WeibullYield(*TRUTH_2[2:5]).density)(x)
    return float(jnp.linalg.norm(true - jax.vmap(RayleighYield(mean).density)(x)) / jnp.linalg.norm(true))


def table_2(run) -> Outcome:
    cases = TABLE_2[:1] if run.quick else TABLE_2
    jobs = [(kind, objective, noise) for _, objective, noise, _, _ in cases for kind in KINDS]
    done = dict(zip(jobs, run_jobs(run, wrong_distribution, jobs), strict=True))
    rows = []
    for case, objective, noise, paper, paper_error in cases:
        row = {
            "case": case,
            "objective": objective,
            "noise": f"{100 * noise:g} %",
            "paper θ̂": str(list(paper)),
            "paper error": paper_error,
        }
        for kind, name in ((OURS, ""), (PRINTED, "as printed, "), (RECALL, "OnlineRecall, ")):
            ends = done[kind, objective, noise]["ends"]
            row[f"{name}median θ̂"] = np.array2string(np.median(ends, axis=0), precision=2, separator=" ")
            row[f"{name}‖φ−φ̂‖/‖φ‖"] = float(np.median([distribution_error(e[2]) for e in ends]))
        rows.append(row | {"of the paper's θ̂": distribution_error(paper[2])})
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
