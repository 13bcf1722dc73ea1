"""The first page of a report, and the drawing of a hybrid test."""

import re
from dataclasses import replace

import numpy as np
import pytest

import vibrid as vb
from vibrid.report.device_drawing import DrawnDevice, draw_devices
from vibrid.report.html import report_page
from vibrid.report.structure_drawing import draw_structure
from vibrid.report.summary import advice, certainty, question, summary_section


def test_question_answer_certainty_and_advice(fit, validation):
    assert question(fit).startswith(
        "Which values have 4 parameters of the structure (initial stiffness k, loop shape β)"
    )
    text = summary_section(fit, validation)
    assert [h for h in re.findall(r"<h3>(.*?)</h3>", text)] == [
        "The question", "The answer", "How sure it is", "What to do",
    ]  # fmt: skip
    assert "± " in text and "least certain is" in text and "another motion" in text
    assert any(line.startswith("Use the values with their ± 2σ") for line in advice(fit, validation))


def test_what_is_wrong_comes_first(fit):
    bad = fit.replace(fits=[replace(f, white=False, depends=True, explained=1.0, relative=0.5) for f in fit.fits])
    assert not bad.model_fits and advice(bad, None)[0].startswith("Do not use these values yet")
    limits = replace(fit.limits, relative_bound=np.full(4, 2.0))
    unsure = fit.replace(limits=limits, cut_short=True)
    said = " ".join(advice(unsure, None))
    assert "Let the method run to its end" in said and "do not determine it" in said and "--validate" in said
    assert "gives no uncertainty" in " ".join(certainty(fit.replace(free_covariance=None), None, None))


def test_figures_are_numbered_as_they_are_read(fit, validation, comparison):
    page = report_page(fit, validation=validation, comparison=comparison)
    numbers = [int(n) for n in re.findall(r"<b>Figure (\d+)\.</b>", page)]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) > 8
    anchors = re.findall(r'<section id="(\w+)">', page)
    assert anchors[:3] == ["summary", "inputs", "parameters"] and page.index("The answer") < page.index("Figure 1.")


NODES = [(0.0, 0.0), (1.0, 0.0), (0.5, 1.0)]


@pytest.mark.parametrize(
    ("structure", "at", "to"),
    [
        (vb.ShearBuilding([1.0] * 2, [vb.Linear(40.0)] * 2), "1", "0"),
        (vb.ShearBuilding([1.0] * 2, [vb.Linear(40.0)] * 2), "roof", None),
        (vb.Matrices([[1.0, 0.0], [0.0, 1.0]], [[2.0, -1.0], [-1.0, 1.0]], names=["a", "b"]), "b", "a"),
        (
            vb.Frame2D(NODES, [(0, 2), (2, 1)], 7e10, 1e-4, 1e-9, 2700.0, supports={0: "fixed", 1: "fixed"}),
            "2.x",
            None,
        ),
    ],
)
def test_devices_are_drawn_and_named(structure, at, to):
    devices = [DrawnDevice("damper", at, to, True), DrawnDevice("twin", at, to, False)]
    ax = draw_devices(draw_structure(structure), structure, devices)
    words = [t.get_text() for t in ax.texts]
    assert "damper" in words and "twin" in words
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["device in the laboratory", "device computed"]
    ax.figure.savefig("/dev/null", format="svg")
