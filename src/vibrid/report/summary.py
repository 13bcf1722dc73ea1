"""The first page of a report, for a client: the question, the answer, how sure it is, and what to do."""

from __future__ import annotations

import numpy as np

from vibrid.core import paths
from vibrid.identification.compare import Comparison
from vibrid.identification.display import displayed
from vibrid.identification.result import Identification, Validation
from vibrid.report.style import unit_text
from vibrid.report.words import Html, bullets, counted, escape, paragraph, percent, table

MOST_ANSWERS = 12
LARGE = 0.1
"""Share of a value above which its ± 2σ is called large."""
WORSE = 3.0
"""Error on a record that was not used, over that of the fitted ones, above which a model generalises badly."""


def summary_section(
    fit: Identification, validation: Validation | None = None, comparison: Comparison | None = None
) -> Html:
    """Question, answer, how sure, what to do."""
    parts = [
        ("The question", paragraph(question(fit))),
        ("The answer", answer(fit)),
        ("How sure it is", bullets(certainty(fit, validation, comparison))),
        ("What to do", bullets(advice(fit, validation))),
    ]
    return Html("".join(f"<h3>{heading}</h3>{text}" for heading, text in parts))


def question(fit: Identification) -> str:
    """What was asked, in one sentence."""
    p = fit.problem
    meanings = dict.fromkeys(filter(None, (_meaning(fit, i) for i in range(len(fit.names)))))
    what = f" ({', '.join(meanings)})" if meanings else ""
    given = f"{counted(len(p.sensors), 'sensor')} in {counted(len(p.data), 'record')}"
    unknown = "one parameter" if len(fit.names) == 1 else f"{len(fit.names)} parameters"
    return f"Which values have {unknown} of the structure{what}, judging by the readings of {given}?"


def _meaning(fit: Identification, i: int) -> str:
    try:
        place = fit.problem.unknowns.places[i][0]
        return paths.info(fit.problem.experiment, place).meaning
    except (AttributeError, KeyError, ValueError, IndexError, TypeError):
        return ""


def answer(fit: Identification) -> Html:
    """Every parameter with its ± 2σ, and the change from the value that was assumed."""
    rows = []
    start = np.asarray(fit.problem.unknowns.start)
    for i, row in enumerate(fit.table()[:MOST_ANSWERS]):
        shown = row.get("display") or displayed(row, row["unit"])
        first = float(start[i])
        change = (row["estimate"] - first) / abs(first) if first else float("nan")
        sign = "+" if change > 0 else "−" if change < 0 else ""
        rows.append(
            [
                row["name"],
                _meaning(fit, i),
                Html(f"<b>{escape(unit_text(shown['text']))}</b>"),
                f"{sign}{percent(abs(change), 3)}",
            ]
        )
    left = len(fit.names) - len(rows)
    more = paragraph(f"{left} more under Parameters.", "note") if left > 0 else Html("")
    return Html(table(["parameter", "meaning", "value ± 2σ", "against the assumed value"], rows, numbers=(3,)) + more)


def certainty(fit: Identification, validation: Validation | None, comparison: Comparison | None) -> list[str]:
    """What supports the answer and what does not."""
    found = [fit.verdict]
    size = np.where(fit.estimate != 0, np.abs(fit.estimate), np.nan)
    share = 2 * fit.deviation / size
    if np.isfinite(share).any():
        worst = int(np.nanargmax(share))
        text = "If the model is right, every value lies within its ± 2σ with a probability of about 95 %"
        found.append(f"{text}; the least certain is {fit.names[worst]}, ± {percent(float(share[worst]))}.")
    else:
        found.append(f"{fit.method} gives no uncertainty for these values.")
    if validation is not None:
        error = max(validation.relative_error.values())
        found.append(f"A record that was not used, '{validation.record.name}', is predicted within {percent(error)}.")
    if comparison is not None and len(comparison.results) > 1:
        differing = [f"{a.first} and {a.second} in {', '.join(a.differ)}" for a in comparison.agreement if a.differ]
        everyone = f"All {len(comparison.results)} methods that were compared agree within 2σ."
        found.append(f"Methods differ: {'; '.join(differing)}." if differing else everyone)
    return found


def advice(fit: Identification, validation: Validation | None) -> list[str]:
    """What follows from the result, the most important first."""
    found = []
    if fit.cut_short:
        found.append("Let the method run to its end: these are the best values when it was stopped.")
    if not fit.model_fits:
        found.append(
            "Do not use these values yet: the model does not explain the readings, so that their intervals are too "
            "narrow. See Residuals for what is left over; check units, polarity and time of the sensors, then try "
            "another law or more unknowns."
        )
    weak = [name for name, ok in zip(fit.names, fit.limits.identifiable, strict=True) if not ok]
    if weak:
        found.append(
            f"Do not use {', '.join(weak)}: these readings do not determine it. Add sensors, choose a stronger or "
            "another excitation, or fix the parameter at a known value."
        )
    held = [name for name, side in zip(fit.names, fit.at_bound, strict=True) if side]
    if held:
        found.append(f"Check the limits of {', '.join(held)}: the best value lies at the end of the allowed range.")
    if validation is None:
        found.append("Check the values on a record that was not used (`--validate`): the strictest test of a model.")
    else:
        worst, fitted = max(validation.relative_error.values()), max(f.relative for f in fit.fits)
        if worst > WORSE * fitted and worst > LARGE:
            found.append(
                f"Use predictions with care: on the record that was not used the error is {percent(worst)}, on the "
                f"fitted ones {percent(fitted)}."
            )
    if fit.model_fits and not weak and not fit.cut_short:
        found.insert(0, "Use the values with their ± 2σ, within the range of motion that these records cover.")
    return found
