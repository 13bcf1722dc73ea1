"""The condition of channels: each fault made on purpose, and no false alarm on clean records."""

import numpy as np
import pytest
import scipy

from vibrid.records.condition import conditions
from vibrid.records.record import Channel, Record

STEP, COUNT = 0.01, 2000


def response(seed: int, noise: float = 0.03) -> Record:
    """Ground and two floors: filtered noise under an envelope, resonators driven by it, and noise."""
    rng = np.random.default_rng(seed)
    t = np.arange(COUNT) * STEP
    band = scipy.signal.butter(2, [0.3, 12.0], "band", fs=1 / STEP, output="sos")
    ground = (
        scipy.signal.sosfilt(band, rng.standard_normal(COUNT))
        * np.minimum(1, t / 3)
        * np.exp(-np.maximum(0, t - 8) / 5)
    )
    columns = [ground]
    for frequency in (1.2, 3.1):
        omega = 2 * np.pi * frequency
        system = scipy.signal.cont2discrete(([-0.06 * omega, -(omega**2)], [1, 0.06 * omega, omega**2]), STEP)
        columns.append(scipy.signal.lfilter(np.ravel(system[0]), np.ravel(system[1]), ground))
    data = np.column_stack(columns)
    data[:, 1:] += noise * data[:, 1:].std(axis=0) * rng.standard_normal((COUNT, 2))
    names = (("ground", "ground_acceleration"), ("a0", "absolute_acceleration"), ("a1", "absolute_acceleration"))
    return Record(data, [Channel(name, quantity) for name, quantity in names], step=STEP)


def spoilt(change, column: int = 1) -> Record:
    record = response(0)
    data = record.data.copy()
    data[:, column] = change(data[:, column].copy())
    return record.replace(data=data)


def spikes(y):
    y[[310, 900]] += 8 * y.std()
    return y


def missing(y):
    y[400:430] = np.nan
    return y


def stuck(y):
    y[900:1400] = y[900]
    return y


def ring(y):
    return y + 0.5 * y.std() * np.sin(2 * np.pi * 47.0 * np.arange(COUNT) * STEP)


FAULTS = {
    "empty": (lambda y: y * np.nan, "wrong", "has no sample at all"),
    "dead": (lambda y: 0 * y + 0.25, "wrong", "is dead (constant at 0.25)"),
    "gap": (missing, "odd", "misses 30 of 2000 samples, at most 0.31 s at once"),
    "stuck": (stuck, "wrong", "is constant from 9 to 13.99 s"),
    "clipped": (lambda y: np.clip(y, -0.5 * y.max(), 0.5 * y.max()), "wrong", "is clipped above at"),
    "offset": (lambda y: y + 0.3 * y.std(), "odd", "has an offset of"),
    "drift": (lambda y: y + np.linspace(-0.5, 0.5, COUNT) * y.std(), "odd", "drifts by"),
    "resolution": (lambda y: np.round(y / (0.3 * y.std())) * 0.3 * y.std(), "odd", "has a resolution of"),
    "spike": (spikes, "odd", "has 2 spikes (3.1 s, 9 s)"),
    "nyquist": (ring, "odd", "of its power in the highest fifth of the frequencies (to 50 Hz)"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_each_fault_is_told_alone_and_where_it_is(name):
    change, verdict, words = FAULTS[name]
    found = {c.channel.name: c.findings for c in conditions(spoilt(change))}
    assert [(f.name, f.verdict) for f in found["a0"]] == [(name, verdict)]
    assert found["a0"][0].sentence.startswith("Channel 'a0' ") and words in found["a0"][0].sentence
    assert found["ground"] == () and found["a1"] == ()


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1])
def test_clean_records_have_no_findings(noise):
    for seed in range(12):
        assert [f.sentence for c in conditions(response(seed, noise)) for f in c.findings] == []


def test_a_channel_that_was_copied_is_told():
    record = response(0)
    data = record.data.copy()
    data[:, 2] = data[:, 1]
    (finding,) = conditions(record.replace(data=data))[2].findings
    assert finding.name == "twin" and "the same values as 'a0'" in finding.sentence


def test_numbers_of_a_channel():
    condition = conditions(response(3, noise=0.05))[1]
    assert (condition.rate, condition.samples, condition.missing, condition.gap) == (100.0, COUNT, 0, 0.0)
    assert condition.noise / condition.deviation == pytest.approx(0.05, rel=0.25)
    assert condition.resolution == 0.0


def test_quiet_beginnings_are_no_faults():
    record = response(1)
    data = record.data * np.clip((record.time[:, None] - 3.0) / 2.0, 0.0, 1.0)
    assert all(c.findings == () for c in conditions(record.replace(data=data)))
