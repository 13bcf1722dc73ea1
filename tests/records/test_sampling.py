"""Time axes: a gap is a gap, noise is not, and few digits are recognised."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vibrid.records import Channel, read_record
from vibrid.records.journal import Journal
from vibrid.records.sampling import uniform_step, with_missing

STEPS = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 1 / 1024, 1 / 3, 1.0)


@pytest.fixture
def put(tmp_path):
    def write(times, name="a.csv"):
        (tmp_path / name).write_text("time [s],a [m]\n" + "".join(f"{t},{i}\n" for i, t in enumerate(times)))
        return tmp_path / name

    return write


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("count", [4, 11, 1000, 20_000])
@pytest.mark.parametrize("where", [0.3, 0.5, 0.99])
def test_a_missing_row_is_never_spread_over_the_others(step, count, where):
    full = step * np.arange(count + 1)
    time = np.delete(full, min(max(int(where * count), 1), count - 1))
    for axis in (time, np.round(time, 6), time.astype(np.float32).astype(float)):
        assert uniform_step(axis) is None
        found, places = with_missing(axis)
        assert found == pytest.approx(step, rel=1e-3 if count < 100 else 1e-5) and places[-1] == count


def test_a_missing_row_of_a_file_is_a_missing_sample(put):
    times = [f"{0.01 * i:.2f}" for i in range(1000) if i != 500]
    record = read_record(put(times))
    assert (record.step, len(record)) == (0.01, 1000)
    assert np.flatnonzero(np.isnan(record["a"])).tolist() == [500]
    assert record["a"][501] == 500.0
    assert "leaves out 1 of 1000 even steps of 0.01 s, first after 4.99 s" in record.history[-1]


def test_a_step_that_changes_is_uneven(put):
    times = np.concatenate([0.01 * np.arange(500), 5.0 + 0.013 * np.arange(500)])
    assert read_record(put(times.tolist())).step is None
    pause = np.concatenate([0.01 * np.arange(20), 60.0 + 0.01 * np.arange(20)])
    assert read_record(put(pause.tolist())).step is None  # far more steps are left out than there are samples


@given(
    st.sampled_from(STEPS),
    st.integers(2, 3000),
    st.floats(-1e4, 1e6),
    st.sampled_from(["product", "sum", "jitter", "printed"]),
)
@settings(max_examples=150, deadline=None)
def test_an_even_axis_is_even_whatever_its_noise(step, count, start, noise):
    time = start + step * np.arange(count)
    if noise == "sum":
        time = np.cumsum(np.concatenate([[start], np.full(count - 1, step)]))
    elif noise == "jitter":
        time = time + 0.4e-3 * step * np.random.default_rng(count).uniform(-1, 1, count)
    elif noise == "printed":
        time = np.array([float(f"{t:.4f}") for t in 0.0025 * np.arange(count)])
        step = 0.0025
    assert uniform_step(time) == pytest.approx(step, rel=2e-3)


@given(st.integers(10, 2000), st.integers(1, 9), st.integers(3, 4))
@settings(max_examples=100, deadline=None)
def test_times_of_few_digits_are_even_where_the_digits_allow(count, tenths, decimals):
    unit = 10.0**-decimals
    step = unit * (2 + tenths / 10)
    time = np.array([float(f"{step * i:.{decimals}f}") for i in range(count)])
    assert uniform_step(time) == pytest.approx(step, rel=1.1 / count)
    short = np.delete(time, count // 2)
    assert uniform_step(short) is None


def test_a_served_test_in_even_steps_is_even(tmp_path):
    """Its step is not stated beforehand, and its times are added up step by step."""
    times = np.cumsum(np.full(4000, 0.005))
    for step in (None, 0.005):
        path = tmp_path / f"step {step}.vbj"
        journal = Journal(path, [Channel("a", "load")], "test", step)
        journal.write(np.column_stack([times, times]))
        journal.close()
        record = read_record(path)
        assert (record.step, record.start) == (0.005, 0.005)
