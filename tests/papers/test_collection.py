"""Entries to the nonlinear-benchmark collection, on made-up files in the layout of the package nonlinear_benchmarks."""

import json

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.io
from typer.testing import CliRunner

from vibrid.cli import app
from vibrid.core import paths
from vibrid.core.errors import InputError, Refusal
from vibrid.papers.public.black_box.series import Budget
from vibrid.papers.public.bouc_wen.fitting import oscillator_of
from vibrid.papers.public.collection import layouts
from vibrid.papers.public.collection.boxes import StateSpaceBox, fit_cubic, run_cubic
from vibrid.papers.public.collection.layouts import FreeRunData
from vibrid.papers.public.collection.tanks import fit_tanks, levels

RNG = np.random.default_rng(0)


def save(folder, file, **arrays):
    path = folder / file.place
    path.parent.mkdir(parents=True, exist_ok=True)
    scipy.io.savemat(path, arrays)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Made-up files: counting numbers where only places matter."""
    made = tmp_path_factory.mktemp("collection")
    count = np.arange(131_072.0)[None]
    save(made, layouts.SILVERBOX, V1=count, V2=-count)
    column = np.arange(188_000.0)[:, None]
    save(made, layouts.WIENER_HAMMERSTEIN, uBenchMark=column, yBenchMark=-column, fs=[[51_200.0]])
    u = np.stack([np.arange(1024.0), 2 * np.arange(1024.0)])[:, :, None]
    save(made, layouts.TANKS, uEst=u[0], yEst=u[0] + 1, uVal=u[1], yVal=u[1] + 1, Ts=[[4.0]])
    force, answers = RNG.normal(size=(1, 2000)), RNG.normal(size=(3, 2000))
    for file in (layouts.F16_TRAINING, layouts.F16_TEST):
        save(made, file, Force=force, Voltage=force, Acceleration=answers, Fs=[[400.0]])
    return made


def test_splits_are_those_of_the_package(folder):
    """First samples and numbers of samples of every part."""
    parts = {name: layouts.silverbox(folder, name) for name in ("training", "multisine", "arrow", "arrow within")}
    assert {n: (p.u[0], len(p.u)) for n, p in parts.items()} == {
        "training": (40_650, 65_062),
        "multisine": (105_712, 21_688),
        "arrow": (100, 40_475),
        "arrow within": (100, 32_000),
    }
    assert parts["arrow"].step == 1 / 610.35 and parts["arrow"].y[0] == -100
    both = [layouts.wiener_hammerstein(folder, part) for part in ("training", "test")]
    assert [(p.u[0], len(p.u), p.step) for p in both] == [(5_200, 100_000, 1 / 51_200), (105_200, 78_800, 1 / 51_200)]
    test = layouts.cascaded_tanks(folder, "test")
    assert test.u[1] == 2.0 and test.y[0] == 1.0 and test.step == 4.0 and len(test.u) == 1024
    plane = layouts.f16(folder, "training", 2)
    assert len(plane.u) == 2000 and plane.step == 1 / 400


def test_what_is_wrong_with_a_file_is_said(folder, tmp_path):
    with pytest.raises(Refusal, match=r"needs the file 'SNLS80mV\.mat'.*--data.*nonlinear_benchmarks"):
        layouts.silverbox(None, "training")
    with pytest.raises(InputError, match=r"no file 'Silverbox/SilverboxFiles/SNLS80mV\.mat'"):
        layouts.silverbox(tmp_path, "training")
    save(tmp_path, layouts.SILVERBOX, V1=np.zeros((1, 10)))
    with pytest.raises(InputError, match="has no variable 'V2'"):
        layouts.silverbox(tmp_path, "training")
    save(tmp_path, layouts.SILVERBOX, V1=np.zeros((1, 10)), V2=np.zeros((1, 10)))
    with pytest.raises(InputError, match="has 10 samples; the file of the collection has at least 127400"):
        layouts.silverbox(tmp_path, "training")
    save(tmp_path, layouts.TANKS, uEst=[1.0], yEst=[np.nan], uVal=[1.0], yVal=[1.0], Ts=[4.0])
    with pytest.raises(InputError, match=r"'yEst' of .* is not made of finite numbers"):
        layouts.cascaded_tanks(tmp_path, "training")
    with pytest.raises(InputError, match="has 3 accelerations; there is no number 3"):
        layouts.f16(folder, "test", 3)
    (tmp_path / layouts.WIENER_HAMMERSTEIN.place).parent.mkdir()
    (tmp_path / layouts.WIENER_HAMMERSTEIN.place).write_text("no numbers")
    with pytest.raises(InputError, match="is no MATLAB file"):
        layouts.wiener_hammerstein(tmp_path, "test")


def test_the_cubic_oscillator_of_a_made_up_circuit():
    """Its four parameters are found from the data alone, and it runs freely on another input."""
    from vibrid.laws.polynomial import Cubic

    truth = oscillator_of(Cubic(0.95, 3.0), 5e-6, 1.6e-4)
    drive = np.convolve(RNG.normal(size=4000), np.ones(4) / 4, mode="same") * 0.1
    data = FreeRunData(drive, np.zeros(4000), 1 / 610.35)
    data = FreeRunData(drive, run_cubic(truth, data, 2) + 1e-4 * RNG.normal(size=4000), data.step)
    found = fit_cubic(data.cut(0, 3000), 2, 200)
    for name, true, share in (("stiffness", 0.95, 0.01), ("cubic", 3.0, 0.05)):
        assert float(paths.get(found, f"storeys[0].{name}")) == pytest.approx(true, rel=share)
    off = run_cubic(found, data, 2) - data.y
    assert np.sqrt(np.mean(off**2)) < 1.5e-4  # the noise is 1e-4


def test_the_tanks_of_made_up_levels():
    """Parameters and first levels from the data alone; the test part overflows too."""
    rng = np.random.default_rng(0)
    values = jnp.array([0.05, 0.05, 0.06, 0.045, 0.5, 4.0, 5.0])
    steps = np.repeat(rng.uniform(0.5, 6.0, size=26), 40)[:1024]
    whole = np.asarray(levels(values, jnp.asarray(steps), 4.0, 10.0, 4))
    data = FreeRunData(steps[:512], whole[:512] + 0.01 * rng.normal(size=512), 4.0)
    found = fit_tanks(data, 10.0, 4)
    assert np.max(np.asarray(levels(values, jnp.asarray(steps), 4.0, 10.0, 4))) > 5.0
    again = np.asarray(levels(jnp.asarray(found), jnp.asarray(steps), 4.0, 10.0, 4))
    assert np.sqrt(np.mean((again - whole) ** 2)) < 0.02


def test_the_black_box_learns_a_made_up_plane():
    """An oscillator with a little of a square: half the error of the linear model, or less, in samples not seen."""
    u, y, v, x = np.random.default_rng(0).normal(size=1500), [], 0.0, 0.0
    for force in u:
        v = 0.95 * v - 0.2 * x - 0.03 * x * x + 0.1 * force
        x = x + 0.5 * v
        y.append(x)
    data = FreeRunData(u, np.array(y), 1 / 400)
    errors = []
    for degree in (1, 2):
        box = StateSpaceBox(data.cut(0, 1000), {"states": 2, "degree": degree}, 100, 0.75, Budget(60.0, 15))
        errors.append(float(np.std((box.run(data) - data.y)[1000:]) / np.std(data.y)))
    assert errors[1] < 0.5 * errors[0] and errors[1] < 0.1


def test_the_command_reads_the_folder_and_says_which_file(tmp_path):
    """A short made-up record of the tanks through the same door as every benchmark."""
    u = np.full((2, 64, 1), 3.0)
    u[:, 20:40] = 4.0
    y = np.asarray(levels(jnp.array([0.05, 0.05, 0.06, 0.045, 0.5, 4.0, 5.0]), jnp.asarray(u[0, :, 0]), 4.0, 10.0, 8))
    save(tmp_path, layouts.TANKS, uEst=u[0], yEst=y[:, None], uVal=u[1], yVal=y[:, None], Ts=[[4.0]])
    words = ["benchmark", "cascaded-tanks", "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    made = CliRunner().invoke(app, words)
    assert made.exit_code == 0, made.output
    facts = json.loads((tmp_path / "out" / "public" / "cascaded-tanks" / "entry-grey-box.json").read_text())
    assert facts["rows"][0]["of the deviation, %"] < 2.0 and "SHA-256 of dataBenchmark.mat" in facts["note"]
    page = (tmp_path / "out" / "public" / "README.md").read_text(encoding="utf-8")
    assert "made-up files of the same layout" in page and "Test part, test: read 1 time" in page
