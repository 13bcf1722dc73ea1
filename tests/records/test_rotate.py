"""Components turned to other axes, and clocks of loggers set by what they measured together."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from vibrid.cli import app
from vibrid.core.errors import InputError
from vibrid.records import Channel, Record, UtcClock, read_record
from vibrid.records.motions import rotated_spectrum

RNG = np.random.default_rng(0)
NORTH, EAST = RNG.standard_normal((2, 400))


def at(azimuth):
    return np.cos(np.radians(azimuth)) * NORTH + np.sin(np.radians(azimuth)) * EAST


def record(channels, **more):
    data = np.column_stack([values for _, values in channels])
    return Record(data, [channel for channel, _ in channels], step=0.01, name="logger", **more)


def acceleration(name, direction="", location=""):
    return Channel(name, "acceleration", direction=direction, location=location)


def test_components_are_turned_from_their_azimuths():
    made = record([(acceleration("roof N", "N"), at(0)), (acceleration("roof E", "E"), at(90)),
                   (acceleration("roof Z", "Z"), at(7)), (acceleration("base 1"), at(28)),
                   (acceleration("base 2"), at(110))])  # fmt: skip
    turned = made.rotate({"x": 30.0, "y": 300.0}, {"base 1": 28.0, "base 2": 110.0})
    assert turned.names == ("roof Z", "roof x", "roof y", "base x", "base y")
    for place in ("roof", "base"):
        np.testing.assert_allclose(turned[f"{place} x"], at(30), atol=1e-12)
        np.testing.assert_allclose(turned[f"{place} y"], at(300), atol=1e-12)
    assert turned.channel("base x").direction == "x" and "clockwise from north" in turned.history[-1]


def test_what_cannot_be_turned_is_refused():
    alone = record([(acceleration("roof N", "N"), at(0))])
    with pytest.raises(InputError, match="one component only"):
        alone.rotate({"x": 30.0})
    with pytest.raises(InputError, match="No channel of 'logger' has a known azimuth"):
        record([(acceleration("a"), at(0))]).rotate({"x": 0.0})
    mixed = [(acceleration("N", "N"), at(0)), (acceleration("E", "E"), at(90)), (acceleration("N2", "N"), at(5))]
    with pytest.raises(InputError, match="may be at different places"):
        record(mixed).rotate({"x": 30.0})
    with pytest.raises(InputError, match="'roof M'"):
        alone.rotate({"x": 30.0}, {"roof M": 3.0})


def test_rotd_of_a_pair_does_not_depend_on_its_orientation():
    pair = record([(acceleration("N", "N"), at(0)), (acceleration("E", "E"), at(90))])
    turned = pair.rotate({"x": 37.0, "y": 127.0})
    periods = [0.1, 0.5]
    for percentile in (50, 100):
        one = rotated_spectrum(pair.select(["N"]), pair.select(["E"]), periods, percentile)
        other = rotated_spectrum(turned.select(["x"]), turned.select(["y"]), periods, percentile)
        np.testing.assert_allclose(one, other, rtol=2e-3)


def test_commands(tmp_path):
    clock = UtcClock("2024-05-01T12:00:00Z", "NTP")
    first = record([(acceleration("N", "N"), at(0)), (acceleration("E", "E"), at(90))], clock=clock)
    first.write_hdf5(tmp_path / "a.h5")
    late = record([(acceleration("deck"), np.roll(at(0), 12)[:380])], clock=clock)
    late.write_hdf5(tmp_path / "b.h5")
    run = CliRunner().invoke
    answer = run(app, ["record", "rotate", str(tmp_path / "a.h5"), "-o", str(tmp_path / "c.h5"), "--axis", "x=30"])
    assert answer.exit_code == 0, answer.output
    np.testing.assert_allclose(read_record(tmp_path / "c.h5")["x"], at(30), atol=1e-12)
    files = [str(tmp_path / "a.h5"), str(tmp_path / "b.h5"), "-o", str(tmp_path / "d.h5")]
    answer = run(app, ["record", "synchronise", *files, "--correlate", "N,deck", "--largest", "1", "--json"])
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.stdout)["lags"]["logger"]
    assert found["late_by"] == pytest.approx(0.12, abs=1e-3) and found["correlation"] > 0.95
    both = read_record(tmp_path / "d.h5")
    np.testing.assert_allclose(both["N"], both["deck"], atol=1e-3 + 0.05 * np.abs(both["N"]).max())
    answer = run(app, ["record", "synchronise", *files, "--correlate", "E,deck"])
    assert answer.exit_code != 0 and "do not move alike" in " ".join(answer.stderr.split())
    answer = run(app, ["record", "rotate", files[0], "-o", str(tmp_path / "c.h5"), "--axis", "x"])
    assert answer.exit_code != 0 and "NAME=DEGREES" in answer.stderr
