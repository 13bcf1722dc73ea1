"""The report as text: what it says, what it must not contain, how it is written."""

import base64
import dataclasses
import json
import re

import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.core.errors import FileProblem
from vibrid.identification.experiment import Experiment
from vibrid.report import html
from vibrid.report.embed import interactive_data, script_json
from vibrid.report.html import report_page, write_report
from vibrid.report.signals import SensorTrace
from vibrid.report.words import number, rounded
from vibrid.simulation.excitation import drive

HEADINGS = (
    "Inputs", "Parameters", "Convergence", "Response", "Hysteresis loops", "Spectra", "Residuals", "Identifiability",
    "Validation", "Comparison of methods", "Provenance",
)  # fmt: skip


@pytest.fixture(scope="session")
def page(report):
    return report.read_text(encoding="utf-8")


def test_it_says_what_was_found(page, fit):
    for heading in HEADINGS:
        assert f"<h2>{heading}</h2>" in page
    for row in fit.table():
        assert rounded(row["estimate"], row["standard_deviation"]) in page
        assert number(row["cramer_rao_bound"], 2) in page
    assert "The model fits" in page
    assert page.index("The model fits") < page.index("<h2>Inputs</h2>")
    assert "TrajectoryFit" in page and "tolerance = " in page
    assert "floor masses" in page and "N\N{NO-BREAK SPACE}s²/m³" in page
    assert re.search(r"ground acceleration: 6 m/s² \(0.612 g\)", page)
    assert "held out" in page and "seed" in page and "version of jax" in page
    assert "Rezaeian" in page  # the history of the record
    assert "another motion" in page
    assert page.count("<figure>") == page.count("<figcaption>") >= 10


def test_names_cannot_break_out(page, report):
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert" in page
    assert "<b>&quot;" not in page and 'roof "A" <b>' not in page
    assert "not &lt;all&gt; measured" in page
    data = json.loads(re.search(r'id="traces">(.*?)</script>', page, re.DOTALL)[1])
    assert data[0]["name"].startswith("storm <script>")
    assert "</script>" not in script_json({"a": "</script>"})


def test_it_needs_no_network(page):
    assert "http" not in page.lower()
    assert "//" not in re.sub(r"base64,[^\"]*|\"(?:measured|predicted|residual)\":\"[^\"]*\"", "", page).replace(
        "*//", ""
    )
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)
    assert "@import" not in page and "url(" not in re.sub(r"url\(#", "", page)


def test_ids_are_unique(page):
    ids = re.findall(r'\sid="([^"]+)"', page)
    assert len(ids) == len(set(ids))


def test_the_traces_are_the_readings(page, fit):
    data = json.loads(re.search(r'id="traces">(.*?)</script>', page, re.DOTALL)[1])
    assert len(data) == 2 and len(data[0]["channels"]) == 5
    packed = data[0]["channels"][3]
    values = np.frombuffer(base64.b64decode(packed["measured"]), "<i2") * packed["scale"]
    readings = 1e3 * np.asarray(fit.problem.data[0].readings)[:, 3]
    np.testing.assert_allclose(values, readings, atol=1e-4 * np.abs(readings).max())
    assert packed["label"] == "displacement [mm]" and packed["group"] == 1


def test_long_traces_keep_the_extremes_of_signal_and_residual():
    time = 0.001 * np.arange(50_000)
    measured, predicted = np.sin(9 * time), np.sin(9 * time)
    measured[31_234] += 5.0
    trace = SensorTrace("a", "acceleration", time, measured, predicted, np.ones(len(time), bool))
    (record,) = interactive_data([("long", [trace] * 30)])
    packed = record["channels"][0]
    residual = np.frombuffer(base64.b64decode(packed["residual"]), "<i2") * packed["residual_scale"]
    assert packed["group"] > 2 and residual.max() == pytest.approx(5.0) and np.count_nonzero(residual) == 1
    assert len(json.dumps(record)) < 1_000_000
    place = packed["start"] + packed["step"] * np.argmax(residual)
    assert place == pytest.approx(31.234, abs=packed["group"] * 0.001)


def test_a_doubtful_answer_says_so_first(fit):
    """A pattern in the residuals, warnings, cut short, no covariance, no history, one unknown that nothing sees."""
    bad = [dataclasses.replace(f, white=False, depends=True, explained=1.0, relative=0.4) for f in fit.fits]
    limits = dataclasses.replace(
        fit.limits,
        bound=np.array([np.inf, *fit.limits.bound[1:]]),
        relative_bound=np.array([np.inf, *fit.limits.relative_bound[1:]]),
        inseparable=("0.71 ln(a) − 0.70 ln(b) is known not at all",),
    )
    nothing = {"free_covariance": None, "history": {}, "convergence": {}}
    page = report_page(fit.replace(fits=bad, warnings=("Doubt <this>.",), cut_short=True, limits=limits, **nothing))
    head = page[: page.index("<h2>")]
    assert 'class="verdict misses"' in head and "does not fit" in head
    assert "Doubt &lt;this&gt;." in head and "cut short" in head
    assert "0.71 ln(a)" in page and "∞" in page and "there is no history" in page


def test_it_appears_whole_or_not_at_all(fit, tmp_path, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(*_, **__):
        raise RuntimeError("drawing failed")

    monkeypatch.setattr(html.parts, "inputs_section", fail)
    with pytest.raises(RuntimeError):
        write_report(fit, path)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]
    monkeypatch.setattr(html, "report_page", lambda *_, **__: "new")
    write_report(fit, path)
    assert path.read_text() == "new" and list(tmp_path.iterdir()) == [path]
    with pytest.raises(FileProblem):
        write_report(fit, tmp_path / "missing" / "report.html")


def test_a_large_case_stays_small(fit, tmp_path):
    """40 s at 1000 Hz from 30 sensors, with noise that no compression likes."""
    n, rng = 40_000, np.random.default_rng(0)
    quantities = ("acceleration", "velocity", "displacement")
    sensors = vb.Sensors([vb.Sensor(quantities[i // 10], i % 3, name=f"sensor {i}") for i in range(30)])
    time = 0.001 * np.arange(n)
    clean = np.sin(2 * np.pi * np.outer(time, np.linspace(0.5, 9, 30))) * np.exp(-(((time - 15) / 8) ** 2))[:, None]
    noisy = clean + 0.05 * rng.standard_normal((n, 30))
    data = dataclasses.replace(
        fit.problem.data[0],
        readings=jnp.asarray(noisy),
        present=jnp.ones((n, 30)),
        drive=drive(rng.standard_normal((n, 1))),
        step=0.001,
    )
    experiment = Experiment(fit.problem.experiment.structure, tuple(sensors), fit.problem.experiment.initial)
    problem = dataclasses.replace(fit.problem, data=(data,), held_out=(jnp.zeros((n, 30)),), experiment=experiment)
    fits = [dataclasses.replace(fit.fits[0], name=s.label) for s in sensors]
    large = fit.replace(problem=problem, predictions=[clean], fits=fits, noise=np.full(30, 0.05))
    path = write_report(large, tmp_path / "large.html")
    assert path.stat().st_size < 3_000_000
