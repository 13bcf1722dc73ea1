"""Figures 3 to 6 of the paper, as ours."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

from vibrid.identification.methods.siva.answer import LN4
from vibrid.papers.paper import Check, Outcome, Run
from vibrid.papers.siva.beam import EXACT, NAMES, PAPER, beam, impact, strike, ten_seeds, tip, truth
from vibrid.records import Channel, Record, fourier_spectrum, wavelet_transform
from vibrid.report.style import (
    BOUND,
    INK,
    MEASURED,
    PREDICTED,
    RESIDUAL,
    TRUTH,
    legend_above,
    log_axis,
    new_figure,
    styled,
)
from vibrid.simulation import Readings, RungeKutta4, simulate_many
from vibrid.structures import Sensors

FREQUENCIES = np.linspace(3.0, 60.0, 115)  # Hz, of the wavelet pictures


def as_record(displacement) -> Record:
    return Record(displacement, [Channel("tip", "displacement", location="tip")], step=1 / 2000)


def draw_time(ax, time, displacement, **style):
    ax.plot(time, 1e3 * displacement, **({"linewidth": 0.7} | style))
    ax.set_xlabel("time [s]")
    ax.set_ylabel("tip displacement [mm]")


def draw_wavelet(ax, displacement):
    """Amplitude of the wavelet transform, its maximum 1."""
    transform = wavelet_transform(as_record(displacement), FREQUENCIES, cycles=12.0)
    size = np.abs(transform.coefficients)[:, ::8]
    look = {"cmap": "viridis", "shading": "nearest", "vmin": 0, "vmax": 1, "rasterized": True}
    mesh = ax.pcolormesh(transform.times[::8], FREQUENCIES, size / size.max(), **look)
    ax.set_xlabel("time [s]")
    ax.set_ylabel("frequency [Hz]")
    ax.grid(False)
    return mesh


def draw_spectrum(ax, displacement, **style):
    spectrum = fourier_spectrum(as_record(displacement))
    kept = (spectrum.frequencies > 1.0) & (spectrum.frequencies < 150.0)
    ax.semilogy(spectrum.frequencies[kept], 1e3 * spectrum.amplitude[kept], **({"linewidth": 0.8} | style))
    log_axis(ax.yaxis)
    ax.set_xlabel("frequency [Hz]")
    ax.set_ylabel("Fourier amplitude [mm s]")


@PAPER.figure(3, "The tip after impacts of 2 kN (training) and of 1 and 3 kN (validation)")
def figure_3(run: Run) -> Outcome:
    figure = new_figure(11.0, 7.2)
    with styled():
        axes = figure.subplots(3, 3, width_ratios=[1.2, 1.2, 1])
        meshes, cases = [], ((2.0, "training"), (1.0, "validation"), (3.0, "validation"))
        for row, (kilonewton, role) in zip(axes, cases, strict=True):
            response = run.once(truth, kilonewton)
            x = tip(response)
            draw_time(row[0], response.time, x, color=INK)
            row[0].set_title(f"{kilonewton:g} kN, {role}")
            meshes.append(draw_wavelet(row[1], x))
            row[1].set_title("wavelet amplitude, maximum 1")
            draw_spectrum(row[2], x, color=INK)
            row[2].set_title("Fourier spectrum")
        figure.colorbar(meshes[-1], ax=axes[:, 1], shrink=0.5)
    return Outcome(figure=figure, note="From the full beam of 30 degrees of freedom.")


@PAPER.figure(4, "Training: losses, parameters over the epochs, and their distributions")
def figure_4(run: Run) -> Outcome:
    fit = run.once(ten_seeds, "full")
    losses, path = fit.history["losses"], fit.history["estimate"]
    first = fit.convergence["converged_at_epoch"]
    figure = new_figure(11.0, 8.0)
    with styled():
        grid = figure.add_gridspec(3, 10)
        left, right = figure.add_subplot(grid[0, :5]), figure.add_subplot(grid[0, 5:])
        levels = ((left, 0, "discriminator", LN4, "ln 4"), (right, 1, "adversary", LN4 / 2, "ln 4 / 2"))
        for ax, column, name, level, words in levels:
            ax.plot(losses[:, column], color=PREDICTED, linewidth=0.8, label=name)
            ax.axhline(level, color=TRUTH, linestyle="--", linewidth=1.0, label=words)
            ax.set_xlabel("epoch")
            ax.set_ylabel("loss")
        misfit = right.twinx()
        misfit.semilogy(losses[:, 2], color=RESIDUAL, linewidth=0.8, label="MSE (right axis)")
        misfit.set_ylabel("MSE of scaled accelerations")
        misfit.grid(False)
        misfit.spines.right.set_visible(True)
        left.legend(loc="lower right")
        lines = [*right.get_lines(), *misfit.get_lines()]
        right.legend(lines, [str(line.get_label()) for line in lines], loc="upper right", ncols=3)
        left.set_title("(a) losses")
        fits = fit.convergence["approach_2"].values()
        for i, (name, fitted) in enumerate(zip(NAMES, fits, strict=True)):
            ax = figure.add_subplot(grid[1, 2 * i : 2 * i + 2])
            ax.plot(path[:, i], color=PREDICTED, linewidth=0.7)
            ax.axhline(EXACT[i], color=INK, linewidth=0.9)
            late = path[len(path) // 20 :, i]
            ax.set_ylim(*_around(late, EXACT[i]))
            if first is not None:
                ax.axvline(first, color=RESIDUAL, linestyle=":", linewidth=1.0)
            ax.set_xlabel("epoch")
            ax.set_title(f"{'(b) ' if i == 0 else ''}{name} [N/m{'⁰¹²³⁴⁵'[i + 1] if i else ''}]")
            _draw_distribution(figure.add_subplot(grid[2, 2 * i : 2 * i + 2]), fitted, EXACT[i], i)
        figure.legend(*figure.axes[-1].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    words = "has not settled" if first is None else f"settles at epoch {first}, dotted"
    return Outcome(
        figure=figure,
        note=f"The seed of ten with the least validation misfit, data of the full beam; training {words}. (c): normal "
        "fits to the epochs after that (approach II); they show the scatter of the optimiser, not that of the data.",
    )


def _around(values, exact) -> tuple[float, float]:
    low, high = np.percentile(values, [2, 98])
    low, high = min(low, exact), max(high, exact)
    return low - 0.15 * (high - low), high + 0.15 * (high - low)


def _draw_distribution(ax, fitted: dict, exact: float, i: int):
    mean, deviation = fitted["mean"], fitted["deviation"]
    x = np.linspace(mean - 6 * deviation, mean + 6 * deviation, 400)
    ax.axvspan(*fitted["interval_95"], color=TRUTH, alpha=0.2, linewidth=0, label="95 %")
    ax.plot(x, norm.pdf(x, mean, deviation), color=PREDICTED, label="normal fit")
    ax.axvline(mean, color=RESIDUAL, linestyle="--", linewidth=1.0, label="mean")
    ax.axvline(exact, color=INK, linewidth=1.0, label="exact")
    ax.set_yticks([])
    ax.set_xticks([mean - 4 * deviation, mean + 4 * deviation])
    ax.set_xticklabels([f"{mean - 4 * deviation:.4g}", f"{mean + 4 * deviation:.4g}"], fontsize=7)
    ax.set_title(f"{'(c) ' if i == 0 else ''}{NAMES[i]}")


def drawn_tips(run: Run) -> np.ndarray:
    """(draws, samples): the tip at 2 kN for draws of the trained generator, by the full beam."""
    drawn = run.once(ten_seeds, "full").history["generator"][:: 500 if run.quick else 1]
    structure, hammer = beam(), impact(2.0)
    sensors = structure.sensor_arrays(structure.model((("load", "tip"),)), Sensors(displacement=["tip"]))
    changes = {"attachments[0].law.coefficients": drawn}
    tips = simulate_many(structure, hammer, changes, integrator=RungeKutta4(), substeps=16, observe=Readings(sensors))
    return np.asarray(tips)[:, :, 0]


@PAPER.figure(5, "Exact and identified response to 2 kN, by both approaches")
def figure_5(run: Run) -> Outcome:
    fit = run.once(ten_seeds, "full")
    time, exact = run.once(truth, 2.0).time, tip(run.once(truth, 2.0))
    draws = run.once(drawn_tips)
    low, high = np.percentile(draws, [2.5, 97.5], axis=0)
    mean, checks = draws.mean(axis=0), []
    second = np.array([v["mean"] for v in fit.convergence["approach_2"].values()])
    figure = new_figure(11.0, 5.4)
    with styled():
        axes = figure.subplots(2, 3)
        for row, (name, k) in zip(axes, (("(a) approach I", fit.estimate), ("(b) approach II", second)), strict=True):
            identified = tip(strike(beam(k), 2.0))
            for ax, (start, end) in zip(row[:2], ((0.0, 0.5), (3.5, 4.0)), strict=True):
                part = (time >= start) & (time <= end)
                draw_time(ax, time[part], exact[part], color=INK, linewidth=1.4, label="exact")
                if name.endswith(" I"):
                    ax.fill_between(time[part], 1e3 * low[part], 1e3 * high[part], color=BOUND, alpha=0.5, linewidth=0,
                                    label="95 % of the draws")  # fmt: skip
                    draw_time(ax, time[part], mean[part], color=RESIDUAL, label="mean of the draws")
                draw_time(ax, time[part], identified[part], color=PREDICTED, linestyle="--", label="identified")
            draw_spectrum(row[2], exact, color=INK, linewidth=1.4)
            draw_spectrum(row[2], identified, color=PREDICTED, linestyle="--")
            error = np.linalg.norm(identified - exact) / np.linalg.norm(exact)
            row[0].set_title(f"{name}: L2 error over 4 s {100 * error:.2g} %")
            checks.append(Check(f"{name[4:]}, L2 error of the tip over 4 s", f"{100 * error:.2g} %"))
        legend_above(figure, axes[0, 0])
    inside = np.mean((low <= exact) & (exact <= high))
    checks.append(Check("share of 4 s in which 95 % of the draws hold the exact tip", f"{100 * inside:.0f} %"))
    for approach in ("approach_1", "approach_2"):
        for name, true, fitted in zip(NAMES, EXACT, fit.convergence[approach].values(), strict=True):
            if true:
                least, most = fitted["interval_95"]
                words = "holds" if least <= true <= most else "does not hold"
                checks.append(
                    Check(f"{approach.replace('_1', ' I').replace('_2', ' II')}, {name}: mean, σ, 95 % interval",
                          f"{fitted['mean']:.5g}, {fitted['deviation']:.2g}, {least:.5g} to {most:.5g}: {words} the "
                          f"exact {true:.5g}")
                )  # fmt: skip
    note = f"Band: {len(draws)} draws of the generator, each simulated with the full beam."
    return Outcome(figure=figure, checks=checks, note=note)


@PAPER.figure(6, "Exact and predicted response to 1 and 3 kN, approach I")
def figure_6(run: Run) -> Outcome:
    k, checks = run.once(ten_seeds, "full").estimate, []
    figure = new_figure(12.0, 5.2)
    with styled():
        axes, meshes = figure.subplots(2, 4), []
        for row, kilonewton in zip(axes, (1.0, 3.0), strict=True):
            response = run.once(truth, kilonewton)
            exact, predicted = tip(response), tip(strike(beam(k), kilonewton))
            part = response.time <= 0.5
            draw_time(row[0], response.time[part], exact[part], color=MEASURED, linewidth=1.8, label="exact")
            draw_time(row[0], response.time[part], predicted[part], color=PREDICTED, linestyle="--", label="predicted")
            row[0].set_title(f"{kilonewton:g} kN")
            for ax, x, name in ((row[1], exact, "exact"), (row[2], predicted, "predicted")):
                meshes.append(draw_wavelet(ax, x))
                ax.set_title(f"wavelet amplitude, {name}")
            draw_spectrum(row[3], exact, color=MEASURED, linewidth=1.4)
            draw_spectrum(row[3], predicted, color=PREDICTED, linestyle="--")
            for seconds, kept in ((0.5, part), (4, slice(None))):
                error = np.linalg.norm(predicted[kept] - exact[kept]) / np.linalg.norm(exact[kept])
                checks.append(Check(f"{kilonewton:g} kN, L2 error of the tip over {seconds} s", f"{100 * error:.2g} %"))
        figure.colorbar(meshes[-1], ax=axes[:, 2], shrink=0.6)
        legend_above(figure, axes[0, 0])
    return Outcome(figure=figure, checks=checks)
