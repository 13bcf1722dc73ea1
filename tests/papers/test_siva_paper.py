"""The paper's beam: its items are listed, its frequencies are those printed, its impacts are half sines."""

from types import SimpleNamespace

import numpy as np
import pytest
from identification.small import TWO_GUESS, TWO_UNKNOWN, two

import vibrid as vb
from vibrid.core.errors import VibridError
from vibrid.core.progress import Progress
from vibrid.papers import Run, load_paper
from vibrid.papers.siva import noise
from vibrid.papers.siva.as_published import PublishedValues, SIVAAsPublished
from vibrid.papers.siva.beam import EXACT, NAMES, PULSE, RATE, guess, impact, percent


def test_items_of_the_paper():
    paper = load_paper("siva")
    labels = {item.label for item in paper.items}
    assert {"table-2", "table-3", "figure-3", "figure-4", "figure-5", "figure-6"} <= labels
    assert {"study-seeds", "study-speed", "study-held-out", "study-noise", "study-missing"} <= labels
    assert {"study-as-published", "study-adversary", "study-sindy"} <= labels


def test_table_2_keeps_its_promise():
    (item,) = load_paper("siva").chosen({"table": ["2"]})
    made = item.make(Run())
    assert [c.met for c in made.checks] == [True] and len(made.rows) == 7
    assert all(abs(r["with the printed density, off [%]"] + 0.65) < 0.05 for r in made.rows)


def test_impacts_and_errors():
    hammer = impact(2.0, seconds=0.1)
    force = hammer["hammer"]
    assert len(force) == 201 and force.max() <= 2000.0 and np.all(force[hammer.time >= PULSE] == 0.0)
    np.testing.assert_allclose(force.sum() / RATE, 2 * 2000.0 * PULSE / np.pi, rtol=0.01)  # the impulse of a half sine
    np.testing.assert_allclose(percent([1.1e4 * 1.001, 0, 0.99e8, 0, 0]), [0.1, -1.0])
    assert guess().matrix.shape == (30, 15)


def test_noise_studies_have_a_row_for_what_every_seed_gave(monkeypatch):
    """Stand-ins of fits: k1 is off by 1 %, 2 % and 3 % of noise seeds 0, 1 and 2, and every interval has σ = 2 %."""

    def update(run, kind, method, *, noise, key, seed, seconds, checks):
        assert (noise, seed, checks) == (0.01, key, "none")
        deviations = {name: {"deviation": 0.02 * value} for name, value in zip(NAMES, EXACT, strict=True)}
        return SimpleNamespace(
            estimate=EXACT * (1.01 + 0.01 * key), deviation=0.02 * EXACT, limits=SimpleNamespace(bound=0.02 * EXACT),
            names=NAMES, cut_short=False, convergence={"approach_1": deviations, "approach_2": deviations},
        )  # fmt: skip

    monkeypatch.setattr(noise, "update", update)
    outcome = noise.noise(Run(quick=True))
    assert [row["σ of k1 [%]"] for row in outcome.rows] == pytest.approx([2.0] * 4 + [1.0])
    assert outcome.checks[0].measured == "3.00 %, 3.00 %" and outcome.checks[0].met is False
    rows = noise.noise_levels(Run(quick=True)).rows
    assert [row["noise and method"] for row in rows] == ["1 %, SIVA", "1 %, least squares"]
    assert [row["k3 off, worst [%]"] for row in rows] == pytest.approx([2.0, 2.0])


# -- as published ------------------------------------------------------------------------------------------------------


def test_the_recipe_as_published_is_found_by_its_name_and_has_the_printed_settings():
    method = vb.identification.METHODS["siva-as-published"]()
    assert type(method) is SIVAAsPublished
    assert (method.epochs, method.batch, method.gamma, method.rate) == (1000, 500, 1.0, 1e-4)
    np.testing.assert_allclose(PublishedValues(2)(np.array([3.0, 0.5, 2.0, -1.0])), [300.0, 0.05])
    with pytest.raises(VibridError, match="'epochs' must be 1 or more"):
        SIVAAsPublished(epochs=0)


def test_as_published_resumes_and_goes_on_to_more_epochs(tmp_path):
    """Interrupted after the first block, then run to the end: as an uninterrupted training."""

    class Impatient(Progress):
        def update(self, done, note=""):
            raise KeyboardInterrupt

    file = str(tmp_path / "training.npz")
    settings = {"seeds": 2, "rate": 1e-2}
    whole = vb.identify(TWO_GUESS, two(0.0), TWO_UNKNOWN, SIVAAsPublished(epochs=120, **settings))
    cut = vb.identify(
        TWO_GUESS, two(0.0), TWO_UNKNOWN, SIVAAsPublished(epochs=60, checkpoint=file, **settings), progress=Impatient()
    )
    assert cut.cut_short and len(cut.history["losses"]) == 50
    again = vb.identify(TWO_GUESS, two(0.0), TWO_UNKNOWN, SIVAAsPublished(epochs=120, checkpoint=file, **settings))
    np.testing.assert_allclose(again.history["seeds"], whole.history["seeds"], rtol=1e-6)
    misfit = whole.history["losses"][:, 2]
    assert misfit[-1] < 0.2 * misfit[0] and whole.history["estimates_of_seeds"].shape == (120, 2, 4)
    assert any("spread of the generator" in w for w in whole.warnings)
