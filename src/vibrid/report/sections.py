"""The sections of the report, each a function that gives its HTML."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vibrid.core.digits import with_uncertainty
from vibrid.core.inputs import InputFile
from vibrid.identification.compare import Comparison
from vibrid.identification.result import Identification, Validation
from vibrid.report import identification_plots as plots
from vibrid.report import inputs
from vibrid.report.embed import figure_html
from vibrid.report.load_plots import plot_loads
from vibrid.report.parameter_plots import correlation_matrix
from vibrid.report.signals import response_of, traces_of
from vibrid.report.structure_drawing import draw_structure
from vibrid.report.words import (
    Html,
    badge,
    breakable,
    bullets,
    counted,
    escape,
    facts,
    number,
    paragraph,
    percent,
    rounded,
    table,
    unit,
)

MOST_RECORDS = 3
CLOSE = 0.9
"""Pairs with a larger correlation are listed."""


class Figures:
    """Numbers the figures of a report in their order."""

    def __init__(self):
        self.count = 0

    def __call__(self, figure, caption: str) -> Html:
        self.count += 1
        return figure_html(figure, caption, self.count)


def inputs_section(fit: Identification, figure: Figures) -> Html:
    p = fit.problem
    places = [place for group in p.unknowns.places for place in group]
    drawing = Html("")
    if not inputs.missing_message(fit):
        drawn = draw_structure(p.experiment.structure, sensors=p.sensors, unknown=places, loads=p.data[0].loads)
        caption = "The structure, its sensors and its excitation. Parts with unknown parameters are coloured."
        drawing = figure(drawn.figure, caption)
    return Html(
        paragraph(inputs.structure_text(fit))
        + drawing
        + "<h3>Parameters of the structure</h3>"
        + inputs.parameter_table(fit)
        + "<h3>Records</h3>"
        + inputs.records_table(fit)
        + "<h3>Sensors</h3>"
        + inputs.sensors_table(fit)
        + "<h3>Method</h3>"
        + inputs.method_facts(fit)
    )


def estimates_table(estimates: list[dict], initial: np.ndarray, relative_bound: np.ndarray) -> Html:
    """The rows of `fit.table()` with the initial value and the relative Cramér–Rao bound of each unknown."""
    rows = []
    for i, r in enumerate(estimates):
        shown = r.get("display", r)
        deviation = shown["standard_deviation"]
        rows.append(
            [
                breakable(r["name"]),
                unit(shown["unit"]),
                number(float(initial[i]) / shown.get("si_per_unit", 1.0), 5),
                Html(f"<b>{rounded(shown['estimate'], deviation)}</b>"),
                "at bound" if r["at_bound"] and np.isnan(deviation) else number(2 * deviation, 2),
                _interval(shown["interval_95"], deviation),
                _allowed(shown["bounds"]),
                number(shown["cramer_rao_bound"], 2),
                percent(float(relative_bound[i])),
                badge(r["identifiable"]),
            ]
        )
    headings = [
        "unknown",
        "unit",
        "initial value",
        "estimate",
        "± 2σ",
        "95 % interval",
        "limits",
        "bound",
        "bound / value",
        "identifiable",
    ]
    return table(headings, rows, numbers=(2, 3, 4, 5, 6, 7, 8))


def parameters_section(fit: Identification, figure: Figures) -> Html:
    text = (
        paragraph(
            "σ is the standard deviation of the estimate if the model is correct; “bound” is the Cramér–Rao bound, the "
            "smallest σ that any unbiased method can reach with these data and this noise.",
            "note",
        )
        + estimates_table(fit.table(), np.asarray(fit.problem.unknowns.start), fit.limits.relative_bound)
        + figure(
            plots.plot_intervals(fit).figure,
            "95 % intervals (lines) over ± 2 Cramér–Rao bounds (bars), in per cent of each estimate.",
        )
    )
    if fit.samples is not None:
        text += figure(
            plots.samples_figure(fit), f"{len(fit.samples)} posterior samples; dashed: ends of the 95 % interval."
        )
    return Html(text + quantities_table(fit) + inputs.modes_table(fit))


def quantities_table(fit: Identification) -> Html:
    """Periods, damping ratios, drifts and base shear with ± 2σ."""
    found = [] if inputs.missing_message(fit) else fit.quantities()
    if not found:
        return Html("")
    rows = [[q.name, *with_uncertainty(q.value, 2.0 * q.deviation), unit(q.unit)] for q in found]
    note = (
        "What follows from the estimates; drifts and base shear are the largest under the excitation of the first "
        "record. ± 2σ is from the uncertainty of the parameters, to first order."
    )
    return Html(paragraph(note, "note") + table(["quantity", "value", "± 2σ", "unit"], rows, numbers=(1, 2)))


def _interval(interval: Sequence[float], deviation: float) -> str:
    low, high = interval
    return f"{rounded(low, deviation)} … {rounded(high, deviation)}" if np.isfinite(low) else "–"


def _allowed(bounds) -> str:
    low, high = bounds
    if low is None and high is None:
        return "any"
    if high is None:
        return "> 0" if low == 0 else f"≥ {number(low)}"
    return f"≤ {number(high)}" if low is None else f"{number(low)} … {number(high)}"


def loads_section(fit: Identification, figure: Figures) -> Html:
    """The identified loads, record by record."""
    text = Html("")
    for loads in fit.loads[:MOST_RECORDS]:
        rows = [
            [
                r["name"],
                unit(r["unit"]),
                number(r["peak"], 4),
                number(r["rms"], 4),
                number(2 * r["standard_deviation"], 2),
            ]
            for r in loads.table()
        ]
        caption = f"Loads of {loads.record}; the band includes noise and the uncertainty of the structure."
        text = Html(
            text + table(["load", "unit", "largest", "rms", "median 2σ"], rows) + figure(plot_loads(loads), caption)
        )
    return text


def convergence_section(fit: Identification, figure: Figures) -> Html:
    pairs = [(k.replace("_", " "), _plain(v)) for k, v in fit.convergence.items()]
    text = (paragraph(fit.certificate) if fit.certificate else "") + (facts(pairs) if pairs else "")
    if len(fit.history.get("estimate", ())) > 1:
        text += figure(
            plots.convergence_figure(fit),
            "Convergence of the estimates"
            + (", with ± 2σ as estimated at that time" if "deviation" in fit.history else "")
            + ". The bar is the final 95 % interval.",
        )
    return Html(text or paragraph("The method gives its result in one step; there is no history.", "note"))


def _plain(value) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{k}: {_plain(v)}" for k, v in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_plain, value)) or "none"
    return number(value, 4) if isinstance(value, float) else str(value)


def response_section(fit: Identification, figure: Figures) -> Html:
    rows = [
        [
            breakable(f.name),
            number(f.residual, 3),
            percent(f.relative),
            percent(f.held_out) if np.isfinite(f.held_out) else "–",
            number(f.autocorrelation, 2),
            badge(f.white, "like noise", "structured"),
        ]
        for f in fit.fits
    ]
    headings = [
        "sensor",
        "residual rms [SI]",
        "error / signal",
        "error, held-out samples",
        "autocorrelation",
        "residual",
    ]
    text = table(headings, rows, numbers=(1, 2, 3, 4)) + EXPLORE
    for record, data in enumerate(fit.problem.data[:MOST_RECORDS]):
        traces = traces_of(fit, record)
        most = 8 if record == 0 else 4
        which = f"the {most} of {len(traces)} sensors with the worst fit" if len(traces) > most else "all sensors"
        caption = f"Record {data.name or record + 1}: measured and predicted, {which}; right: the strongest part."
        text += figure(plots.overlay_figure(traces, most), caption)
    left_out = len(fit.problem.data) - MOST_RECORDS
    if left_out > 0:
        text += paragraph(f"{counted(left_out, 'further record')}: see the interactive plot.", "note")
    return Html(text)


EXPLORE = Html(
    '<div id="explore"><div class=bar><label>record <select data-choose=record></select></label>'
    "<label>sensor <select data-choose=channel></select></label>"
    '<span><span class=key style="background:#a7b1bb"></span>measured</span>'
    '<span><span class=key style="background:#0072b2"></span>predicted</span>'
    '<button type=button data-do=closer aria-label="zoom in">+</button>'
    '<button type=button data-do=further aria-label="zoom out">−</button>'
    "<button type=button data-do=whole>whole record</button><output></output></div>"
    '<canvas tabindex=0 role=img aria-label="measured and predicted over time"></canvas>'
    '<p class="note hint">Wheel or + and − to zoom, drag or arrow keys to move, double click for the whole record.</p>'
    "</div>"
)


def loops_section(fit: Identification, figure: Figures) -> Html:
    if inputs.missing_message(fit):
        return Html(paragraph("The loops cannot be drawn: a plugin is missing (see Inputs).", "note"))
    text = ""
    for record, data in enumerate(fit.problem.data[:MOST_RECORDS]):
        loops = plots.loops_figure(response_of(fit, record))
        if loops is None:
            return Html(paragraph("All parts of the structure are linear: there are no hysteresis loops.", "note"))
        text += figure(loops, f"Force over deformation of the identified structure under {data.name or 'the record'}.")
    return Html(text)


def spectra_section(fit: Identification, figure: Figures) -> Html:
    return Html(
        figure(
            plots.spectra_figure(traces_of(fit)),
            "Fourier amplitudes. Where the measured curve flattens above the predicted one, noise dominates.",
        )
    )


def residuals_section(fit: Identification, figure: Figures) -> Html:
    return Html(
        paragraph(
            "The residuals should look like noise: no pattern in time, autocorrelation within the shaded limits at "
            "about 19 of 20 lags, a flat spectrum.",
            "note",
        )
        + figure(
            plots.residual_figure(traces_of(fit)),
            "Residuals of the sensors with the worst fit: history, autocorrelation, spectrum.",
        )
    )


def identifiability_section(fit: Identification, figure: Figures) -> Html:
    weak = [n for n, ok in zip(fit.names, fit.limits.identifiable, strict=True) if not ok]
    good = "Every unknown is identifiable from these data."
    text = paragraph(f"Not identifiable from these data: {', '.join(weak)}." if weak else good)
    if fit.limits.inseparable:
        text += paragraph("Combinations that the data determine poorly (ln: natural logarithm of the value):")
        text += bullets(fit.limits.inseparable)
    close = _close_pairs(fit)
    if close:
        text += paragraph("Strongly correlated pairs: a change in one is nearly compensated by the other.")
        text += bullets(close)
    if len(fit.names) > 1:
        text += figure(plots.plot_correlation(fit).figure, "Correlation of the estimates.")
    return Html(text)


def _close_pairs(fit: Identification) -> list[str]:
    values = correlation_matrix(fit)
    rows, columns = np.triu_indices(len(fit.names), 1)
    order = np.argsort(-np.abs(values[rows, columns]))
    pairs = [(fit.names[rows[k]], fit.names[columns[k]], values[rows[k], columns[k]]) for k in order[:6]]
    return [f"{a} and {b}: correlation {number(float(v), 3)}" for a, b, v in pairs if abs(v) > CLOSE]


def validation_section(validation: Validation, figure: Figures) -> Html:
    error, rho = validation.relative_error, validation.correlation
    rows = [[name, percent(error[name]), number(rho[name], 5)] for name in validation.channels]
    return Html(
        paragraph(f"The identified structure under '{validation.record.name}', a record that was not fitted.")
        + table(["sensor", "error / signal", "correlation"], rows, numbers=(1, 2))
        + figure(plots.plot_validation(validation, 6), "Measured and predicted on the record that was not fitted.")
    )


def agreement_table(comparison: Comparison) -> Html:
    """Which methods agree with which, and in what they differ."""
    rows = [
        [
            f"{a.first}, {a.second}",
            f"{len(a.agree)} of {len(comparison.names)}",
            ", ".join(a.differ) or "–",
            ", ".join(a.unknown) or "–",
            number(a.largest, 2),
        ]
        for a in comparison.agreement
    ]
    headings = ["methods", "agree on", "differ in", "no σ for", "largest difference / σ"]
    caption = "Two methods agree on a parameter if their estimates differ by less than 2σ, by the larger of their σ"
    return table(headings, rows, numbers=(4,), caption=caption) if rows else Html("")


def comparison_section(comparison: Comparison, figure: Figures) -> Html:
    ratio = "error / bound" if comparison.true_values is not None else "σ / bound"
    rows = [
        [
            r["method"],
            percent(r["mean_error"], 3),
            number(r["mean_ratio_to_bound"], 3),
            number(r["seconds"], 3),
            badge(r["fits"]),
        ]
        for r in comparison.rows
    ]
    text = table(["method", "mean error", ratio, "time [s]", "fits"], rows, numbers=(1, 2, 3))
    text += agreement_table(comparison)
    refused = [f"{name}: {why}" for name, why in comparison.refused.items()]
    if refused:
        text += paragraph("Methods that refused the problem:") + bullets(refused)
    return Html(text + figure(plots.plot_comparison(comparison), "The same data, several methods."))


def files_table(files: Sequence[InputFile]) -> Html:
    """The files that were read: name, role, size and SHA-256."""
    rows = [[f.name, f.role, f.size, f.sha256] for f in dict.fromkeys(files)]
    return table(["file", "read as", "bytes", "SHA-256"], rows, numbers=(2,))


def provenance_section(fit: Identification, validation: Validation | None) -> Html:
    pairs = [
        ("seed", fit.seed),
        ("time", f"{number(fit.seconds, 4)} s"),
        ("ended", "cut short: best values so far" if fit.cut_short else "normally"),
        *((f"version of {k}" if k != "device" else "computed on", v) for k, v in fit.versions.items()),
    ]
    text = facts(pairs)
    files = list(fit.files)
    if validation is not None:
        files += [replace(file, role="validation") for file in validation.record.files]
    if files:
        text += Html("<h3>Files</h3>") + files_table(files)
    histories = list(fit.provenance)
    if validation is not None:
        histories.append((validation.record.name, validation.record.history))
    for name, history in histories:
        text += Html(f"<h3>History of {escape(name)}</h3>") + bullets(history)
    return Html(text)
