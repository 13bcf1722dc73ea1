"""The section of the report on the checks of a result: what was looked at, what was found, what it means."""

from __future__ import annotations

from vibrid.core.findings import KNOWN, ODD, WRONG
from vibrid.identification.result import Identification
from vibrid.report.words import Html, badge, paragraph, table

QUESTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Are the readings those of the named sensors, in the right unit, sign and time?",
     ("unit", "sign", "gain", "delay", "offset", "drift", "clock", "exchanged", "meaning", "repaired", "clipped", "gap",
      "resampled")),
    ("Is the measured excitation free of noise that matters?", ("input noise",)),
    ("Is there another answer that explains the readings as well?", ("another answer",)),
    ("Is the time step short enough?", ("time step",)),
    ("Is the excitation right between its samples?", ("hold",)),
    ("Is the noise as the intervals assume, or counted in them?",
     ("memory", "growing", "bursts", "outliers", "shared")),
    ("Is damping right in every mode?", ("damping",)),
    ("Does a storey lack a law (hysteresis, hardening, friction)?", ("law",)),
    ("Did a filter end at the most likely values?", ("filter",)),
)  # fmt: skip
_MEANING = {WRONG: badge(False, no="to be cured"), ODD: badge(False, no="worth a look"), KNOWN: badge(True, "counted")}


def checks_section(fit: Identification) -> Html:
    """One row for every question, with what was found."""
    if fit.convergence.get("checks") != "all":
        return Html(paragraph("This result was not checked: its intervals assume that model, time step and noise are "
                              "right."))  # fmt: skip
    rows, told = [], {name for _, names in QUESTIONS for name in names}
    for question, names in QUESTIONS:
        if question.startswith("Did a filter") and "Kalman" not in fit.method:
            continue
        found = [finding for finding in fit.checks if finding.name in names]
        rows += [[question, _MEANING[f.verdict], f.sentence] for f in found] or [
            [question, badge(True, "nothing found"), ""]
        ]
    rows += [["Other", _MEANING[f.verdict], f.sentence] for f in fit.checks if f.name not in told]
    note = (
        "Each question was put to the readings themselves. “Counted” means that estimates and intervals allow for what "
        "was found; “to be cured” that they do not hold before it is put right. Instruments are questioned where the "
        "model does not fit."
    )
    return Html(paragraph(note, "note") + table(["question", "", "found"], rows))
