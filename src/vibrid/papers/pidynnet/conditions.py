"""The paper's own conditions: the Kobe record at 1000 Hz, c(0) known, only the unknowns of its tables identified.

Every identification is stored as soon as it is done (folder `unfinished` of the results) and read back by any later
call that needs it: long studies can be interrupted, and several items show the same training.
"""

from __future__ import annotations

import dataclasses
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np

from vibrid.core.device import on_processor
from vibrid.core.errors import FileProblem
from vibrid.identification import Identification, Method, UnscentedKalman, WeakCollocation, identify, make_problem
from vibrid.identification.archive import load_identification, save
from vibrid.identification.conclude import settings_of
from vibrid.papers.jobs import beside
from vibrid.papers.paper import Outcome, Run
from vibrid.papers.pidynnet.networks import as_published, default, paper_rate, schedule
from vibrid.papers.pidynnet.paper import PAPER, PRINTED, PRINTED_VALUES, response_of
from vibrid.papers.pidynnet.systems import SYSTEMS, System, bound, measured
from vibrid.records import Record
from vibrid.report import style

MOTION = "Kobe"
NOISE = (0.0, 0.025, 0.05)
PUBLISHED = "as published"
ALIKE = 1e-8
"""Of the largest reading: the same data, simulated on another machine."""
CONDITIONS = "Kobe record at 1000 Hz, c(0) known, as in the paper"


def known(system: str) -> System:
    """A system whose damping at the start is known: the unknowns are those of the paper's tables."""
    return SYSTEMS[system](known_damping=True)


def record_of(run: Run, system: str, noise: float, key: int = 0) -> Record:
    """The readings under the paper's conditions; of fewer samples a second in a quick run."""
    return measured(known(system), run.once(response_of, system, MOTION, paper_rate(run)), noise, key)


def bound_known(run: Run, system: str, noise: float) -> float:
    """Mean error in per cent of an unbiased estimate at the Cramér–Rao bound, c(0) known."""
    with on_processor():
        limits = bound(known(system), run.once(response_of, system, MOTION, paper_rate(run)), noise)
    return float(np.sqrt(2 / np.pi) * np.mean(limits))


def stored(
    run: Run, name: str, case: System, record: Record, method: Method, whole: Method | None = None
) -> Identification:
    """An identification by `method`, stored under `name`; read back where an earlier call has computed the same.

    `whole`: the method with settings for an accelerator, whose result is read back where there is none.
    """
    resume = run.checkpoint(name)
    if resume is not None and hasattr(method, "checkpoint"):
        method = dataclasses.replace(method, checkpoint=resume)
    file = None if resume is None else Path(resume).with_suffix(".h5")
    if file is not None and file.exists():
        run.reused = True  # the time of the item is then not that of a cold run
        return _read_back(file, case, record, [method, *([] if whole is None else [whole])])
    run.progress.stage(f"{type(method).__name__} on {case.name}: {name}")
    networks = type(method).__module__.startswith("vibrid.papers")  # recipes are trained on the accelerator
    with nullcontext() if networks else on_processor():
        fit = identify(case.guess, record, case.unknown, method)
    if fit.cut_short:
        raise KeyboardInterrupt  # its own checkpoint resumes it
    if file is not None:
        save(fit, file)
    return fit


def _read_back(file: Path, case: System, record: Record, methods: list[Method]) -> Identification:
    """The stored identification, if it is the one of one of these methods on this record."""
    fit = load_identification(file)
    wanted = make_problem(case.guess, record, case.unknown)
    all_settings = (fit.settings, *map(settings_of, methods))
    was, *may_be = ({k: v for k, v in given.items() if k != "checkpoint"} for given in all_settings)
    readings = [np.asarray(problem.data[0].readings) for problem in (fit.problem, wanted)]
    alike = readings[0].shape == readings[1].shape and np.allclose(
        *readings, rtol=0, atol=ALIKE * np.abs(readings[0]).max()
    )
    if was not in may_be or fit.names != wanted.unknowns.names or not alike:
        raise FileProblem(file, "it is a result of other settings or other data; remove it to compute it again.")
    return fit


def recipe(run: Run, system: str, noise: float, **settings) -> Identification:
    """The recipe as published under the paper's conditions, with other settings where they are given."""
    named = "-".join([f"{k}={v}" for k, v in sorted(settings.items())])
    name = f"{PUBLISHED.replace(' ', '-')}-{system}-{100 * noise:g}{named and '-'}{named}"
    return stored(
        run, name.replace(" ", ""), known(system), record_of(run, system, noise), as_published(run, **settings),
        as_published(run, whole=True, **settings),
    )  # fmt: skip


def recipe_of(run: Run, system: str, noise: float) -> Identification:
    """The recipe with its own settings; for `run.once`."""
    return recipe(run, system, noise)


OTHERS = {"PIDynNet": default, "WeakCollocation": lambda run: WeakCollocation(), "UKF": lambda run: UnscentedKalman()}


def other_of(run: Run, system: str, noise: float, name: str) -> Identification:
    """One of our methods on the same readings, with the same unknowns."""
    return stored(
        run, f"{name}-{system}-{100 * noise:g}", known(system), record_of(run, system, noise), OTHERS[name](run)
    )


def errors_of_seeds(case: System, fit: Identification) -> np.ndarray:
    """Mean error in per cent of every initialisation."""
    return np.array([case.mean_error(values) for values in fit.history["seeds"]])


def under_paper_conditions(run: Run, system: str) -> Outcome:
    """The recipe, our methods and the bound at three levels of noise, beside the printed numbers."""
    case, rows, levels = known(system), [], NOISE[-1:] if run.quick else NOISE
    fits: dict[float, Identification] = {}
    run.once(response_of, system, MOTION, paper_rate(run))
    figure = style.new_figure(10.0, 3.2)
    with style.styled():
        axes = figure.subplots(1, len(levels), sharey=True, squeeze=False)[0]
    fitted = [(other_of, system, noise, name) for name in OTHERS for noise in levels]
    bounds = [(bound_known, system, noise) for noise in levels if noise]
    with beside(run.once, [*fitted, *bounds]) as results:
        for noise, ax in zip(levels, axes, strict=True):
            fits[noise] = run.once(recipe_of, system, noise)
            draw_traces(ax, case, fits[noise])
            ax.axhline(PRINTED[system, noise][1], color=style.TRUTH, lw=1.0, ls="--", label="printed in the paper")
            ax.set_title(f"{system}, {100 * noise:g} % noise")
        found = {job[2:]: made for job, made in zip([*fitted, *bounds], results(), strict=True)}
    for noise, ax in zip(levels, axes, strict=True):
        others = {name: found[noise, name] for name in OTHERS}
        error = case.mean_error(others["PIDynNet"].estimate)
        ax.axhline(error, color=style.CYCLE[1], lw=1.0, ls=":", label="`PIDynNet`, our default")
        rows += _rows(case, noise, fits[noise], others, found.get((noise,)))
    axes[0].set_ylabel("mean error [%]")
    style.legend_above(figure, axes[0])
    first = case.mean_error(fits[levels[0]].problem.unknowns.start)
    note = (
        f"{CONDITIONS}; {schedule(run, fits[levels[0]])}, to its own stopping rule; one noise seed. "
        f"The first guess errs by {first:.0f} %. "
        "'error of their mean' is the measure of the paper's Tables 1 and 4. 'bound' is the mean error of an unbiased "
        "estimate at the Cramér–Rao bound. Seconds: compilation included, side by side on shared cores."
    )
    return Outcome(rows, [], note, figure)


def _rows(case: System, noise: float, fit, others, limit) -> list[dict]:
    """The mean errors of one level of noise, and below them every unknown."""
    errors, level = errors_of_seeds(case, fit), f"{100 * noise:g} %"
    ukf, network = PRINTED[case.name, noise]
    values = fit.history["seeds"]
    rows = [
        {
            "noise": level, "unknown": "mean error (%)", "paper's network": network, "paper's UKF": ukf,
            PUBLISHED: float(errors.mean()), "spread of the ten (%)": float(errors.std()),
            "worst of the ten (%)": float(errors.max()),
            "error of their mean (%)": case.mean_error(values.mean(axis=0)),
            **{name: case.mean_error(other.estimate) for name, other in others.items()},
            "bound": limit, "iterations a subperiod": float(np.mean(fit.convergence["iterations"])),
            "as published (s)": fit.seconds,
            **{f"{name} (s)": other.seconds for name, other in others.items()},
        }
    ]  # fmt: skip
    printed_ukf, printed_network = PRINTED_VALUES[case.name, noise]
    for i in range(case.table):
        rows.append(
            {
                "noise": level, "unknown": case.labels[i], "true": float(case.truth[i]),
                "paper's network": printed_network[i], "paper's UKF": printed_ukf[i],
                PUBLISHED: f"{values[:, i].mean():.4g} ± {values[:, i].std():.2g}",
                **{name: float(other.estimate[i]) for name, other in others.items()},
            }
        )  # fmt: skip
    return rows


def trace_errors(case: System, fit: Identification) -> np.ndarray:
    """(records, initialisations): mean error in per cent along the training."""
    return np.array([[case.mean_error(values) for values in step] for step in fit.history["traces"]])


def draw_traces(ax, case: System, fit: Identification) -> None:
    """The mean error of each initialisation over the record, grey, and their mean."""
    errors, places = trace_errors(case, fit), fit.history["trace_time"]
    lines = ax.plot(places, errors, color=style.MEASURED, lw=0.7)
    lines[0].set_label("each initialisation")
    ax.plot(places, errors.mean(axis=1), color=style.PREDICTED, lw=1.4, label="their mean")
    ax.set(xlabel="time in the record [s]", yscale="log")
    style.log_axis(ax.yaxis)


for _system in SYSTEMS:
    PAPER.study(f"paper-conditions-{_system}", f"The recipe under the paper's own conditions, {_system}", True)(
        partial(under_paper_conditions, system=_system)
    )
