"""Results of the networks: columns of the tables, and studies of the default setting.

`PIDynNet` is our default setting over ten initialisations; `as published` is the paper's recipe, equations corrected.
Its schedule of 8 × 11 000 iterations needs an accelerator: without one it is cut short, and its column states it. All
else runs on the processor.
"""

from __future__ import annotations

import dataclasses
from contextlib import nullcontext
from functools import partial

import numpy as np

from vibrid.core.device import accelerated, cores, on_processor
from vibrid.identification import Identification, PIDynNet, identify
from vibrid.identification.diagnostics import correlation
from vibrid.papers.jobs import all_on_threads
from vibrid.papers.paper import Check, Outcome, Run
from vibrid.papers.pidynnet.as_published import PIDynNetAsPublished
from vibrid.papers.pidynnet.paper import NETWORKS, PAPER, PRINTED, bound_of, data_of, response_of
from vibrid.papers.pidynnet.systems import SYSTEMS, measured
from vibrid.report import style
from vibrid.simulation import simulate

SEEDS = 10
MOTION, RATE = "synthetic", 100.0
PAPER_RATE = 1000.0
SHORT = {"iterations": 200, "pretraining": 100, "seeds": 1}  # without an accelerator
SHORTEST = {"iterations": 20, "pretraining": 10, "seeds": 2}  # of a quick run
TARGETS = {("cubic", 0.0): 0.94, ("cubic", 0.025): 1.58, ("cubic", 0.05): 1.42,
           ("bouc-wen", 0.0): 1.58, ("bouc-wen", 0.025): 1.41, ("bouc-wen", 0.05): 1.26}  # fmt: skip


def paper_rate(run: Run) -> float:
    """Samples a second of the paper's data; fewer in a quick run."""
    return RATE if run.quick else PAPER_RATE


def as_published(run: Run, whole: bool = False, **settings) -> PIDynNetAsPublished:
    """The recipe as published: its `whole` schedule where there is an accelerator, a short one elsewhere."""
    shorter = SHORTEST if run.quick else {} if whole or accelerated() else SHORT
    return dataclasses.replace(PIDynNetAsPublished(seeds=SEEDS), **(settings | shorter))


def few_steps(run: Run) -> dict:
    """A short training for a quick run."""
    return {"softness": (0.3,), "steps": 2} if run.quick else {}


def default(run: Run, **settings) -> PIDynNet:
    return dataclasses.replace(PIDynNet(seeds=2 if run.quick else SEEDS), **(few_steps(run) | settings))


def trained(run: Run, method: PIDynNet | PIDynNetAsPublished, system, record):
    """An identification by networks, the seconds of its compilation included."""
    ours = isinstance(method, PIDynNet)
    run.progress.stage(f"PIDynNet{'' if ours else ' as published'} on {system.name}")
    with on_processor() if ours else nullcontext():
        return identify(system.guess, record, system.unknown, method, progress=run.progress)


def _column(make):
    def column(run: Run, system, record):
        method = make(run)
        fit = trained(run, method, system, record)
        return fit.history["seeds"], fit.seconds / method.seeds

    return column


NETWORKS["PIDynNet"] = _column(default)
NETWORKS["as published" if accelerated() else f"as published, {SHORT['iterations']} iterations"] = _column(as_published)


def fit_of_network(run: Run, system: str, noise: float, settings: tuple = ()):
    """The default setting on the synthetic motion."""
    return trained(run, default(run, **dict(settings)), SYSTEMS[system](), data_of(run, system, MOTION, RATE, noise, 0))


def initialisations(run: Run, system: str) -> Outcome:
    """Ten initialisations at three levels of noise, against the paper's figures and the bound."""
    rows, checks = [], []
    for noise in (0.05, 0.0, 0.025):
        target = TARGETS[system, noise]
        try:
            case, fit = SYSTEMS[system](), run.once(fit_of_network, system, noise)
        except KeyboardInterrupt:  # after Ctrl-C the finished levels are used
            break
        if fit.cut_short:
            break
        errors = [case.mean_error(v) for v in fit.history["seeds"]]
        t = case.table
        low, high = fit.interval()[:t].T
        spread = fit.history["seeds"].std(axis=0, ddof=1)[:t]
        off = np.abs(fit.estimate - case.truth)[:t]
        rows.append(
            {
                "system": system, "noise": f"{100 * noise:g} %", "paper": PRINTED[system, noise][1],
                "mean error (%)": float(np.mean(errors)), "worst of ten (%)": float(np.max(errors)),
                "bound (%)": _expected(run, system, noise),
                "equations met to (%)": 100 * fit.convergence["equations_met_to"],
                "error / σ, rms": float(np.sqrt(np.mean((off / fit.deviation[:t]) ** 2))),
                "inside ± 2σ": f"{int(np.sum((low <= case.truth[:t]) & (case.truth[:t] <= high)))} of {t}",
                "inside ± 2 spreads of the seeds": f"{int(np.sum(off <= 2 * spread))} of {t}",
                "seconds": fit.seconds,
            }
        )  # fmt: skip
        error = float(np.mean(errors))
        checks.append(Check(f"{system}, {100 * noise:g} % noise", f"{error:.3g} %", f"≤ {target} %", error <= target))
    return Outcome(
        rows, checks,
        "100 Hz, x, ẋ, ẍ of all floors, c(0) unknown, one noise seed. σ is that of the information about the unknowns "
        "(Schur complement of the Gauss–Newton matrix) and the spread of the initialisations together. Initialisations "
        "differ in their small networks alone and nearly agree: their spread, which the paper reports as the "
        "uncertainty, does not include the error from noise. Seconds: all initialisations, compilation included, "
        "on shared cores.",
    )  # fmt: skip


PAPER.study("initialisations-cubic", "PIDynNet: ten initialisations, cubic system, synthetic motion")(
    lambda run: initialisations(run, "cubic")
)
PAPER.study("initialisations-bouc-wen", "PIDynNet: ten initialisations, Bouc–Wen system, synthetic motion")(
    lambda run: initialisations(run, "bouc-wen")
)


def _expected(run: Run, system: str, noise: float) -> float | None:
    if not noise:
        return None
    bound = run.once(bound_of, system, MOTION, RATE, noise)[: SYSTEMS[system]().table]
    return float(np.sqrt(2 / np.pi) * np.mean(bound))


def schedule(run: Run, fit: Identification | None = None, **settings) -> str:
    """How long the recipe as published is trained, in words; of a training that may have been made elsewhere, `fit`."""
    method, printed = as_published(run, **settings), PIDynNetAsPublished().iterations
    if fit is not None and not accelerated() and fit.settings["iterations"] == printed:
        return f"{fit.settings['seeds']} initialisation(s), {printed} iterations a subperiod, on an accelerator"
    cut = "" if method.iterations == printed else f" (the paper's schedule: {printed})"
    cut += "" if accelerated() else ", cut short without an accelerator"
    return f"{method.seeds} initialisation(s), {method.iterations} iterations a subperiod{cut}"


def kinds_of_networks(run: Run, system: str) -> Outcome:
    choices = {
        "skip path alone": {"hidden": ()},
        "multilayer perceptron": {"network": "mlp"},
        "recurrent (LSTM)": {"network": "recurrent", "hidden": (16,)},
        "convolution": {"network": "convolution", "hidden": (16, 16)},
    }
    rows = []
    case, record = SYSTEMS[system](), data_of(run, system, MOTION, RATE, 0.05, 0)
    for label, settings in choices.items():
        fit = trained(run, PIDynNet(**settings, **few_steps(run)), case, record)
        rows.append({"network": label, "error (%)": case.mean_error(fit.estimate),
                     "last loss": float(fit.history["cost"][-1]), "paper (%)": PRINTED[system, 0.05][1],
                     "seconds": fit.seconds})  # fmt: skip
    return Outcome(
        rows, [],
        "Synthetic motion, 100 Hz, one initialisation. The linear skip path is enough; a network beside it "
        "lowers the loss a little and does not change the unknowns.",
    )  # fmt: skip


@PAPER.study("traces", "Convergence of ten initialisations, ours and as published")
def traces(run: Run) -> Outcome:
    figure = style.new_figure(10.0, 4.8)
    with style.styled():
        axes = figure.subplots(2, 4)
    rows = []
    for row, system in zip(axes, SYSTEMS, strict=True):
        case = SYSTEMS[system]()
        ours = run.once(fit_of_network, system, 0.05)
        printed = trained(run, as_published(run), case, data_of(run, system, MOTION, paper_rate(run), 0.05, 0))
        shown = [(0, ours), (case.table - 1, ours), (0, printed), (case.table - 1, printed)]
        for ax, (i, fit) in zip(row, shown, strict=True):
            each = fit.history["traces"][:, :, i]
            places = np.arange(1, len(each) + 1) if fit is ours else fit.history["trace_time"]
            ax.plot(places, each, color=style.MEASURED, lw=0.7)
            ax.plot(places, each.mean(axis=1), color=style.PREDICTED, lw=1.2)
            ax.axhline(case.truth[i], color=style.TRUTH, lw=1.0, ls="--")
            ax.set(xlabel="L-BFGS step" if fit is ours else "time in the record [s]", ylabel=case.labels[i],
                   title=f"{system}, {'PIDynNet' if fit is ours else 'as published'}")  # fmt: skip
        for name, fit in (("PIDynNet", ours), ("as published", printed)):
            rows.append({"system": system, "setting": name,
                         "error (%)": float(np.mean([case.mean_error(v) for v in fit.history["seeds"]])),
                         "seconds": fit.seconds})  # fmt: skip
    note = "5 % noise, synthetic motion. Grey: every initialisation; blue: their mean; dashed: true. "
    return Outcome(rows, [], note + f"As published: {schedule(run)}.", figure)


@PAPER.study("network-hidden", "PIDynNet: hidden states and the loop of the first storey, Bouc–Wen, 5 % noise")
def hidden(run: Run) -> Outcome:
    case, fit = SYSTEMS["bouc-wen"](), run.once(fit_of_network, "bouc-wen", 0.05)
    true = run.once(response_of, "bouc-wen", MOTION, RATE)
    count = len(fit.history["time"])
    z = np.asarray(true.states[0])[:count]
    latent = fit.history["states"][:, :3]
    predicted = simulate(fit.structure, true.excitation)
    figure = style.new_figure(10.0, 3.4)
    with style.styled():
        left, right = figure.subplots(1, 2, width_ratios=(2, 1))
    left.plot(fit.history["time"], z[:, 0], color=style.MEASURED, lw=3.4, label="true")
    left.plot(fit.history["time"], latent[:, 0], color=style.PREDICTED, lw=0.8, label="latent network")
    left.set(xlabel="time [s]", ylabel="z of the first storey [m]")
    loops = [r.part("storeys[0]") for r in (true, predicted)]
    right.plot(*loops[0], color=style.MEASURED, lw=3.0)
    right.plot(*loops[1], color=style.PREDICTED, lw=0.7)
    right.set(xlabel="drift [m]", ylabel="force of the spring [N]")
    style.legend_above(figure, left)
    rows = [{"storey": i + 1, "correlation of z": correlation(z[:, i], latent[:, i]), "paper (mean)": 0.992}
            for i in range(3)]  # fmt: skip
    same = correlation(loops[0][1], loops[1][1])
    rows.append({"storey": "force of the first", "correlation of z": same, "paper (mean)": 0.962})
    errors = ", ".join(f"{n} {e:.2g} %" for n, e in zip(case.labels, case.error(fit.estimate), strict=False))
    return Outcome(rows, [], f"Synthetic motion, 100 Hz, no reading of z. Errors of the unknowns: {errors}.", figure)


def coverage(run: Run, system: str) -> Outcome:
    trials = 2 if run.quick else min(6, max(3, cores()))  # minutes each
    case = SYSTEMS[system]()
    t = case.table
    inside, near, errors, ratio, seconds = [], [], [], [], []
    response, limit = run.once(response_of, system, MOTION, RATE), run.once(bound_of, system, MOTION, RATE, 0.05)[:t]

    def fit_of_key(key: int):
        return trained(run, PIDynNet(seeds=2, **few_steps(run)), case, measured(case, response, 0.05, key))

    for fit in all_on_threads(fit_of_key, [(key,) for key in range(trials)]):
        low, high = fit.interval()[:t].T
        off = np.abs(fit.estimate - case.truth)[:t]
        inside.append((low <= case.truth[:t]) & (case.truth[:t] <= high))
        near.append(off <= 2 * fit.history["seeds"].std(axis=0, ddof=1)[:t])
        errors.append(case.mean_error(fit.estimate))
        seconds.append(fit.seconds)
        ratio.append(100 * off / case.truth[:t] / limit)
    row = {"noise seeds": trials, "mean error (%)": float(np.mean(errors)),
           "rms error / bound": float(np.sqrt(np.mean(np.square(ratio)))),
           "95 % intervals hold (%)": 100 * float(np.mean(inside)),
           "± 2 spreads of initialisations hold (%)": 100 * float(np.mean(near)),
           "median s of a fit": float(np.median(seconds))}  # fmt: skip
    return Outcome([row], [], "5 % noise, synthetic motion, 100 Hz, two initialisations a fit.")


for _name, _title, _make in (
    ("networks", "PIDynNet: which network beside the skip path, 5 % noise", kinds_of_networks),
    ("coverage", "PIDynNet: which interval holds the true values, over noise seeds", coverage),
):
    for _system in SYSTEMS:
        PAPER.study(f"{_name}-{_system}", f"{_title}, {_system}")(partial(_make, system=_system))
