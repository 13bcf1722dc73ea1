"""What a cyclic test shows: envelope, stiffness, energy, strength and protocol, of loops whose answers are known."""

import numpy as np
import pytest

import vibrid as vb
from vibrid.records.cycles import read_cycles, turns

K, FY = 20e6, 400e3  # N/m, N: yield at 20 mm


def path(sizes, steps=50):
    """Through ± every size, straight, in equal steps."""
    stops = np.array([0.0, *(way * a for a in sizes for way in (1.0, -1.0)), 0.0])
    return np.interp(np.arange((len(stops) - 1) * steps + 1) / steps, np.arange(len(stops)), stops)


def plastic(x, strength=lambda i: 1.0):
    """An elastic–perfectly-plastic loop in small steps, with a strength that may change."""
    force = np.zeros_like(x)
    for i in range(1, x.size):
        limit = FY * strength(i)
        force[i] = np.clip(force[i - 1] + K * (x[i] - x[i - 1]), -limit, limit)
    return force


FEMA = 0.1 / 1.4 ** np.repeat(np.arange(8, -1, -1), 2)


def test_an_elastoplastic_test():
    x = path(FEMA, 400)
    read = read_cycles(x, plastic(x))
    assert read.stiffness == pytest.approx(K, rel=0.01)
    assert read.peak == pytest.approx(FY, rel=1e-3) and read.yield_force == pytest.approx(FY, rel=0.03)
    assert len(read.cycles) == 18 and read.ultimate == np.inf
    last = read.cycles[-1]
    assert (last.positive, last.negative) == pytest.approx((0.1, -0.1))
    assert last.energy == pytest.approx(4 * FY * (0.1 - FY / K), rel=0.02)
    assert last.stiffness == pytest.approx(FY / 0.1, rel=1e-6)
    assert max(map(abs, read.strength_loss)) < 1e-9
    assert read.protocol.startswith("FEMA 461: 9 steps of 2, 2,")


def test_noise_moves_little():
    x = path(FEMA, 200)
    force = plastic(x)
    read = read_cycles(x, force + 0.02 * force.std() * np.random.default_rng(0).standard_normal(x.size))
    assert read.stiffness == pytest.approx(K, rel=0.03) and read.peak == pytest.approx(FY, rel=0.02)
    assert read.protocol.startswith("FEMA 461") and len(read.cycles) == 18


def test_strength_that_is_lost_within_a_step():
    x = path([0.06, 0.06, 0.06], 200)
    read = read_cycles(x, plastic(x, lambda i: 1.0 - 0.3 * i / x.size))
    assert len(read.strength_loss) == 1 and 0.15 < read.strength_loss[0] < 0.3
    assert read.protocol == "constant amplitude, 3 cycles"


@pytest.mark.parametrize(
    ("sizes", "name"),
    [
        (np.repeat([0.00375, 0.005, 0.0075, 0.01, 0.015, 0.02, 0.03], [6, 6, 6, 4, 2, 2, 2]), "SAC"),
        (np.repeat([0.01, 0.02, 0.04, 0.06, 0.08], 3), "three cycles"),
        (np.repeat([0.01, 0.015, 0.02, 0.04, 0.06], [6, 6, 3, 3, 2]), "ATC-24"),
        ([0.02, 0.015, 0.015, 0.04, 0.03, 0.03, 0.06, 0.045, 0.045], "CUREE"),
        ([0.02, 0.05, 0.01, 0.06, 0.03], "irregular"),
    ],
)
def test_protocols(sizes, name):
    x = path(sizes)
    assert read_cycles(x, plastic(x)).protocol.startswith(name)


def test_a_monotonic_test():
    x = np.linspace(0.0, 0.1, 500)
    read = read_cycles(x, np.minimum(K * x, FY) - np.maximum(x - 0.05, 0.0) * 4e6)
    assert read.protocol == "monotonic" and not read.cycles
    assert read.peak_at == pytest.approx(0.05, abs=0.032) and read.ultimate == pytest.approx(0.07, abs=0.003)
    assert read.last == pytest.approx(200e3, rel=0.02)


def test_turns_alternate_and_leave_small_wiggles_out():
    x = path([0.01, 0.02]) + 1e-5 * np.sin(np.arange(251))
    found = turns(x, 1e-3)
    assert found.tolist() == pytest.approx([0, 50, 100, 150, 200, 250], abs=2)


def test_what_is_no_cyclic_test_is_refused():
    with pytest.raises(vb.InputError, match="shows no cyclic test"):
        read_cycles(np.zeros(50), np.arange(50.0))
    x = path([0.01, 0.02])
    with pytest.raises(vb.InputError, match="check the sign of one"):
        read_cycles(x, -K * x)
    with pytest.raises(vb.InputError, match="does not grow with the deformation at first"):
        read_cycles(np.linspace(0.0, 1.0, 200), np.repeat([0.0, 1.0], 100))


def test_loops_that_run_backwards_are_refused():
    """Deformation and force exchanged, or a force that is late: no specimen gives energy."""
    x = path(FEMA)
    force = plastic(x)
    with pytest.raises(vb.InputError, match="deformation and force are exchanged, or the force is recorded later"):
        read_cycles(force * 1e-6, x * 1e6)
    with pytest.raises(vb.InputError, match="recorded later"):
        read_cycles(0.1 * x[15:], 0.1 * K * x[:-15])
    for seed in range(20):  # elastic, with noise: the energy has either sign
        noise = 0.02 * K * 0.01 * np.random.default_rng(seed).standard_normal(x.size)
        assert read_cycles(0.1 * x, K * 0.1 * x + noise).warnings == ()


def test_what_looks_wrong_is_told():
    x = path(FEMA)
    force = plastic(x)
    assert read_cycles(x, force).warnings == ()
    (unit,) = read_cycles(1e3 * x, force).warnings
    assert "reaches 100 m" in unit and "check the unit" in unit
    for moved in (read_cycles(x, force + 60e3), read_cycles(x + 3e-3, force)):
        (zero,) = moved.warnings
        assert "60000 N" in zero.replace("-", "").replace("6e+04", "60000") and "15 % of the peak" in zero
    (play,) = read_cycles(x + 2e-3 * np.tanh(force / 8e3), force).warnings
    assert "play in the test rig" in play
