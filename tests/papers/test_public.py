"""Public benchmarks: the door, the ledger of the test part, checksums, the page; and the recipe of Bouc–Wen data."""

import json
import re
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest
import scipy
from typer.testing import CliRunner

from vibrid.cli import app
from vibrid.core.errors import InputError, Refusal
from vibrid.papers.paper import Check, Outcome
from vibrid.papers.public import BENCHMARKS, Benchmark, BenchmarkTrial, DataFile, Ledger, PublishedScore, load_benchmark
from vibrid.papers.public.bouc_wen import realisation
from vibrid.papers.public.bouc_wen.choice import first_oscillator
from vibrid.papers.public.bouc_wen.fitting import bouc_wen_of, free_run, guess, piece, rms
from vibrid.papers.public.pages import public_page
from vibrid.report.save import LARGEST_PICTURE

COMMITTED = Path(__file__).parents[2] / "results" / "public"


@pytest.fixture
def toy():
    bench = Benchmark(
        "toy", "A toy.", split="none", metric="error, m", settings="bouc_wen.toml",
        published=(PublishedScore("theirs", 2.0, "Someone 2020"),), not_run=("the hard part.",),
    )  # fmt: skip

    @bench.entry("ours", "Three")
    def ours(trial):
        three = trial.test("the test", lambda: 3.0)
        return Outcome([{"what": "x", "score": three}], [Check("score", "3 m", "≤ 4 m", True)])

    @bench.entry("filed", "From a file", real_data=True)
    def filed(trial):
        trial.file(DataFile("a.bin", "0" * 64, "Ask Someone."))

    BENCHMARKS.register("toy")(bench)
    yield bench
    BENCHMARKS.forget("toy")


def run(*words):
    return CliRunner().invoke(app, ["benchmark", *map(str, words)])


def test_every_reading_of_the_test_part_is_counted(toy, tmp_path):
    for times in (1, 2):
        made = run("toy", "--out", tmp_path)
        assert made.exit_code == 0, made.output
        page = (tmp_path / "public" / "README.md").read_text(encoding="utf-8")
        word = "time" if times == 1 else "times"
        assert f"Test part, the test: read {times} {word} under the settings in force (ours {times})." in page
    assert "| theirs | 2 | Someone 2020 |" in page and "- Not run: the hard part." in page
    assert "Entry filed (From a file): not run." in page and "| score | 3 m | ≤ 4 m | met |" in page
    reads = json.loads((tmp_path / "public" / "reads.json").read_text())
    assert [r["settings"] for r in reads] == [toy.settings_sha256] * 2


def test_a_quick_run_counts_as_a_reading(toy, tmp_path):
    made = run("toy", "--quick", "--entry", "ours", "--out", tmp_path)
    assert made.exit_code == 0 and len(Ledger(tmp_path / "public" / "reads.json").reads) == 1


def test_readings_under_other_settings_are_told_apart(tmp_path):
    ledger = Ledger(tmp_path / "reads.json")
    ledger.note("toy", "sweep", "a", "old")
    ledger.note("toy", "sweep", "a", "new")
    ledger.note("other", "sweep", "a", "new")
    told = Ledger(tmp_path / "reads.json").told("toy", "new")
    assert told == ["sweep: read 1 time under the settings in force (a 1); 1 time under earlier settings."]
    (tmp_path / "reads.json").write_text("{}")
    with pytest.raises(InputError, match="restore it"):
        Ledger(tmp_path / "reads.json")


def test_an_entry_made_with_other_settings_says_so(toy, tmp_path):
    run("toy", "--entry", "ours", "--out", tmp_path)
    folder = tmp_path / "public"
    assert "other settings than those in force" not in public_page(folder)
    toy.settings_text = lambda: b"seeds = []"
    assert "other settings than those in force" in public_page(folder)
    assert "read 0 times under the settings in force; 1 time under earlier settings" in public_page(folder)


def test_a_file_that_is_missing_or_another_is_refused(toy, tmp_path):
    wanted = DataFile("a.bin", "0" * 64, "Ask Someone.")
    with pytest.raises(Refusal, match=r"name its folder with --data\. Ask Someone"):
        wanted.find(None)
    with pytest.raises(InputError, match=r"no file 'a\.bin'"):
        wanted.find(tmp_path)
    (tmp_path / "a.bin").write_bytes(b"1")
    with pytest.raises(InputError, match="is another file"):
        wanted.find(tmp_path)
    named = run("toy", "--entry", "filed", "--out", tmp_path / "out")
    assert named.exit_code == 1 and "Ask Someone" in named.output


def test_an_entry_goes_on_where_it_was_interrupted(toy, tmp_path):
    """Parts that were finished under the same settings are read; of other settings they are made again."""
    made = []

    @toy.entry("long", "Of two parts")
    def long(trial):
        def part(number):
            if number == 2 and made == [1]:
                raise InputError("The machine was turned off.")
            made.append(number)
            return {"value": np.array(10.0 * number)}

        values = [float(trial.resumed(f"part-{n}", lambda n=n: part(n))["value"]) for n in (1, 2)]
        return Outcome([{"what": "x", "values": sum(values)}])

    assert run("toy", "--entry", "long", "--out", tmp_path).exit_code == 1
    made.append(0)
    done = run("toy", "--entry", "long", "--out", tmp_path)
    assert done.exit_code == 0 and made == [1, 0, 2], done.output
    facts = json.loads((tmp_path / "public" / "toy" / "entry-long.json").read_text())
    assert facts["rows"][0]["values"] == 30.0 and not list((tmp_path / "public" / "toy" / "unfinished").iterdir())
    made.clear()
    assert run("toy", "--entry", "long", "--out", tmp_path).exit_code == 1  # stores part 1 again
    made[:] = [0]
    toy.settings_text = lambda: b"seeds = []"
    assert run("toy", "--entry", "long", "--out", tmp_path).exit_code == 0 and made == [0, 1, 2]


def test_the_list(toy):
    assert "--entry filed  From a file  (needs --data)" in run().output
    listed = {b["benchmark"]: b for b in json.loads(run("--json").output)}
    assert listed["toy"]["published"] == [{"method": "theirs", "value": 2.0, "reference": "Someone 2020"}]
    assert run("toys").exit_code == 1


def test_committed_page():
    """The page is the one that the committed results give; its pictures are there and small."""
    page = (COMMITTED / "README.md").read_text(encoding="utf-8")
    assert page == public_page(COMMITTED)
    for picture in re.findall(r"!\[.*?\]\((.*?\.png)\)", page):
        assert (COMMITTED / picture).stat().st_size <= LARGEST_PICTURE


# -- Bouc–Wen --------------------------------------------------------------------------------------------------------


def test_the_recipe_against_an_adaptive_integration():
    """Newmark at 15 kHz against DOP853, over a tenth of a second of the multisine.

    The average acceleration lengthens a period by (ω h)²/12: in a tenth of a second the motion is late by that share.
    """
    p, u = realisation.Oscillator(), realisation.multisine(3)
    fine = realisation.RATE * realisation.FINER
    assert np.sqrt(np.mean(u**2)) == pytest.approx(50.0)
    steps = 1500
    y = np.asarray(realisation.integrate(p, jnp.asarray(u[:steps])))
    force = scipy.interpolate.CubicSpline(np.arange(steps) / fine, u[:steps])

    def rate(t, s):
        x, v, z = s
        turn = p.alpha * v - p.beta * (p.gamma * abs(v) * z + p.delta * v * abs(z))
        return [v, (force(t) - p.c * v - p.k * x - z) / p.m, turn]

    times = np.arange(steps) / fine
    reference = scipy.integrate.solve_ivp(
        rate, (0, times[-1]), [0, 0, 0], "DOP853", times, rtol=1e-10, atol=1e-13, max_step=1 / fine
    ).y[0]
    omega = np.sqrt((p.k + p.alpha) / p.m)
    late = omega * times[-1] * (omega / fine) ** 2 / 12
    assert rms(y - reference) < late * rms(reference)


def test_decimation_keeps_what_the_data_can_hold():
    t = np.arange(60_000) / 15_000
    fine = np.sin(2 * np.pi * 250 * t) + np.sin(2 * np.pi * 500 * t)
    coarse = realisation.decimate(fine)
    wanted = np.sin(2 * np.pi * 250 * t)[::20]
    assert np.abs(coarse - wanted)[50:-50].max() < 1e-5


def test_the_benchmark_in_the_terms_of_the_package():
    """With ν = 1.3 too, where the scale of z matters: the package's oscillator follows the recipe."""
    settings = BenchmarkTrial(load_benchmark("bouc-wen")).settings
    p = realisation.Oscillator(nu=1.3, beta=200.0)
    u = realisation.multisine(4)
    y = realisation.decimate(np.asarray(realisation.integrate(p, jnp.asarray(u))))
    simulated = free_run(settings, bouc_wen_of(p), u[:: realisation.FINER], steady=False)
    assert rms((simulated - y)[100:-100]) < 2e-3 * rms(y)  # the first samples of the force begin abruptly


def test_guesses_are_off_by_at_most_the_factor():
    truth = np.array(realisation.Oscillator())
    ratios = np.array([np.array(guess(seed, 3.0)) / truth for seed in range(20)])
    assert ratios.max() <= 3 and ratios.min() >= 1 / 3 and (ratios > 2).any() and (ratios < 0.5).any()
    assert not np.allclose(ratios[0], ratios[1])


def test_a_piece_is_periodic_and_its_lead_is_not_scored():
    u, y = np.arange(10.0), 10 + np.arange(10.0)
    record = piece(u, y, lead=3, start=2, samples=4)
    np.testing.assert_array_equal(record["u"], [9, 0, 1, 2, 3, 4, 5])
    np.testing.assert_array_equal(record["y"], [np.nan] * 3 + [12, 13, 14, 15])


def test_the_first_oscillator_of_a_linear_one_is_exact():
    u = realisation.multisine(1)[:: realisation.FINER]
    omega = 2 * np.pi * np.fft.rfftfreq(len(u), 1 / realisation.RATE)
    y = np.fft.irfft(np.fft.rfft(u) / (9e4 - 3.0 * omega**2 + 25j * omega), len(u))
    assert first_oscillator(u, y, realisation.RATE) == pytest.approx((3.0, 25.0, 9e4), rel=1e-6)
