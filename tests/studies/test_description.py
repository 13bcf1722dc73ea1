"""What a study is made of: lists, distributions, samplings, motions; what is refused before anything runs."""

import numpy as np
import pytest
import scipy.stats

import vibrid as vb
from tests.studies.small import BUILDING, MOTIONS
from vibrid.project import load_project
from vibrid.studies import Gaussian, LogNormal, Uniform, read_motions
from vibrid.studies.distributions import draws

THREE = [Gaussian(5.0, 2.0), LogNormal(3.0, 0.4), Uniform(-1.0, 4.0)]


@pytest.mark.parametrize("sampling", ["latin-hypercube", "sobol", "random"])
def test_draws_have_their_distributions(sampling):
    values = draws(THREE, 1024, sampling, key=3)
    known = [scipy.stats.norm(5.0, 2.0), scipy.stats.lognorm(0.4, scale=3.0), scipy.stats.uniform(-1.0, 5.0)]
    for column, distribution in zip(values.T, known, strict=True):
        assert scipy.stats.kstest(column, distribution.cdf).pvalue > 0.01
    np.testing.assert_array_equal(values, draws(THREE, 1024, sampling, key=3))
    assert not np.allclose(values, draws(THREE, 1024, sampling, key=4))


def test_a_latin_hypercube_has_one_draw_in_every_stratum():
    values = draws(THREE, 50, key=1)
    strata = np.floor(50 * scipy.stats.norm(5.0, 2.0).cdf(values[:, 0]))
    assert sorted(strata) == list(range(50))


def test_correlated_parameters():
    wanted = np.array([[1.0, 0.8, -0.3], [0.8, 1.0, 0.1], [-0.3, 0.1, 1.0]])
    values = draws(THREE, 4096, "random", wanted, key=2)
    logs = np.stack([values[:, 0], np.log(values[:, 1])], axis=1)
    assert np.corrcoef(logs.T)[0, 1] == pytest.approx(0.8, abs=0.02)
    uniform = scipy.stats.norm.ppf((values[:, 2] + 1.0) / 5.0)
    assert np.corrcoef(values[:, 0], uniform)[0, 1] == pytest.approx(-0.3, abs=0.04)
    assert scipy.stats.kstest(values[:, 2], scipy.stats.uniform(-1.0, 5.0).cdf).pvalue > 0.01


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (np.eye(2), "a matrix of 3 × 3"),
        (np.eye(3) + 0.1 * np.eye(3, k=1), "symmetric"),
        ([[1.0, 0.9, -0.9], [0.9, 1.0, 0.9], [-0.9, 0.9, 1.0]], "contradict each other"),
    ],
)
def test_correlations_that_cannot_be_are_refused(matrix, words):
    with pytest.raises(vb.InputError, match=words):
        draws(THREE, 8, "random", matrix)


def test_axes_are_grids_zips_and_samples():
    lists = {"masses[0]": [1.0, 2.0, 3.0], "storeys[*].stiffness": [30.0, 40.0, 50.0]}
    assert vb.study(BUILDING, MOTIONS, vary=lists).sizes == {"masses[0]": 3, "storeys.stiffness": 3, "motion": 5}
    zipped = vb.study(BUILDING, MOTIONS, vary=lists, combine="zip", levels=[1.0, 2.0])
    assert zipped.sizes == {"sample": 3, "motion": 5, "level": 2} and zipped.size == 30
    (batch,) = list(zipped.batches(None, [3, 5, 2], 64))[-1:]
    place = {(1.0, 30.0), (2.0, 40.0), (3.0, 50.0)}
    assert set(zip(batch.values["masses[0]"], batch.values["storeys[*].stiffness"], strict=True)) == place
    drawn = {"masses[0]": LogNormal(1.0, 0.1), "storeys[0].stiffness": [30.0, 40.0]}
    sizes = vb.study(BUILDING, MOTIONS, vary=drawn, count=7).sizes
    assert sizes == {"sample": 7, "storeys[0].stiffness": 2, "motion": 5}


MANY = {f"storeys[{i}].{name}": np.linspace(1.0, 2.0, 100) for i in (0, 1) for name in ("stiffness", "beta", "gamma")}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"vary": MANY, "scales": [1.0]}, r"= 5 000 000 000 000 runs; at most 10 000 000"),
        ({"vary": {"masses[0]": Uniform(1.0, 2.0)}, "count": 10**12}, "1 000 000 000 000"),
        ({"vary": {"masses[0]": Gaussian(1.0, 2.0)}, "count": 100}, "masses"),
        ({"vary": {"masses[0]": Gaussian(1.0, 0.1)}}, "how many samples"),
        ({"vary": {"masses[0]": Gaussian(1.0, 0.1)}, "count": 4, "combine": "zip"}, "cannot be combined as a zip"),
        ({"vary": {"masses[0]": Gaussian(1.0, 0.1)}, "count": 6, "combine": "sobol"}, "4 or 8 samples"),
        ({"vary": {"masses[0]": [1.0, 2.0], "masses[1]": [1.0]}, "combine": "zip"}, "same length"),
        ({"vary": {"masses[0]": [1.0, 1.0]}}, "a value twice"),
        ({"vary": {"masses[7]": [1.0]}}, "there is no"),
        ({"vary": {"masses[0]": "heavy"}}, "a list of finite numbers"),
        ({"count": 5}, "nothing to draw"),
        ({"levels": [1.0], "scales": [1.0]}, "not both"),
        ({"levels": [1.0, -1.0]}, "positive numbers"),
        ({"levels": [1.0], "intensity": "pgv"}, "There is no intensity measure called 'pgv'"),
        ({"keep": ["peak"]}, "did you mean 'peaks'"),
    ],
)
def test_studies_that_cannot_be_are_refused(given, words):
    with pytest.raises(vb.InputError, match=words):
        vb.study(BUILDING, MOTIONS, **given)


def test_motions_that_cannot_be_read_are_named_and_the_rest_can_be_asked_for(tmp_path):
    for i in range(3):
        MOTIONS[i].write_csv(tmp_path / f"{i}.csv")
    (tmp_path / "broken.csv").write_text("nothing at all\n")
    pair = (tmp_path / "2.csv", tmp_path / "gone.csv")
    files = [tmp_path / "0.csv", tmp_path / "broken.csv", pair, tmp_path / "1.csv"]
    with pytest.raises(vb.InputError, match=r"broken\.csv.*gone\.csv.* 2 others can be read"):
        read_motions(files)
    motions, problems = read_motions(files, skip_unreadable=True)
    assert [len(m) for m in motions] == [150, 131] and len(problems) == 2
    with pytest.raises(vb.InputError, match=r"gone\.csv"):
        read_motions([tmp_path / "gone.csv"], skip_unreadable=True)


PROJECT = """
[structure]
kind = "shear-building"
masses = [1.0, 1.0]
storeys = {law = "bouc-wen", stiffness = "40 N/m", beta = 3.0, gamma = 2.0, count = 2}

[study]
levels = ["0.1 g", 2.0]
intensity = {kind = "sa", period = "500 ms"}
combine = "sobol"
count = 4
correlation = [[1.0, 0.5], [0.5, 1.0]]
heights = ["3 m", "4 m"]
collapse = {ratio = 0.02}
keep = ["peaks", "energy"]
seed = 5

[[study.vary]]
path = "storeys[0].stiffness"
normal = ["40 N/m", "4 N/m"]

[[study.vary]]
path = "masses[0]"
lognormal = ["1 kg", 0.1]

[study.motions]
files = ["?.csv", ["a/x.csv", "a/y.csv"]]
synthetic = {count = 2, duration = 3.0, rate = 50.0}
resample = 50.0
"""


def test_a_project_file_describes_the_same_study(tmp_path):
    (tmp_path / "a").mkdir()
    for i, name in enumerate(["0.csv", "1.csv", "a/x.csv", "a/y.csv"]):
        MOTIONS[0 if i > 1 else i].write_csv(tmp_path / name)
    (tmp_path / "p.toml").write_text(PROJECT)
    made, problems = load_project(tmp_path / "p.toml").study()
    assert made.sizes == {"sample": 4, "motion": 6, "level": 2} and not problems
    assert made.scales.tolist() == pytest.approx([0.980665, 2.0]) and made.measure.period == 0.5
    np.testing.assert_allclose(made.program.limits, [0.06, 0.08])
    values = draws([Gaussian(40.0, 4.0), LogNormal(1.0, 0.1)], 4, "sobol", [[1.0, 0.5], [0.5, 1.0]], key=5)
    np.testing.assert_array_equal(made.parameters[0].values["masses[0]"], values[:, 1])
    assert made.attributes["project"] == PROJECT
    (tmp_path / "1.csv").write_text("broken\n")
    with pytest.raises(vb.InputError, match=r"1\.csv"):
        load_project(tmp_path / "p.toml").study()
    assert load_project(tmp_path / "p.toml").study(skip_unreadable=True)[0].sizes["motion"] == 5


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"0.1 g", 2.0', '"0.1 m"', "measures length"),
        ('normal = ["40 N/m", "4 N/m"]', "values = []", "one of values, normal, lognormal and uniform"),
        ('path = "masses[0]"', 'path = "masses[9]"', "there is no"),
        ("ratio = 0.02", 'drift = "2 s"', "measures time"),
        ('keep = ["peaks", "energy"]', 'keep = ["peeks"]', "did you mean 'peaks'"),
        ("seed = 5", "sead = 5", "did you mean 'seed'"),
    ],
)
def test_a_mistake_in_the_table_is_told_with_its_line(tmp_path, old, new, words):
    (tmp_path / "p.toml").write_text(PROJECT.replace(old, new))
    with pytest.raises(vb.VibridError, match=rf"p\.toml, line \d+.*{words}"):
        load_project(tmp_path / "p.toml")
