"""The sections of the report, each a function that gives its HTML."""

from __future__ import annotations

import numpy as np

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
"""Correlations above this are named in words."""


class Figures:
    """Numbers the figures of a report as they come."""

    def __init__(self):
        self.count = 0

    def __call__(self, figure, caption: str) -> Html:
        self.count += 1
        return figure_html(figure, caption, self.count)


def inputs_section(fit: Identification, figure: Figures) -> Html:
    p = fit.problem
    places = [place for own in p.unknowns.places for place in own]
    drawing = Html("")
    if not inputs.lacking_sentence(fit):
        drawn = draw_structure(p.experiment.structure, sensors=p.sensors, unknown=places, loads=p.data[0].loads)
        caption = "The structure, its sensors and what moves it. Parts with unknowns are coloured."
        drawing = figure(drawn.figure, caption)
    return Html(
        paragraph(inputs.structure_sentence(fit))
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


def parameters_section(fit: Identification, figure: Figures) -> Html:
    rows = []
    start = np.asarray(fit.problem.unknowns.start)
    for i, r in enumerate(fit.table()):
        deviation = r["standard_deviation"]
        rows.append(
            [
                r["name"],
                unit(r["unit"]),
                number(float(start[i]), 5),
                Html(f"<b>{rounded(r['estimate'], deviation)}</b>"),
                "at bound" if r["at_bound"] and np.isnan(deviation) else number(2 * deviation, 2),
                _interval(*r["interval_95"], deviation),
                _allowed(r["bounds"]),
                number(r["cramer_rao_bound"], 2),
                percent(float(fit.limits.relative_bound[i])),
                badge(r["identifiable"]),
            ]
        )
    headings = [
        "unknown",
        "unit",
        "first guess",
        "estimate",
        "± 2σ",
        "95 % interval",
        "allowed",
        "bound",
        "of value",
        "identifiable",
    ]
    text = (
        paragraph(
            "σ is the standard deviation of the estimate if the model is right; “bound” is the Cramér–Rao bound, the "
            "smallest σ that any unbiased method could reach with these data and this noise.",
            "note",
        )
        + table(headings, rows, numbers=(2, 3, 4, 5, 6, 7, 8))
        + figure(
            plots.plot_intervals(fit).figure,
            "95 % intervals (lines) over ± 2 Cramér–Rao bounds (bars), in per cent of each estimate.",
        )
    )
    if fit.samples is not None:
        text += figure(
            plots.samples_figure(fit), f"{len(fit.samples)} posterior samples; dashed: ends of the 95 % interval."
        )
    return Html(text + inputs.modes_table(fit))


def _interval(low: float, high: float, deviation: float) -> str:
    return f"{rounded(low, deviation)} … {rounded(high, deviation)}" if np.isfinite(low) else "–"


def _allowed(bounds) -> str:
    low, high = bounds
    if low is None and high is None:
        return "any"
    if high is None:
        return "> 0" if low == 0 else f"≥ {number(low)}"
    return f"≤ {number(high)}" if low is None else f"{number(low)} … {number(high)}"


def loads_section(fit: Identification, figure: Figures) -> Html:
    """The loads that were found, record by record."""
    text = Html("")
    for own in fit.loads[:MOST_RECORDS]:
        rows = [
            [
                r["name"],
                unit(r["unit"]),
                number(r["peak"], 4),
                number(r["rms"], 4),
                number(2 * r["standard_deviation"], 2),
            ]
            for r in own.table()
        ]
        caption = f"Loads of {own.record}; the band holds noise and the structure's own uncertainty."
        text = Html(
            text + table(["load", "unit", "largest", "rms", "median 2σ"], rows) + figure(plot_loads(own), caption)
        )
    return text


def convergence_section(fit: Identification, figure: Figures) -> Html:
    said = [(k.replace("_", " "), _plain(v)) for k, v in fit.convergence.items()]
    text = (paragraph(fit.certificate) if fit.certificate else "") + (facts(said) if said else "")
    if len(fit.history.get("estimate", ())) > 1:
        text += figure(
            plots.convergence_figure(fit),
            "How the estimates settled"
            + (", with ± 2σ as the method saw it at the time" if "deviation" in fit.history else "")
            + ". The bar is the 95 % interval of the answer.",
        )
    return Html(text or paragraph("The method gives its answer in one step; there is no history.", "note"))


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
            f.name,
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
        "error kept for scoring",
        "autocorrelation",
        "residual",
    ]
    text = table(headings, rows, numbers=(1, 2, 3, 4)) + EXPLORE
    for record, data in enumerate(fit.problem.data[:MOST_RECORDS]):
        traces = traces_of(fit, record)
        most = 8 if record == 0 else 4
        which = f"the {most} of {len(traces)} sensors that fit worst" if len(traces) > most else "all sensors"
        caption = f"Record {data.name or record + 1}: measured and predicted, {which}; right, the strongest stretch."
        text += figure(plots.overlay_figure(traces, most), caption)
    left_out = len(fit.problem.data) - MOST_RECORDS
    if left_out > 0:
        text += paragraph(f"{counted(left_out, 'further record')} can be seen in the interactive plot.", "note")
    return Html(text)


EXPLORE = Html(
    '<div id="explore"><div class=bar><label>record <select data-choose=record></select></label>'
    "<label>sensor <select data-choose=channel></select></label>"
    '<span><span class=key style="background:#a7b1bb"></span>measured</span>'
    '<span><span class=key style="background:#0072b2"></span>predicted</span>'
    "<button type=button data-do=closer aria-label=closer>+</button>"
    "<button type=button data-do=further aria-label=further>−</button>"
    "<button type=button data-do=whole>whole record</button><output></output></div>"
    '<canvas tabindex=0 role=img aria-label="measured and predicted over time"></canvas>'
    '<p class="note hint">Wheel or + and − to zoom, drag or arrows to move, double click for the whole.</p></div>'
)


def loops_section(fit: Identification, figure: Figures) -> Html:
    if inputs.lacking_sentence(fit):
        return Html(paragraph("They cannot be drawn: a plugin is not here (see Inputs).", "note"))
    text = ""
    for record, data in enumerate(fit.problem.data[:MOST_RECORDS]):
        made = plots.loops_figure(response_of(fit, record))
        if made is None:
            return Html(paragraph("Every part of the structure is linear: there are no loops to show.", "note"))
        text += figure(made, f"Force over deformation of the identified structure under {data.name or 'the record'}.")
    return Html(text)


def spectra_section(fit: Identification, figure: Figures) -> Html:
    return Html(
        figure(
            plots.spectra_figure(traces_of(fit)),
            "Fourier amplitudes. Where the measured curve flattens above the predicted one, noise has taken over.",
        )
    )


def residuals_section(fit: Identification, figure: Figures) -> Html:
    return Html(
        paragraph(
            "What the model leaves over should look like noise: no pattern in time, autocorrelation within the shaded "
            "limits at about 19 lags of 20, a flat spectrum.",
            "note",
        )
        + figure(
            plots.residual_figure(traces_of(fit)),
            "Residuals of the sensors that fit worst: history, autocorrelation, spectrum.",
        )
    )


def identifiability_section(fit: Identification, figure: Figures) -> Html:
    weak = [n for n, ok in zip(fit.names, fit.limits.identifiable, strict=True) if not ok]
    good = "Every unknown is identifiable from these data."
    text = paragraph(f"Not identifiable from these data: {', '.join(weak)}." if weak else good)
    if fit.limits.faint:
        text += paragraph("Combinations that the data cannot separate (ln: natural logarithm of the value):")
        text += bullets(fit.limits.faint)
    close = _close_pairs(fit)
    if close:
        text += paragraph("Pairs that move together: a change in one is nearly made good by the other.") + bullets(
            close
        )
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
        paragraph(f"The identified structure under '{validation.record.name}', a record that was not used.")
        + table(["sensor", "error / signal", "correlation"], rows, numbers=(1, 2))
        + figure(plots.plot_validation(validation, 6), "Measured and predicted on the record that was not used.")
    )


def comparison_section(comparison: Comparison, figure: Figures) -> Html:
    ratio = "error / bound" if comparison.truth is not None else "σ / bound"
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
    refused = [f"{name}: {why}" for name, why in comparison.refused.items()]
    if refused:
        text += paragraph("Methods that could not answer:") + bullets(refused)
    return Html(text + figure(plots.plot_comparison(comparison), "The same data, several methods."))


def provenance_section(fit: Identification, validation: Validation | None) -> Html:
    pairs = [
        ("seed", fit.seed),
        ("time", f"{number(fit.seconds, 4)} s"),
        ("ended", "cut short: the best so far" if fit.cut_short else "by itself"),
        *((f"version of {k}" if k != "device" else "computed on", v) for k, v in fit.versions.items()),
    ]
    text = facts(pairs)
    if fit.files:
        rows = [[f.name, f.role, f.size, f.sha256] for f in fit.files]
        text += Html("<h3>Files</h3>") + table(["file", "read as", "bytes", "SHA-256"], rows, numbers=(2,))
    known = list(fit.provenance)
    if validation is not None:
        known.append((validation.record.name, validation.record.history))
    for name, history in known:
        text += Html(f"<h3>History of {escape(name)}</h3>") + bullets(history)
    return Html(text)
