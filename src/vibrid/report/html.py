"""The report: one self-contained HTML file."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from vibrid.core.files import write_text
from vibrid.identification.compare import Comparison
from vibrid.identification.result import Identification, Validation
from vibrid.report import sections as parts
from vibrid.report.band_section import bands_section
from vibrid.report.checks import checks_section
from vibrid.report.embed import interactive_data, script_json
from vibrid.report.signals import traces_of, traces_of_validation
from vibrid.report.summary import summary_section
from vibrid.report.words import Html, bullets, counted, escape, paragraph

_HERE = Path(__file__).parent


def write_report(
    fit: Identification,
    path,
    *,
    validation: Validation | None = None,
    title: str | None = None,
    comparison: Comparison | None = None,
    bands: Any = None,
) -> Path:
    """Write the report of an identification; the file is written completely or not at all.

    Arguments
        path: the file, usually ending in .html.
        validation: from `fit.validate(record)`; shown in its own section.
        title: the heading; by default it names the structure.
        comparison: from `compare(...)`; shown in its own section.
        bands: the dataset of `study(fit, motions).run()`, or its `response_bands`; shown in its own section.

    The file contains its figures, its data and the script of the interactive plot. It needs no network.
    """
    page = report_page(fit, validation=validation, title=title, comparison=comparison, bands=bands)
    return write_text(path, page)


def report_page(
    fit: Identification,
    *,
    validation=None,
    title=None,
    comparison=None,
    bands=None,
    own: tuple[str, str, Callable[[parts.Figures], Html]] | None = None,
) -> str:
    """The text of the page; own: anchor, heading and maker of a section of a special kind of identification."""
    figure = parts.Figures()
    title = title or f"Identification of a {_spaced(type(fit.problem.experiment.structure).__name__)}"
    sections = [
        ("summary", "Summary", summary_section(fit, validation, comparison)),
        ("inputs", "Inputs", parts.inputs_section(fit, figure)),
        ("parameters", "Parameters", parts.parameters_section(fit, figure)),
        ("checks", "Checks", checks_section(fit)),
    ]
    if own is not None:
        sections.append((own[0], own[1], own[2](figure)))
    if fit.loads:
        sections.append(("loads", "Loads", parts.loads_section(fit, figure)))
    sections += [
        ("convergence", "Convergence", parts.convergence_section(fit, figure)),
        ("response", "Response", parts.response_section(fit, figure)),
        ("loops", "Hysteresis loops", parts.loops_section(fit, figure)),
        ("spectra", "Spectra", parts.spectra_section(fit, figure)),
        ("residuals", "Residuals", parts.residuals_section(fit, figure)),
        ("identifiability", "Identifiability", parts.identifiability_section(fit, figure)),
    ]
    if validation is not None:
        sections.append(("validation", "Validation", parts.validation_section(validation, figure)))
    if bands is not None:
        sections.append(("bands", "Other motions", bands_section(bands, figure)))
    if comparison is not None:
        sections.append(("comparison", "Comparison of methods", parts.comparison_section(comparison, figure)))
    sections.append(("provenance", "Provenance", parts.provenance_section(fit, validation)))
    footer = f"Written by vibrid {escape(fit.versions.get('vibrid', ''))} on {datetime.now():%Y-%m-%d %H:%M}."
    script = (
        f'<script type="application/json" id="traces">{script_json(_traces(fit, validation))}</script>\n'
        f"<script>\n{(_HERE / 'page.js').read_text(encoding='utf-8')}</script>\n"
    )
    return document(title, _head(fit, title), sections, footer, script)


def document(title: str, head: str, sections: Sequence[tuple[str, str, str]], footer: str, script: str = "") -> str:
    """A whole page: a head, sections of (anchor, heading, text) with links to them, a footer."""
    links = "".join(f'<a href="#{anchor}">{heading}</a>' for anchor, heading, _ in sections)
    body = "".join(f'<section id="{anchor}"><h2>{heading}</h2>{text}</section>' for anchor, heading, text in sections)
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<title>{escape(title)}</title>\n<link rel=icon href="data:,">\n'
        f"<style>\n{(_HERE / 'page.css').read_text(encoding='utf-8')}</style>\n</head>\n<body>\n<main>\n"
        f"{head}<nav>{links}</nav>\n{body}\n"
        f"<footer><p>{footer} All numbers are in SI units unless a unit is given.</p></footer>\n</main>\n"
        f"{script}</body>\n</html>\n"
    )


def _head(fit: Identification, title: str) -> str:
    """Title, verdict and warnings."""
    p = fit.problem
    lead = (
        f"{counted(len(fit.names), 'unknown')} from {counted(len(p.sensors), 'sensor')} in "
        f"{counted(len(p.data), 'record')} by {fit.method}, {fit.seconds:.3g} s"
    )
    cut = ["The method was cut short: these are the best values so far, not its final result."] if fit.cut_short else []
    said = "".join(paragraph(sentence) for sentence in fit.judgement)
    verdict = f'<div class="verdict {"fits" if fit.model_fits else "misses"}">{said}</div>'
    return (
        f"<header><h1>{escape(title)}</h1>{paragraph(lead, 'lead')}</header>\n{verdict}\n"
        f"{bullets([*cut, *fit.warnings], 'warnings')}\n"
    )


def _traces(fit: Identification, validation: Validation | None) -> list[dict]:
    """Traces of the interactive plot: the fitted records, and that of the validation."""
    records = [(d.name or f"record {i + 1}", traces_of(fit, i)) for i, d in enumerate(fit.problem.data)]
    if validation is not None:
        records.append((f"{validation.record.name} (validation)", traces_of_validation(validation)))
    return interactive_data(records)


def _spaced(name: str) -> str:
    """`ShearBuilding` as shear building."""
    return re.sub(r"(?<=[a-z])(?=[A-Z0-9])", " ", name).lower()
