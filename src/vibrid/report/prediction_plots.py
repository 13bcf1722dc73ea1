"""Figure of a prediction: its band, and the measured readings beside it."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from vibrid.identification.prediction import Prediction
from vibrid.records.record import QUANTITIES
from vibrid.report.signals import kept_samples
from vibrid.report.style import MEASURED, PREDICTED, label, legend_above, new_figure, readable_unit, styled

MOST_SENSORS = 8
STRONG = 0.15
"""Share of the record around the largest peak that is drawn again at the right."""


def plot_prediction(prediction: Prediction, most: int = MOST_SENSORS) -> Figure:
    """Every sensor under the record, whole and around the largest peak: the prediction, ± 2σ from the uncertainty of
    its parameters, the same with the noise of the sensor, and what was measured."""
    count = min(len(prediction.names), most)
    figure = new_figure(9.5, 0.7 + 1.6 * count)
    with styled():
        axes = figure.subplots(count, 2, squeeze=False, width_ratios=[1.45, 1], sharex="col")
        top = int(np.argmax(np.abs(prediction.values[:, 0])))
        reach = 0.5 * STRONG * (prediction.time[-1] - prediction.time[0])
        window = (prediction.time[top] - reach, prediction.time[top] + reach)
        for i, (whole, part) in enumerate(axes):
            draw_prediction(whole, prediction, i)
            draw_prediction(part, prediction, i, window)
            whole.set_title(prediction.names[i])
            part.set_title("around the largest peak", color="#4b5660", fontsize=8.5)
            part.set_ylabel("")
        for ax in axes[:-1].ravel():
            ax.set_xlabel("")
        left_out = len(prediction.names) - count
        more = f" ({left_out} more sensors)" if left_out else ""
        figure.suptitle(f"prediction for {prediction.record.name}{more}", fontsize=10.5, x=0.01, ha="left")
        legend_above(figure, axes[0, 1])
    return figure


def draw_prediction(ax, prediction: Prediction, i: int = 0, window: tuple[float, float] | None = None):
    """One sensor over time; `window` (s) shows a part. Returns the axes."""
    unit_si, time = prediction.units[i], prediction.time
    quantity = next((q for q, u in QUANTITIES.items() if prediction.names[i].startswith(q) and u == unit_si), "reading")
    inside = np.ones(len(time), bool) if window is None else (time >= window[0]) & (time <= window[1])
    values, spread = prediction.values[inside, i], 2 * prediction.deviation[inside, i]
    measured, noise = prediction.measured[inside, i], 2 * float(prediction.noise[i])
    factor, unit = readable_unit(unit_si, float(np.max(np.abs(prediction.values[:, i]))), quantity)
    t = time[inside]
    kept = kept_samples(values, np.nan_to_num(measured), most=1200)

    def band(half, alpha, words):
        low, high = factor * (values - half), factor * (values + half)
        ax.fill_between(t[kept], low[kept], high[kept], color=PREDICTED, alpha=alpha, linewidth=0, label=words)

    if np.isfinite(measured).any():
        ax.plot(t[kept], factor * measured[kept], color=MEASURED, linewidth=1.8, label="measured")
    if np.isfinite(spread).all():
        if np.isfinite(noise) and noise > 0:
            band(np.sqrt(spread**2 + noise**2), 0.15, "± 2σ with the sensor's noise")
        band(spread, 0.4, "± 2σ of the prediction")
    ax.plot(t[kept], factor * values[kept], color=PREDICTED, linewidth=0.8, label="predicted")
    ax.set_xlim(t[0], t[-1])
    ax.set_xlabel("time [s]")
    ax.set_ylabel(label(quantity.replace("_", " "), unit).replace(" [", "\n["))
    return ax
