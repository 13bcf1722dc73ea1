"""Figures: every function returns labelled axes; what is drawn keeps the peaks."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

import vibrid as vb
from vibrid.report import identification_plots as plots
from vibrid.report.embed import extremes
from vibrid.report.signals import (
    amplitude_spectrum,
    autocorrelation,
    kept_samples,
    response_of,
    strong_part,
    traces_of,
    worst,
    yielding_parts,
)
from vibrid.report.structure_drawing import draw_structure
from vibrid.report.style import readable_unit, unit_text
from vibrid.report.words import number, rounded


@pytest.fixture(scope="session")
def traces(fit):
    return traces_of(fit)


@pytest.fixture(scope="session")
def response(fit):
    return response_of(fit)


def texts(ax):
    return [ax.get_xlabel(), ax.get_ylabel()]


def test_every_plot_has_labels(fit, filtered, traces, response):
    made = [
        plots.plot_intervals(fit, true_values={"storeys[0].stiffness": 50.0}),
        plots.plot_misfit(fit),
        plots.plot_convergence(filtered, "storeys[*].beta"),
        plots.plot_samples(filtered, 1),
        *(f(traces[0]) for f in (plots.plot_overlay, plots.plot_residual, plots.plot_autocorrelation)),
        *(f(traces[0]) for f in (plots.plot_residual_spectrum, plots.plot_spectrum)),
        plots.plot_loop(response, "storeys[0]"),
    ]
    for ax in made:
        assert all(texts(ax)), texts(ax)
        assert ax.lines or ax.collections or ax.patches


def test_labels_carry_units(traces, response):
    assert texts(plots.plot_overlay(traces[0])) == ["time [s]", "acceleration [m/s²]"]
    assert texts(plots.plot_overlay(traces[3]))[1] == "displacement [mm]"
    assert texts(plots.plot_loop(response, "storeys[0]")) == ["deformation [mm]", "force [N]"]


def test_plots_draw_into_given_axes(fit, traces):
    ax = Figure().subplots()
    assert plots.plot_overlay(traces[0], ax) is ax
    assert plots.plot_intervals(fit, ax) is ax
    assert plots.plot_correlation(fit, Figure().subplots()).images


def test_whole_figures(fit, validation, comparison):
    assert fit.plot().axes
    assert validation.plot().axes
    figure = plots.plot_comparison(comparison)
    labels = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert {"TrajectoryFit", "filter"} <= set(labels)
    assert figure.axes[2].get_xlabel() == "time [s]"


def test_convergence_shows_two_deviations_where_the_history_has_them(fit, filtered):
    assert "± 2σ" in plots.plot_convergence(filtered, 0).get_legend_handles_labels()[1]
    assert "± 2σ" not in plots.plot_convergence(fit, 0).get_legend_handles_labels()[1]
    assert plots.plot_convergence(filtered, 0).get_xlabel() == "time [s]"


def test_held_out_samples_are_shaded(traces):
    assert "held out" in plots.plot_overlay(traces[0]).get_legend_handles_labels()[1]


def test_response_of_the_fit_is_what_it_predicted(fit, response):
    readings = response.readings(fit.experiment.sensors)
    np.testing.assert_allclose(readings, fit.predictions[0], rtol=1e-8, atol=1e-10)
    assert yielding_parts(response)[:3] == ["storeys[0]", "storeys[1]", "storeys[2]"]


def test_fewer_points_keep_every_peak():
    rng = np.random.default_rng(0)
    y = np.sin(np.linspace(0, 60, 40000))
    y[12345], y[777] = 9.0, -7.0
    y[20000:20100] = np.nan
    kept = kept_samples(y, rng.normal(size=40000), most=2000)
    assert len(kept) <= 2002 and {0, 777, 12345, 39999} <= set(kept)
    short = extremes(y, 40)
    assert len(short) == 2000 and np.nanmax(short) == 9.0 and np.nanmin(short) == -7.0


def test_residual_statistics():
    white = np.random.default_rng(1).normal(size=4000)
    rho = autocorrelation(white, 40)
    assert rho[0] == pytest.approx(1.0)
    assert np.mean(np.abs(rho[1:]) < 1.96 / np.sqrt(4000)) > 0.85
    frequency, amplitude = amplitude_spectrum(np.sin(2 * np.pi * 3.0 * np.arange(4000) * 0.01), 0.01, 200)
    assert frequency[np.argmax(amplitude)] == pytest.approx(3.0, rel=0.03)


def test_strong_part_and_worst(traces):
    start, end = strong_part(traces)
    energy = sum(np.nan_to_num(t.measured) ** 2 / np.nanvar(t.measured) for t in traces)
    inside = (traces[0].time >= start) & (traces[0].time <= end)
    assert energy[inside].mean() > energy.mean()
    assert len(worst(traces, 2)) == 2


def test_numbers_read_as_an_engineer_writes_them():
    assert number(1.8e11) == "1.8\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}10¹¹"
    assert number(-0.01234) == "−0.01234"
    assert number(float("nan")) == "–" and number(float("inf")) == "∞"
    assert rounded(49.98765, 0.023) == "49.988"
    assert rounded(2.0345e8, 3.1e5) == "2.0345\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}10⁸"
    assert unit_text("N s^2/m^3") == "N s²/m³" and unit_text("m^-n") == "m⁻ⁿ"
    assert readable_unit("m", 0.012) == (1e3, "mm")
    assert readable_unit("N", 3.2e5) == (1e-3, "kN")
    assert readable_unit("", 1e-4, "strain") == (1e6, "µε")


def drawn(structure, **keywords):
    ax = draw_structure(structure, **keywords)
    ax.figure.canvas.draw()
    return [t.get_text() for t in ax.texts] + [t.get_text() for t in ax.get_legend().get_texts() if ax.get_legend()]


def test_every_structure_can_be_drawn():
    law = vb.BoucWen(stiffness=40.0, beta=2.0, gamma=2.0)
    steel = {"modulus": 210e9, "area": 2e-3, "density": 7850.0}
    frame = {"nodes": [(0, 0), (0, 3), (4, 3)], "elements": [(0, 1), (1, 2)], "supports": {0: "fixed", 2: "pinned"}}
    pyramid = [(0, 0, 0), (3, 0, 0), (0, 3, 0), (1, 1, 4)]
    attached = [vb.Attachment(vb.Linear(5.0), at=1), vb.Attachment(law, at="roof", to=0)]
    shear = vb.ShearBuilding(masses=[1.0] * 3, storeys=[law] * 3, damping=vb.Modal(0.02), attachments=attached)
    words = drawn(
        shear,
        sensors=vb.Sensors(acceleration=["roof"], drift=[1], element_force=["storeys[2]"]),
        unknown=["structure.storeys[0].stiffness"],
        loads=(("ground_acceleration", ""), ("load", "1")),
    )
    assert {"BoucWen", "Linear", "floor 2", "load", "ground acceleration", "drift"} <= set(words)
    assert "Modal damping" in words
    tip = {"masses": [vb.PointMass(0.1, at="tip")], "attachments": [vb.Attachment(vb.Linear(1e4), at="tip")]}
    beam = vb.Beam([0.0, 0.5, 1.0], inertia=8e-10, **steel, **tip)
    assert "strain" in drawn(beam, sensors=vb.Sensors(strain=["x=0.1,z=0.003"], acceleration=["tip", "x=0.7"]))
    portal = vb.Frame2D(inertia=8e-6, **frame, **steel)
    assert "0" in drawn(portal, sensors=vb.Sensors(displacement=["1.x"]), loads=(("load", "1.x"),))
    truss = vb.Truss(pyramid, [(0, 3), (1, 3), (2, 3)], supports={i: "pinned" for i in range(3)}, **steel)
    assert drawn(truss, sensors=vb.Sensors(displacement=["3.z"], element_force=["1"]), unknown=["modulus"])
    plain = vb.Matrices(mass=[1.0, 2.0], stiffness=[[2.0, -1.0], [-1.0, 1.0]], names=["base", "top"])
    assert {"base", "top"} <= set(drawn(plain, sensors=vb.Sensors(acceleration=["top"])))
    assert "BoucWen" in drawn(vb.Device(law), sensors=vb.Sensors(element_force=["device"]), unknown=["law.beta"])


def test_matplotlib_stays_out_of_the_core():
    code = "import vibrid, sys; vibrid.identify; assert 'matplotlib' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
