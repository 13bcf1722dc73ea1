"""Figures 3, 8 and 9, without noise: loops and hidden displacements of ten initialisations and of their mean."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree

from vibrid.core.device import on_processor
from vibrid.identification import Identification
from vibrid.identification.diagnostics import correlation
from vibrid.papers.paper import Outcome, Run
from vibrid.papers.pidynnet.conditions import CONDITIONS, MOTION, errors_of_seeds, known, other_of, recipe_of
from vibrid.papers.pidynnet.networks import paper_rate, schedule
from vibrid.papers.pidynnet.paper import PAPER, motion_of, response_of
from vibrid.papers.pidynnet.systems import at_rate
from vibrid.report import style

PROVES_LITTLE = "A correlation near one proves little: it stays there for errors of several per cent."


def shear_of(fit: Identification, values, x, v, z) -> np.ndarray:
    """(points,): force of the first storey, dashpot included, of a motion of a shear building with these unknowns.

    The forces on the floors are F_i − F_{i+1}: their sum is F_1.
    """
    problem = fit.problem
    with on_processor():
        placed = problem.unknowns.place(problem.experiment, jnp.asarray(values))
        model = placed.structure.model(problem.data[0].loads)
        _, unravel = ravel_pytree(model.start())
        forces = jax.vmap(lambda x, v, z: model.forces(x, v, unravel(z)))(*(jnp.asarray(a, float) for a in (x, v, z)))
    return np.asarray(jnp.sum(forces, axis=1))


def motions_of(fit: Identification):
    """Times, and displacements, velocities and hidden states (points, initialisations, …) of the trained networks."""
    n = fit.problem.experiment.initial[0].displacement.shape[0]
    motion = np.asarray(fit.history["motion"], float)
    return fit.history["motion_time"], motion[..., :n], motion[..., n : 2 * n], motion[..., 2 * n :]


def storey(response):
    """Drift and force of the first storey, dashpot included."""
    drift, spring = response.part("storeys[0]")
    return drift, spring + response.part("damping[0]")[1]


def loops(run: Run, system: str, printed: float) -> Outcome:
    """The first storey's force against its drift: true, of every initialisation, and of their mean."""
    case, fit = known(system), run.once(recipe_of, system, 0.0)
    true = run.once(response_of, system, MOTION, paper_rate(run))
    ours = run.once(other_of, system, 0.0, "WeakCollocation")
    with on_processor():
        predicted = ours.predict(at_rate(run.once(motion_of, MOTION), paper_rate(run)))
    time, x, v, z = motions_of(fit)
    at = np.round(time * paper_rate(run)).astype(int)
    drift, force = (part[at] for part in storey(true))
    values = fit.history["seeds"]
    each = [shear_of(fit, values[k], x[:, k], v[:, k], z[:, k]) for k in range(len(values))]
    mean = shear_of(fit, values.mean(axis=0), x.mean(axis=1), v.mean(axis=1), z.mean(axis=1))
    ax = style.new_axes(5.2, 3.8)
    for k, of_seed in enumerate(each):
        ax.plot(x[:, k, 0], of_seed, color=style.MEASURED, lw=0.5, label="each initialisation" if k == 0 else None)
    ax.plot(drift, force, color=style.TRUTH, lw=2.0, label="true")
    ax.plot(x[:, :, 0].mean(axis=1), mean, color=style.PREDICTED, lw=0.8, label="mean of the ten")
    ax.set(xlabel="drift of the first storey [m]", ylabel="its force, dashpot included [N]")
    ax.legend()
    correlations = [correlation(force, of_seed) for of_seed in each]
    rows = [
        {
            "loop": "recipe as published", "correlation of force, mean of the ten": correlation(force, mean),
            "smallest of the ten": float(min(correlations)), "paper": printed,
            "mean error of parameters (%)": float(errors_of_seeds(case, fit).mean()),
        },
        {
            "loop": "WeakCollocation, simulated",
            "correlation of force, mean of the ten": correlation(storey(true)[1], storey(predicted)[1]),
            "paper": printed, "mean error of parameters (%)": case.mean_error(ours.estimate),
        },
    ]  # fmt: skip
    note = (
        f"{CONDITIONS}; no noise; {schedule(run, fit)}. Forces from the networks' motion and unknowns. {PROVES_LITTLE}"
    )
    return Outcome(rows, [], note, ax.figure)


PAPER.figure(3, "Hysteresis of the first storey, cubic system", real_data=True)(lambda run: loops(run, "cubic", 0.972))
PAPER.figure(9, "Hysteresis of the first storey, Bouc–Wen system", real_data=True)(
    lambda run: loops(run, "bouc-wen", 0.962)
)


@PAPER.figure(8, "Hidden hysteretic displacement, Bouc–Wen system", real_data=True)
def figure_8(run: Run) -> Outcome:
    case, fit = known("bouc-wen"), run.once(recipe_of, "bouc-wen", 0.0)
    ours = run.once(other_of, "bouc-wen", 0.0, "WeakCollocation")
    whole = np.asarray(run.once(response_of, "bouc-wen", MOTION, paper_rate(run)).states[0])
    time, _, _, z = motions_of(fit)
    true = whole[np.round(time * paper_rate(run)).astype(int)]
    figure = style.new_figure(9.0, 5.0)
    with style.styled():
        axes = figure.subplots(3, 1, sharex=True)
    rows = []
    for i, ax in enumerate(axes):
        grey = ax.plot(time, z[:, :, i], color=style.MEASURED, lw=0.5)
        grey[0].set_label("each initialisation")
        ax.plot(time, true[:, i], color=style.TRUTH, lw=2.0, label="true")
        ax.plot(time, z[:, :, i].mean(axis=1), color=style.PREDICTED, lw=0.8, label="mean of the ten")
        ax.set_ylabel(f"z{i + 1} [m]")
        identified = ours.history["states_0"][:, i]
        rows.append(
            {"storey": i + 1, "correlation of z, mean of the ten": correlation(true[:, i], z[:, :, i].mean(axis=1)),
             "smallest of the ten": min(correlation(true[:, i], z[:, k, i]) for k in range(z.shape[1])),
             "WeakCollocation": correlation(whole[: len(identified), i], identified), "paper (mean)": 0.992}
        )  # fmt: skip
    axes[-1].set_xlabel("time [s]")
    style.legend_above(figure, axes[0])
    errors = np.mean([case.error(values) for values in fit.history["seeds"]], axis=0)
    words = ", ".join(f"{n} {e:.2g} %" for n, e in zip(case.labels, errors, strict=True))
    note = (
        f"{CONDITIONS}; no noise; {schedule(run, fit)}; no reading of z. Errors of the recipe: {words}. {PROVES_LITTLE}"
    )
    return Outcome(rows, [], note, figure)
