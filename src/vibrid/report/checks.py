"""The section of the report on the checks of a result: what was looked at, what was found, what it means."""

from __future__ import annotations

from vibrid.core.findings import KNOWN, ODD, WRONG
from vibrid.identification.checks.calibration import calibration_in_words
from vibrid.identification.checks.consistency import FILTERS
from vibrid.identification.checks.input_noise import applies
from vibrid.identification.checks.laws import is_tested, possible_bias
from vibrid.identification.checks.recorded import NAMES
from vibrid.identification.checks.run import AND_STEP, NOT_SOUGHT, RECORDED
from vibrid.identification.checks.time_step import STEP
from vibrid.identification.checks.twins import starts_of
from vibrid.identification.diagnostics import verdict
from vibrid.identification.result import Identification
from vibrid.report.words import Html, badge, paragraph, table

QUESTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Did the recorder keep all of the motion (no clipped, stuck, copied or coarse channel)?", NAMES),
    ("Are the readings those of the named sensors, in the right unit, sign and time?",
     ("unit", "sign", "gain", "delay", "offset", "drift", "clock", "exchanged", "meaning", "repaired", "gap",
      "resampled")),
    ("Is the measured excitation free of noise that matters?", ("input noise",)),
    ("Is there another answer that explains the readings as well?", ("another answer",)),
    ("Is the time step short enough?", (STEP,)),
    ("Is the excitation right between its samples?", ("hold",)),
    ("Is the noise as the intervals assume, or counted in them?",
     ("memory", "growing", "bursts", "outliers", "shared")),
    ("Is damping right in every mode?", ("damping",)),
    ("Does a storey lack a law (hysteresis, hardening, friction)?", ("law",)),
    ("Did a filter end at the most likely values, and do its innovations agree with its intervals?", ("filter",)),
    ("Do the intervals of the method hold the most likely values?", ("method",)),
)  # fmt: skip
_MEANING = {WRONG: badge(False, no="to be cured"), ODD: badge(False, no="worth a look"), KNOWN: badge(True, "counted")}


def checks_section(fit: Identification) -> Html:
    """One row for every question, with what was found."""
    if fit.convergence.get("checks") not in ("all", AND_STEP, RECORDED):
        return Html(paragraph("This result was not checked: its intervals assume that model, time step and noise are "
                              "right."))  # fmt: skip
    rows, told = [], {name for _, names in QUESTIONS for name in names}
    asked = _asked(fit)
    for question, names in QUESTIONS:
        found = [[question, _MEANING[f.verdict], f.sentence] for f in fit.checks if f.name in names]
        none = badge(True, "nothing found") if asked.get(names[0], True) else "not asked"
        rows += found or [[question, none, ""]]
    rows += [["Other", _MEANING[f.verdict], f.sentence] for f in fit.checks if f.name not in told]
    if said := calibration_in_words(fit):
        rows.append(["What would a sensor that is not quite calibrated do?", "not counted", said])
    if unseen := possible_bias(fit):
        rows.append(["What could a law that is too weak to be told do?", "not counted", _unseen_in_words(unseen)])
    note = (
        "Each question was put to the readings themselves. “Counted” means that estimates and intervals allow for what "
        "was found; “to be cured” that they do not hold before it is put right; “not asked” that the question does not "
        "apply to this result or would have taken too long."
    )
    return Html(paragraph(note, "note") + table(["question", "", "found"], rows))


def _unseen_in_words(unseen: dict[str, float]) -> str:
    each = ", ".join(f"{name} by {value:.2g}" for name, value in unseen.items())
    return f"The weakest that is told nearly always, in the worst storey, moves {each} standard deviations."


def _asked(fit: Identification) -> dict[str, bool]:
    """Whether a question was asked, by the first name of its findings."""
    numbers = any(f.depends is not None for f in fit.fits)  # time step and noise: of results of least squares
    if fit.convergence["checks"] in (AND_STEP, RECORDED):
        return {names[0]: names == NAMES or (numbers and names == (STEP,)) for _, names in QUESTIONS}
    recorded = any(f.verdict == WRONG and f.name in NAMES for f in fit.checks)  # whose consequences are not sought
    misfit = not verdict(fit.fits)[0]
    return {
        "unit": misfit and not recorded and NOT_SOUGHT not in fit.warnings,
        "input noise": applies(fit.problem) and "input_noise" not in fit.convergence and not recorded,
        "another answer": starts_of(fit.problem) > 0,
        "time step": numbers,
        "hold": numbers,
        "memory": numbers,
        "damping": not recorded,
        "law": is_tested(fit) and "input_noise" not in fit.convergence and not recorded,
        "filter": fit.method in FILTERS,
    }
