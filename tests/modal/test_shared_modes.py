"""Modes of real structures."""

import numpy as np
import pytest

import vibrid as vb
from vibrid.records.readers import read_records

pytestmark = pytest.mark.shared_data


def test_a_tower_under_white_noise(shared_data):
    """The five modes of the manifest and two of its parasitic ones, with bands (5F, 4F, 1F, 2F, 3F in volts)."""
    values = np.loadtxt(shared_data / "structures" / "unison_tower" / "wn_01.dat")[:, 2:7] * [-9.8, 2.0, 2.0, 1.0, 1.0]
    channels = [vb.Channel(f"floor {n}", "acceleration", location=n) for n in (5, 4, 1, 2, 3)]
    found = vb.ssi(vb.Record(values, channels, step=0.01, name="tower"), highest=8.0)
    for f in (0.53, 1.73, 2.97, 4.2, 5.4, 3.64, 6.1):
        nearest = int(np.abs(found.frequencies - f).argmin())
        assert found.frequencies[nearest] == pytest.approx(f, rel=0.015)
    assert len(found) == 7 and (found.frequency_deviations < 0.01 * found.frequencies).all()
    assert found.ratios.min() > 0.01 and found.ratios.max() < 0.04


def test_an_overpass_in_the_strong_motion_and_after_it(shared_data):
    """The transverse mode of the Meloland overpass: about 2.45 Hz in the strong motion, 2.99 Hz in the coda (manifest).

    There is no ambient record of it: the coda is the part that is nearest to one. Ten seconds make wide bands, and
    short correlations, so that there are enough pieces.
    """
    archive = shared_data / "structures" / "csmip_quakeio" / "imperialvalley79_ce01336p.zip"
    deck = [f"ch{n:02d}_acceleration" for n in (3, 5, 7, 9, 13)]
    record = next(r for r in read_records(archive) if deck[0] in r.names).select(deck)
    strong, coda = (vb.ssi(record.cut(start=a, end=b), lags=5, order=8) for a, b in ((1.0, 11.0), (13.0, 22.7)))
    for found, f in ((strong, 2.45), (coda, 2.99)):
        assert len(found) == 1 and abs(found.frequencies[0] - f) < 2 * found.frequency_deviations[0] < 0.3
        assert 0.05 < found.ratios[0] < 0.2
    apart = np.hypot(strong.frequency_deviations[0], coda.frequency_deviations[0])
    assert coda.frequencies[0] - strong.frequencies[0] > 2 * apart
    assert vb.structures.mac(strong.shapes, coda.shapes)[0, 0] > 0.95
