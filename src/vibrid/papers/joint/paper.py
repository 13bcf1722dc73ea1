"""The paper, and functions shared by its experiments."""

from __future__ import annotations

import numpy as np

import vibrid as vb
from vibrid.identification.loads.regularisation import choose_weights
from vibrid.identification.loads.solution import followed, solve_loads
from vibrid.papers.paper import Paper
from vibrid.report import style

PAPER = Paper(
    "joint",
    "Z. Bitro, A. Batou, H. J. Ouyang: Simultaneous identification of structural parameters and dynamic loads in "
    "time-domain using partial measurements and state-space approach.",
)


def measured(response, sensors, every: int, noise: float = 0.0, key: int = 0) -> vb.Record:
    """Readings of a finer simulation at every so many of its samples, with noise over their rms; loads left out."""
    y = response.readings(sensors)[::every]
    rms = np.sqrt(np.mean(y**2, axis=0))
    y = y + noise * rms * np.random.default_rng(key).standard_normal(y.shape)
    return vb.Record(y, sensors.channels(), step=every * response.excitation.step, name="measured")


def load_record(values, place: str, step: float) -> vb.Record:
    return vb.Record(np.asarray(values), [vb.Channel("load", "load", "N", place)], step=step, name="load")


def percent(found, true) -> np.ndarray:
    """100 |found − true| / |true| (Eq. 30)."""
    return 100.0 * np.abs(np.asarray(found) / np.asarray(true) - 1.0)


EQUATION_29, LARGEST = "load, Eq. 29 (%)", "load, largest error over time (% of its peak)"


def norm_29(values, true) -> float:
    """100 ‖found − true‖ / ‖true‖ (Eq. 29)."""
    return 100.0 * float(np.linalg.norm(values - true) / np.linalg.norm(true))


def norm_largest(values, true) -> float:
    """The largest error over time, in per cent of the largest true value."""
    return 100.0 * float(np.abs(values - true).max() / np.abs(true).max())


def both_norms(values, true) -> dict[str, float]:
    """The two readings of a load's "percentage error": the paper states Eq. 29, and prints maxima over time."""
    return {EQUATION_29: norm_29(values, true), LARGEST: norm_largest(values, true)}


def loads_along(result, bare, estimates) -> np.ndarray:
    """(estimates, samples, loads): the loads that fit best at each estimate; `bare` is the problem before the fit."""
    weights = choose_weights(bare, result.free).weights
    solved = [solve_loads(bare, bare.unknowns.to_free(e), 0, weights, "size") for e in estimates]
    return np.array([np.asarray(followed(s).loads) for s in solved])


def load_figure(time, values, title: str):
    """A load, drawn as in the paper."""
    ax = style.new_axes()
    ax.plot(time, values, color=style.TRUTH)
    ax.set(xlabel="time [s]", ylabel="load [N]", title=title)
    return ax.figure


def convergence_figure(estimates, true, names, ylabel: str):
    """Estimates (iterations, parameters) over the iterations, and the true values (dotted)."""
    ax = style.new_axes()
    for i, name in enumerate(names):
        ax.plot(estimates[:, i], color=style.CYCLE[i], marker="o", ms=3, label=name)
        ax.axhline(true[i], color=style.CYCLE[i], ls=":", lw=1)
    ax.set(xlabel="iteration", ylabel=ylabel)
    ax.legend()
    return ax.figure


def errors_figure(errors: dict, title: str = ""):
    """Errors in per cent over the iterations, by quantity."""
    ax = style.new_axes()
    for i, (name, values) in enumerate(errors.items()):
        ax.semilogy(np.maximum(values, 1e-6), color=style.CYCLE[i], marker="o", ms=3, label=name)
    ax.set(xlabel="iteration", ylabel="error [%]", title=title)
    ax.legend(ncols=4)
    return ax.figure
