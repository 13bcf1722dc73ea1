"""Figures and data inside a page: no other file and no network address."""

from __future__ import annotations

import base64
import io
import json
import re

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from vibrid.report.signals import SensorTrace
from vibrid.report.style import RC, readable_unit, unit_text
from vibrid.report.words import Html, escape

LARGEST_DRAWING = 500_000
"""Characters of an SVG above which a figure becomes a PNG, if that is smaller."""
TRACE_BUDGET = 900_000
"""Characters that all traces of the interactive plot may take together."""
_MISSING = -32768


def figure_html(figure: Figure, caption: str, number: int) -> Html:
    """A figure with its caption: SVG, or a PNG where the drawing has too many points."""
    drawing = _svg(figure, number)
    if len(drawing) > LARGEST_DRAWING:
        picture = png_html(figure, caption)
        drawing = min(drawing, picture, key=len)
    return Html(f"<figure>{drawing}<figcaption><b>Figure {number}.</b> {escape(caption)}</figcaption></figure>")


def png_html(figure: Figure, words: str = "", dpi: float = 130) -> Html:
    """A figure as a picture inside a page; `words` for those who cannot see it."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=dpi)
    data = base64.b64encode(stream.getvalue()).decode()
    return Html(f'<img style="max-width:100%" alt="{escape(words)}" src="data:image/png;base64,{data}">')


def _svg(figure: Figure, number: int) -> str:
    stream = io.StringIO()
    with matplotlib.rc_context({**RC, "svg.hashsalt": f"figure {number}"}):
        figure.savefig(stream, format="svg")
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", text).replace("xlink:href", "href")
    used = set(re.findall(r"#([\w-]+)", text))
    text = re.sub(r'\sid="([\w.-]+)"', lambda m: m[0] if m[1] in used else "", text)
    text = re.sub(r'(?<=\sd=")[^"]*', _short_path, text)
    return re.sub(r">\s+<", "><", text).strip()


def _short_path(match: re.Match) -> str:
    """Coordinates rounded to 0.01 point; in long lines to 0.1 point and without letters between the points."""
    line = len(match[0]) > 2000 and not re.search(r"[^ML\d\s.-]", match[0])
    digits = 1 if line else 2
    text = re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.{digits}f}".rstrip("0").rstrip("."), match[0])
    text = text.replace("L", " ") if line else text
    return re.sub(r"\s+", " ", text).strip()


def script_json(content) -> str:
    """JSON that is safe inside a script element, whatever the names in it."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("&", "\\u0026")


def interactive_data(records: list[tuple[str, list[SensorTrace]]]) -> list[dict]:
    """The traces of the interactive plot as 16-bit numbers; long ones are reduced to their extremes."""
    count = max(sum(len(traces) for _, traces in records), 1)
    most = int(np.clip(TRACE_BUDGET / (3 * count * 8 / 3), 400, 20_000))  # three signals, 8/3 characters per number
    return [{"name": name, "channels": [_packed(t, most) for t in traces]} for name, traces in records]


def _packed(trace: SensorTrace, most: int) -> dict:
    factor, unit = readable_unit(trace.unit, trace.largest, trace.quantity)
    group = max(-(-2 * len(trace.time) // most), 1)
    group = group if group > 2 else 1
    scale = factor * _scale(trace.measured, trace.predicted)
    residual_scale = factor * _scale(trace.residual)
    step = trace.step if group == 1 else trace.step * group / 2
    return {
        "name": trace.name,
        "label": f"{trace.quantity.replace('_', ' ')} [{unit_text(unit) or '-'}]",
        "start": float(f"{trace.time[0] + (0.0 if group == 1 else step / 2):.9g}"),
        "step": float(f"{step:.9g}"),
        "group": group,
        "scale": float(f"{scale:.7g}"),
        "measured": _encoded(extremes(trace.measured, group) * factor / scale),
        "predicted": _encoded(extremes(trace.predicted, group) * factor / scale),
        "residual_scale": float(f"{residual_scale:.7g}"),
        "residual": _encoded(extremes(trace.residual, group) * factor / residual_scale),
    }


def _scale(*signals: np.ndarray) -> float:
    """The size of one step of the 16-bit numbers."""
    return max(max(float(np.nanmax(np.abs(s))) for s in signals), 1e-300) / 32000


def extremes(values: np.ndarray, group: int) -> np.ndarray:
    """The least and the greatest value of every `group` samples, in their order."""
    if group <= 1:
        return np.asarray(values, float)
    short = -len(values) % group
    blocks = np.concatenate([values, np.full(short, np.nan)]).reshape(-1, group)
    finite = np.isfinite(blocks)
    low = np.where(finite, blocks, np.inf).argmin(axis=1)
    high = np.where(finite, blocks, -np.inf).argmax(axis=1)
    order = np.sort(np.stack([low, high], axis=1), axis=1)
    return np.take_along_axis(blocks, order, axis=1).ravel()


def _encoded(scaled: np.ndarray) -> str:
    whole = np.where(np.isfinite(scaled), np.rint(np.nan_to_num(scaled)), _MISSING).astype("<i2")
    return base64.b64encode(whole.tobytes()).decode()
