"""Small faults of instruments: the right one is named first, with its size; a repair explains it.

The data and the faults come from benchmarks/trust.py and benchmarks/instruments.py.
"""

import instruments
import numpy as np
import pytest
import trust

import vibrid as vb
from vibrid.identification.checks.signals import at_true_time


@pytest.mark.parametrize("kind", instruments.KINDS)
def test_a_fault_is_named_and_repaired(kind):
    case, rng = trust.linear_case(4), np.random.default_rng([8, 4])
    readings, channels = instruments.noisy(kind, case, rng)
    fit = instruments.identified(case, readings)
    first, labels = fit.checks[0], [fit.problem.sensors[c].label for c in channels]
    assert (first.name, first.where) == (kind, ", ".join(labels)), first.sentence
    assert not fit.model_fits
    again = fit.repair()
    assert again.model_fits
    assert "Repaired and fitted again" in again.checks[-1].sentence
    count = len(case.true)
    off = np.abs(again.estimate[:count] - case.true) / again.deviation[:count]
    assert np.all(off < 4.5)
    if kind in ("delay", "gain", "offset"):
        place = f"sensors[{channels[0]}].{kind}"
        assert again.names[-1] == place
        assert again.values[place] == pytest.approx(first.numbers[kind], abs=3 * first.numbers["deviation"])


def test_a_result_without_fault_is_not_repaired():
    case, rng = trust.linear_case(4), np.random.default_rng([8, 5])
    fit = instruments.identified(case, case.clean + trust.white(case, rng))
    assert fit.model_fits and not fit.checks
    with pytest.raises(vb.InputError, match="nothing to repair"):
        fit.repair()


def test_readings_of_a_slow_clock_go_back_to_their_times():
    time = np.arange(2000) * 0.01
    moved, there = at_true_time(np.sin(3 * time * (1 - 2e-3)), np.ones(2000), 2e-3)
    assert there.sum() > 1990
    assert moved[there] == pytest.approx(np.sin(3 * time)[there], abs=1e-6)
