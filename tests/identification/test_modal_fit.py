"""ModalFit: derivatives against finite differences, close and crossing modes, coverage, several minima, refusals."""

import sys
from pathlib import Path

import h5py
import jax.numpy as jnp
import numpy as np
import pytest

import vibrid as vb
from vibrid.identification.modal_problem import make_modal_problem, residuals_and_slopes
from vibrid.modal import measured_modes

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))
from ambient_vibration import accelerations, chain

TRUE = [1500.0, 1200.0, 900.0]
PLACES = ["0", "1", "2"]


def building(stiffnesses, masses=(1.0, 1.0, 0.8)) -> vb.ShearBuilding:
    return vb.ShearBuilding(list(masses), [vb.Linear(k) for k in stiffnesses])


def measured(structure, count=3, key=None, df=0.002, dphi=0.01, places=PLACES):
    """Modes of a structure with errors of the stated size, where there is a key."""
    found = vb.modes(structure, count)
    f, shapes = found.frequencies, np.stack([found.at(place) for place in places])
    shapes = shapes / np.linalg.norm(shapes, axis=0)
    if key is not None:
        rng = np.random.default_rng(key)
        f = f * (1 + df * rng.standard_normal(count))
        shapes = shapes + dphi * rng.standard_normal(shapes.shape)
    return measured_modes(f, shapes, places, frequency_deviations=df * f, shape_deviations=dphi)


def slopes_by_differences(problem, free, pairs, small=1e-6):
    columns = []
    for e in np.eye(len(free)):
        ends = [residuals_and_slopes(problem, jnp.asarray(free + s * small * e), pairs)[0] for s in (1, -1)]
        columns.append((np.asarray(ends[0]) - np.asarray(ends[1])) / (2 * small))
    return np.stack(columns, axis=1)


@pytest.mark.parametrize("gap", [1.0, 1e-3], ids=["apart", "close"])
def test_derivatives_equal_finite_differences(gap):
    """Three storeys; and two equal oscillators whose coupling parts their frequencies by a thousandth."""
    if gap == 1.0:
        structure, unknown = building([1400.0, 1300.0, 800.0]), ["storeys[*].stiffness", "masses[1]"]
        target = measured(building(TRUE))
    else:
        structure, unknown = (
            coupled(1000.0, 1000.0, gap * 500.0),
            ["storeys[*].stiffness", "attachments[*].law.stiffness"],
        )
        target = measured(coupled(1010.0, 1000.0, 8.0), 2, places=["0", "1"])
        unknown = ["attachments[*].law.stiffness"]
    problem = make_modal_problem(structure, target, unknown, 0.0, 0.0)
    pairs = jnp.asarray(problem.pairs_at(problem.start))
    _, slopes = residuals_and_slopes(problem, jnp.asarray(problem.start), pairs)
    expected = slopes_by_differences(problem, problem.start, pairs)
    np.testing.assert_allclose(np.asarray(slopes), expected, rtol=1e-4, atol=1e-5 * np.abs(expected).max())


def coupled(first, second, between):
    """Two masses, each on a spring of its own, joined by another."""
    springs = [vb.Attachment(vb.Linear(first), at="0"), vb.Attachment(vb.Linear(second), at="1")]
    springs.append(vb.Attachment(vb.Linear(between), at="0", to="1"))
    return vb.Matrices(np.eye(2), np.zeros((2, 2)), names=["0", "1"], attachments=springs)


def test_equal_modes_have_finite_exact_derivatives():
    """At equal frequencies any shape is a mode: the shape residual vanishes, the frequencies follow qᵀ dK q."""
    target = measured(coupled(1100.0, 1000.0, 0.0), 2, places=["0", "1"])
    problem = make_modal_problem(coupled(1000.0, 1000.0, 0.0), target, ["attachments[0].law.stiffness"], 0.0, 0.0)
    both = residuals_and_slopes(problem, jnp.asarray(problem.start), jnp.asarray([0, 1]))
    r, slopes = (np.asarray(a)[:6] for a in both)  # the rest belongs to priors
    f = np.sqrt(1000.0) / (2 * np.pi)
    assert np.isfinite(slopes).all()
    # the measured modes move one mass each: only the frequency of that of mass 0 (the higher) depends on its spring
    size = np.linalg.norm(slopes.reshape(2, -1), axis=1)
    deviation = 0.002 * target.frequencies[1]
    assert size[0] < 1e-8 * size[1]
    assert size[1] == pytest.approx(0.5 * f / deviation, rel=1e-9)  # d f / d ln k = f/2
    assert np.linalg.norm(r.reshape(2, -1)[1]) == pytest.approx((target.frequencies[1] - f) / deviation, rel=1e-9)


def test_the_unknowns_come_back_from_exact_modes():
    fit = vb.identify(building([1000.0] * 3), measured(building(TRUE)), "storeys[*].stiffness")
    np.testing.assert_allclose(fit.estimate, TRUE, rtol=1e-6)
    assert fit.model_fits and fit.convergence["converged"] and "The model fits" in str(fit)
    assert [fit.pairs.mac[i, j] for i, j in fit.pairs.pairs] == pytest.approx([1.0] * 3)
    assert (fit.deviation >= 0.999 * fit.limits.bound).all()


def test_intervals_hold_the_truth():
    """40 draws of the errors: of 120 intervals of 95 % between 106 and 120 hold (binomial, 1 in 1000 outside)."""
    held, chances = 0, []
    for key in range(40):
        target = measured(building(TRUE), key=key)
        fit = vb.identify(building([1300.0, 1300.0, 1000.0]), target, "storeys[*].stiffness", vb.ModalFit(starts=1))
        low, high = fit.interval().T
        held += int(((low < TRUE) & (high > TRUE)).sum())
        chances.append(fit.chance)
    assert 106 <= held <= 120
    assert 0.2 < np.median(chances) < 0.8  # χ² is what it should be


def test_crossing_modes_keep_their_pairs():
    """The first guess has the two oscillators in the other order."""
    target = measured(coupled(1200.0, 1000.0, 5.0), 2, places=["0", "1"])
    fit = vb.identify(
        coupled(800.0, 1000.0, 5.0), target, ["attachments[0].law.stiffness", "attachments[1].law.stiffness"],
        vb.ModalFit(starts=1),
    )  # fmt: skip
    np.testing.assert_allclose(fit.estimate, [1200.0, 1000.0], rtol=1e-5)


def test_a_wrong_model_is_told_and_its_error_allowed_for():
    target = measured(building(TRUE, masses=(1.0, 1.0, 1.2)))
    wrong = vb.identify(building([1300.0] * 3), target, [vb.Unknown("storeys[*].stiffness", tied=True)])
    assert not wrong.model_fits and "does not fit" in str(wrong)
    allowed = vb.identify(
        building([1300.0] * 3), target, [vb.Unknown("storeys[*].stiffness", tied=True)],
        vb.ModalFit(frequency_error=0.2, shape_error=0.2),
    )  # fmt: skip
    assert allowed.model_fits and allowed.deviation[0] > 10 * wrong.deviation[0]


def test_another_minimum_is_told():
    """Two frequencies of two storeys do not say which storey is the stiff one, where shapes hardly count."""
    stiff, soft = 1800.0, 700.0
    structure = vb.ShearBuilding([1.0, 1.0], [vb.Linear(stiff), vb.Linear(soft)])
    found = vb.modes(structure)
    target = measured_modes(
        found.frequencies, found.shapes, ["0", "1"], frequency_deviations=0.001, shape_deviations=10.0
    )
    fit = vb.identify(structure, target, "storeys[*].stiffness", vb.ModalFit(starts=12, spread=1.0))
    (other,) = fit.other_answers
    twin = vb.modes(
        structure.replace({"storeys[0].stiffness": other.estimate[0], "storeys[1].stiffness": other.estimate[1]})
    )
    np.testing.assert_allclose(twin.frequencies, found.frequencies, rtol=1e-3)
    assert abs(other.estimate[0] / fit.estimate[0] - 1) > 0.2 and "Another answer" in str(fit)


def test_priors_and_places_that_are_not_measured():
    """Two of three floors; a prior on a mass."""
    target = measured(building(TRUE), places=["0", "2"])
    fit = vb.identify(
        building([1300.0] * 3, masses=(1.0, 1.0, 0.9)), target,
        ["storeys[*].stiffness", vb.Unknown("masses[2]", prior=(0.8, 0.01))],
    )  # fmt: skip
    np.testing.assert_allclose(fit.estimate, [*TRUE, 0.8], rtol=0.03)


def test_what_cannot_be_is_refused():
    target = measured(building(TRUE))
    bare = measured_modes(target.frequencies, target.shapes, PLACES)
    record = vb.synthetic_motion(key=1, duration=4.0, rate=50.0, pga=1.0)
    data = vb.simulate(building(TRUE), record).measure(vb.Sensors(displacement=[0, 1, 2]), noise=0.01, key=0)
    one = vb.ShearBuilding([1.0], [vb.Linear(1.0)])
    cases = [
        (lambda: vb.identify(building(TRUE), bare, "storeys[*].stiffness"), "no standard deviations"),
        (lambda: vb.identify(building(TRUE), target, "storeys[*].stiffness", "ukf"), "takes records, not modes"),
        (lambda: vb.identify(building(TRUE), data, "storeys[*].stiffness", "modal-fit"), "has a measured excitation"),
        (lambda: vb.identify(building(TRUE), target, "storeys[*].stiffness", start="auto"), "'start' belongs to a fit"),
        (
            lambda: vb.identify(building(TRUE), target, "storeys[*].stiffness", hold_out=0.2),
            "'hold_out' belongs to a fit",
        ),
        (lambda: vb.identify(building(TRUE), target, [vb.UnknownLoad("0")]), "do not depend on loads"),
        (lambda: vb.identify(one, measured_modes([1.0, 2.0], [[1.0, 1.0]], ["0"]), "masses[0]"), "the structure has 1"),
        (lambda: vb.identify(building(TRUE), target, "storeys[9].stiffness"), "storeys"),
        (lambda: vb.ModalFit(starts=0), "at least one start"),
    ]
    for act, words in cases:
        with pytest.raises(vb.VibridError, match=words):
            act()


def test_files_of_a_fit_to_modes(tmp_path):
    fit = vb.identify(building([1000.0] * 3), measured(building(TRUE)), "storeys[*].stiffness")
    page = fit.report(tmp_path / "fit.html").read_text(encoding="utf-8")
    assert "storeys[0]" in page and page.count("<svg") >= 3 and "The model fits" in page
    assert len(fit.plot().axes) == 3
    assert "2σ" in fit._repr_html_() or "interval" in fit._repr_html_()


@pytest.fixture(scope="module")
def ambient() -> vb.Record:
    """Ten minutes of a virtual building under white forces, from an integrator of NumPy and SciPy."""
    values = accelerations(*chain([1.0, 1.0, 0.8], TRUE, 0.015), seed=5, seconds=600.0, rate=40.0)
    return vb.Record(values, [vb.Channel(f"a{i}", "acceleration", location=i) for i in range(3)], step=1 / 40)


def test_by_its_name_it_takes_ambient_records(ambient):
    """The modes are those of `ssi`; without locations the sensors say where the channels are."""
    fit = vb.identify(building([1200.0] * 3), ambient, "storeys[*].stiffness", "modal-fit")
    assert (np.abs(fit.estimate - TRUE) < 4 * fit.deviation).all() and (fit.deviation < 0.02 * np.array(TRUE)).all()
    found = vb.ssi(ambient)
    np.testing.assert_array_equal(fit.measured.frequencies, found.frequencies)
    same = vb.identify(building([1200.0] * 3), found, "storeys[*].stiffness")
    np.testing.assert_array_equal(fit.estimate, same.estimate)
    assert fit.provenance == ((ambient.name, ambient.history),)
    nowhere = ambient.relabel({name: {"location": ""} for name in ambient.names})
    sensors = [vb.Sensor("acceleration", 2 - i, name=f"a{i}") for i in range(3)]  # the other way round
    turned = vb.identify(building([1200.0] * 3), nowhere, "storeys[*].stiffness", "modal-fit", sensors=sensors)
    assert turned.measured.places == ("2", "1", "0") and not turned.model_fits
    with pytest.raises(vb.VibridError, match="a0"):
        vb.identify(building([1200.0] * 3), nowhere, "storeys[*].stiffness", "modal-fit")


def test_a_result_is_saved_and_loaded_whole(tmp_path, ambient):
    fit = vb.identify(building([1200.0] * 3), vb.ssi(ambient), "storeys[*].stiffness")
    fit.save(tmp_path / "fit.h5")
    back = vb.load_identification(tmp_path / "fit.h5")
    assert type(back) is type(fit) and str(back) == str(fit) and back.pairs.pairs == fit.pairs.pairs
    for name in ("frequencies", "ratios", "shapes", "poles", "complex_shapes", "covariances", "shape_deviations"):
        np.testing.assert_array_equal(getattr(back.measured, name), getattr(fit.measured, name))
    assert back.measured.channels == fit.measured.channels and str(back.measured) == str(fit.measured)
    assert [row["estimate"] for row in back.table()] == [row["estimate"] for row in fit.table()]
    pairs = back.problem.pairs_at(back.free)
    own, again = (residuals_and_slopes(f.problem, jnp.asarray(f.free), jnp.asarray(pairs))[0] for f in (fit, back))
    np.testing.assert_allclose(np.asarray(again), np.asarray(own), rtol=1e-12, atol=1e-12)
    assert "The model fits" in back.report(tmp_path / "fit.html").read_text(encoding="utf-8")
    quake = vb.synthetic_motion(key=1, duration=4.0, rate=50.0, pga=1.0)
    moved = back.predict_readings(quake)  # an earthquake on what ambient vibration identified
    np.testing.assert_allclose(
        moved.values, vb.simulate(fit.structure, quake).readings(fit.experiment.sensors), rtol=1e-6, atol=1e-9
    )


@pytest.mark.parametrize("dataset", ["frequencies", "shapes", "poles", "motion", "whitening", "misfit", "covariances"])
def test_a_damaged_file_is_refused(tmp_path, dataset):
    path = tmp_path / "fit.h5"
    vb.identify(building([1000.0] * 3), measured(building(TRUE)), "storeys[*].stiffness").save(path)
    with h5py.File(path, "a") as file:
        there = file[f"modes/{dataset}"][...]
        del file[f"modes/{dataset}"]
        file[f"modes/{dataset}"] = there[:-1]
    with pytest.raises(vb.FileProblem, match="damaged or incomplete"):
        vb.load_identification(path)
