"""Candidates, RotD spectra and the rules of codes for suites of ground motions."""

import json
from pathlib import Path

import numpy as np
import pyrotd_references
import pytest
from typer.testing import CliRunner

import vibrid as vb
from vibrid.cli import app
from vibrid.core.errors import InputError
from vibrid.records.motions import candidates_from, check_rules, eurocode8_target, rotated_spectrum, select_suite
from vibrid.records.motions.rules import raised, zero_period
from vibrid.records.motions.scale import motion_spectrum

PERIODS = np.array([0.2, 1.0])


def motion(key, direction="", name="", text="", step=0.01, duration=12.0):
    made = vb.synthetic_motion(key, duration=duration, rate=1 / step, pga=2.0, frequency=2.0 + key % 4)
    channel = vb.Channel("ground", "ground_acceleration", location="ground", direction=direction)
    return made.replace(text or "made", channels=(channel,), name=name or f"m{key}")


def turned(first, second, angle):
    """The acceleration of a pair in one direction."""
    data = first.data * np.cos(angle) + second.data * np.sin(angle)
    return first.replace(data=data)


def test_rotated_spectra_are_those_of_every_direction():
    """Beside the spectra of 180 motions turned one by one, by another algorithm."""
    a, b = motion(1), motion(2)
    each = [vb.response_spectrum(turned(a, b, t), PERIODS).pseudo_acceleration for t in np.radians(np.arange(180))]
    for percentile in (0, 50, 100):
        expected = np.percentile(each, percentile, axis=0)
        np.testing.assert_allclose(rotated_spectrum(a, b, PERIODS, percentile), expected, rtol=1e-9)


def test_rotated_spectra_are_those_of_pyrotd():
    """Which works with Fourier transforms; the references are kept with the script that made them."""
    other = json.loads(Path(pyrotd_references.__file__).with_suffix(".json").read_text(encoding="utf-8"))["spectra"]
    channel, data = vb.Channel("ground", "ground_acceleration"), pyrotd_references.components()
    a, b = (vb.Record(values, [channel], step=pyrotd_references.STEP) for values in data.T)
    for percentile in (50, 100):
        found = rotated_spectrum(a, b, pyrotd_references.PERIODS, percentile, pyrotd_references.DAMPING)
        np.testing.assert_allclose(found, other[str(percentile)], rtol=2e-3)


def test_the_median_over_directions_does_not_depend_on_the_sensors():
    a, b = motion(1), motion(2)
    x, y = turned(a, b, np.radians(30)), turned(a, b, np.radians(120))
    for percentile in (50, 100):
        one, other = rotated_spectrum(a, b, PERIODS, percentile), rotated_spectrum(x, y, PERIODS, percentile)
        np.testing.assert_allclose(one, other, rtol=2e-3)


def test_a_motion_in_one_direction():
    """The second component is a multiple of the first: its largest direction has the length of both."""
    a = motion(1)
    b = a.replace(data=0.75 * a.data)
    alone = vb.response_spectrum(a, PERIODS).pseudo_acceleration
    np.testing.assert_allclose(rotated_spectrum(a, b, PERIODS, 100), 1.25 * alone, rtol=1e-4)


def test_components_that_were_not_sampled_together_are_refused():
    with pytest.raises(InputError, match="not two components of one record"):
        rotated_spectrum(motion(1), motion(2, step=0.005), PERIODS)


KOBE = "read from a file (PEER): Kobe Japan, 1/16/1995, {}, {}"


def test_one_recording_is_a_candidate_once_and_verticals_are_none():
    first = motion(1, "0", "one", KOBE.format("KJMA", "0"))
    later = first.cut(1.0, None).resample(50.0)
    later = later.replace(name="other processing", data=-1.1 * later.data)
    up = motion(2, "UP", "up", KOBE.format("KJMA", "UP"))
    known = candidates_from([first, later, up, motion(3, name="third")])
    assert [c.name for c in known.candidates] == ["one", "third"]
    assert "'up' is a vertical component" in known.notes[0]
    assert "'other processing' is the same recording as 'one'" in known.notes[1]


def test_pairs_come_from_station_event_and_right_angles():
    parts = [
        motion(1, "0", "a000", KOBE.format("KJMA", "0")),
        motion(2, "90", "b090", KOBE.format("Takarazuka", "90")),
        motion(3, "90", "a090", KOBE.format("KJMA", "90")),
        motion(4, "45", "b045", KOBE.format("Takarazuka", "45")),
    ]
    known = candidates_from(parts, pairs=True)
    assert [c.name for c in known.candidates] == ["a000 + a090"] and known.candidates[0].event == "1995-01-16"
    assert sorted(note.split("'")[1] for note in known.notes) == ["b045", "b090"]


def test_components_of_one_file_are_a_pair():
    a, b, c = motion(1), motion(2), motion(3)
    channels = [vb.Channel(n, "ground_acceleration", location="ground", direction=n) for n in ("N-S", "E-W", "U-D")]
    record = vb.Record(np.hstack([a.data, b.data, c.data]), channels, step=a.step, name="station")
    (pair,) = candidates_from([record], pairs=True).candidates
    assert pair.name == "station N-S + station E-W"


def test_a_suite_has_one_motion_of_an_event():
    target = eurocode8_target(0.3, "C")
    candidates = [motion(key) for key in range(8)]
    events = ["x"] * 5 + ["y", "", ""]
    suite = select_suite(candidates, target, 4, (0.15, 1.5), events=events)
    assert len({events[i] or i for i in suite.chosen}) == 4
    with pytest.raises(InputError, match="5 motions of different events cannot be chosen: the candidates are of 4"):
        select_suite(candidates, target, 5, (0.15, 1.5), events=events)


def test_the_rules_of_eurocode_8_are_those_of_its_text():
    """Beside numbers computed here from the text of EN 1998-1, 3.2.3.1.2(4)."""
    target, period = eurocode8_target(0.3, "C"), 0.5
    assert zero_period(target) == pytest.approx(0.3 * 1.15 * 9.80665)
    suite = select_suite([motion(key) for key in range(10)], target, 3, (0.1, 1.0))
    checks = {check.clause: check for check in check_rules(suite, "ec8", period)}
    pga = np.mean([np.abs(m.records[0].data).max() for m in suite.motions])
    axis = np.geomspace(0.1, 1.0, 100)
    spectra = [vb.response_spectrum(m.records[0], axis).pseudo_acceleration for m in suite.motions]
    assert checks["EN 1998-1 3.2.3.1.2(4)b"].value == pytest.approx(pga)
    assert checks["EN 1998-1 3.2.3.1.2(4)c"].value == pytest.approx((np.mean(spectra, axis=0) / target.at(axis)).min())
    assert checks["EN 1998-1 3.2.3.1.2(4)a"].met and not checks["EN 1998-1 4.3.3.4.3(3)"].met
    higher, factor = raised(suite, "ec8", period)
    again = {check.clause: check for check in check_rules(higher, "ec8", period)}
    assert factor > 1 and again["EN 1998-1 3.2.3.1.2(4)b"].met and again["EN 1998-1 3.2.3.1.2(4)c"].met
    needed = [checks[c].required / checks[c].value for c in ("EN 1998-1 3.2.3.1.2(4)b", "EN 1998-1 3.2.3.1.2(4)c")]
    assert factor == pytest.approx(max(needed))


def test_asce_7_counts_pairs_and_takes_the_largest_direction():
    target = vb.records.asce7_target(1.0, 0.6)
    pairs = [(motion(2 * k), motion(2 * k + 1)) for k in range(4)]
    suite = select_suite(pairs, target, 3, (0.1, 1.0), measure="rotd100")
    count, spectrum = check_rules(suite, "asce7", 0.5)
    assert (count.value, count.required, count.met) == (3, 11, False)
    axis = np.geomspace(0.1, 1.0, 100)
    mean = np.mean([motion_spectrum(m.records, axis, measure="rotd100") for m in suite.motions], axis=0)
    assert spectrum.value == pytest.approx((mean / target.at(axis)).min())


def test_the_command_writes_motions_that_excite_a_structure(tmp_path):
    for key in range(6):
        motion(key).write_csv(tmp_path / f"m{key}.csv")
    motion(2).write_csv(tmp_path / "copy.csv")
    floor = motion(7).replace(channels=(vb.Channel("roof", "absolute_acceleration", location="roof"),))
    floor.write_csv(tmp_path / "m7.csv")
    files = [str(p) for p in sorted(tmp_path.glob("*.csv"))]
    out = tmp_path / "suite"
    options = ["--target", "ec8:0.3,C", "--count", "7", "--rules", "ec8", "--period", "0.5", "--output", str(out)]
    shown = CliRunner().invoke(app, ["motions", "select", *files, *options])
    assert shown.exit_code == 0, shown.output
    assert "same recording" in shown.output and "EN 1998-1 3.2.3.1.2(4)c" in shown.output
    assert shown.output.count(": holds") == 4
    written = [vb.read_record(path) for path in sorted(out.glob("*.csv"))]
    assert len(written) == 7 and {r.channels[0].quantity for r in written} == {"ground_acceleration"}
    building = vb.ShearBuilding(masses=[1e4], storeys=[vb.Linear(1e6)], damping=vb.Modal(0.05))
    assert np.isfinite(vb.simulate(building, written[0]).displacement).all()


def test_rules_need_a_period_and_known_codes(tmp_path):
    path = tmp_path / "a.csv"
    motion(1).write_csv(path)
    shown = CliRunner().invoke(app, ["motions", "select", str(path), "--target", "ec8:0.3,C", "--rules", "ec8"])
    assert shown.exit_code != 0 and "--period" in shown.output
    options = ["--target", "ec8:0.3,C", "--rules", "ec9", "--period", "1", "--json"]
    shown = CliRunner().invoke(app, ["motions", "select", str(path), *options])
    assert shown.exit_code != 0 and "ec8" in shown.output


@pytest.mark.shared_data
def test_el_centro_is_one_recording(shared_data):
    folder = shared_data / "groundmotion"
    names = ["IELC180.AT2", "RSN6_IMPVALL.I_I-ELC180.AT2", "elCentro.AT2", "RSN1106_KOBE_KJM-UP.AT2"]
    names += [
        "RSN1106_KOBE_KJM000.AT2",
        "RSN1106_KOBE_KJM090.AT2",
        "RSN753_LOMAP_CLS000.AT2",
        "RSN753_LOMAP_CLS090.AT2",
    ]
    records = [vb.read_record(folder / name) for name in names]
    known = candidates_from(records)
    assert [c.name for c in known.candidates] == [
        "IELC180", "RSN1106_KOBE_KJM000", "RSN1106_KOBE_KJM090", "RSN753_LOMAP_CLS000", "RSN753_LOMAP_CLS090"
    ]  # fmt: skip
    pairs = candidates_from(records, pairs=True).candidates
    assert [c.event for c in pairs] == ["1995-01-16", "1989-10-18"]


def test_json(tmp_path):
    for key in range(3):
        motion(key).write_csv(tmp_path / f"m{key}.csv")
    files = [str(p) for p in sorted(tmp_path.glob("*.csv"))]
    options = ["--target", "ec8:0.3,C", "--count", "3", "--rules", "ec8", "--period", "0.5", "--json"]
    content = json.loads(CliRunner().invoke(app, ["motions", "select", *files, *options]).stdout)
    assert len(content["motions"]) == 3 and [rule["met"] for rule in content["rules"]] == [True, False, True, True]
