"""Virtual specimens: the banded friction damper beside SciPy, laws, and a measured test played again."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import vibrid as vb
from vibrid.core.errors import Divergence

DT = 1 / 1024


def history(amplitude=0.0165, frequency=1.0, seconds=1.1):
    """A sine that grows from rest within half a second."""
    t = DT * np.arange(round(seconds * 1024))
    x = amplitude * np.sin(2 * np.pi * frequency * t) * np.minimum(t / 0.5, 1) ** 2
    return t, x, np.gradient(x, DT)


def imposed(x, v) -> vb.Record:
    channels = [vb.Channel("x", "imposed_displacement"), vb.Channel("v", "imposed_velocity")]
    return vb.Record(np.stack([x, v], axis=1), channels, step=DT, name="imposed")


@pytest.fixture(scope="module")
def banded():
    """The history and what a specimen without noise shows of it."""
    _, x, v = history()
    return vb.impose(vb.BandedFrictionDamper(force_noise=0.0, band_noise=0.0), imposed(x, v))


def test_the_banded_damper_equals_an_independent_integration(banded):
    """The equations once more, in kN, m, s and Mg, by an adaptive Runge–Kutta method."""
    t, x, v = history()
    kc, kg, gap, cf, md, s0, s1, travel, a0 = 9000, 1800, 3e-3, 12, 0.15, 6e4, 60, 5e-3, 0.55
    omega, zeta, kappa, fading, e0, turn = 2 * np.pi * 14, 0.03, 1.1, 0.08, 15, 0.12

    def grip(w, rate):
        s = 0.5 * (1 + np.sign(rate) * 2 * w / travel)
        return a0 + (1 - a0) * (3 * s**2 - 2 * s**3)

    def force(now, q):
        d = np.interp(now, t, x) - q[0]
        beyond = np.sign(d) * max(abs(d) - gap / 2, 0)
        return kg * d + (kc - kg) * beyond + cf * (np.interp(now, t, v) - q[1])

    def rates(now, q):
        u, rate, z, w, y, p, energy = q
        a = grip(w, rate)
        coulomb, static = (22.91, 24.43) if rate >= 0 else (19.75, 21.93)
        g = (coulomb + (static - coulomb) * np.exp(-((rate / 0.025) ** 2))) * a
        g *= (1 - fading * (1 - np.exp(-energy / e0))) * (1 + 0.04 * np.sin(2 * np.pi * u / turn))
        g *= 1 + np.clip(y, -0.3, 0.3)
        dz = rate - s0 * abs(rate) * z / g
        friction = s0 * z + s1 * np.exp(-((rate / 0.1) ** 2)) * dz
        dw = rate if abs(w) < travel / 2 or w * rate < 0 else 0.0
        dy = p + kappa * omega * a
        dp = -2 * zeta * omega * dy - omega**2 * y
        return [rate, (force(now, q) - friction) / md, dz, dw, dy, dp, abs(friction * rate)]

    q = np.array([0, 0, 0, 0, 0, -kappa * omega * grip(0, 0), 0.0])
    forces, bands = [force(0, q)], []
    for before, now in pairwise(t):
        q = solve_ivp(rates, (before, now), q, rtol=1e-6, atol=1e-10, max_step=DT / 2).y[:, -1]
        q[3] = np.clip(q[3], -travel / 2, travel / 2)
        forces.append(force(now, q))
        place = 2 * np.pi * q[0] / turn
        bands.append([1 + 0.7 * q[3] / travel + 0.06 * np.sin(place + 0.7) + 0.5 * q[4],
                      1 - 0.6 * q[3] / travel + 0.05 * np.sin(place - 1.1) - 0.3 * q[4]])  # fmt: skip
    wrong = 1e3 * np.array(forces) - banded["force"]
    assert np.ptp(banded["force"]) > 40e3, "it slips both ways"
    assert np.sqrt(np.mean(wrong**2)) < 1e-3 * np.ptp(banded["force"])
    for i, name in enumerate(("band_1", "band_2")):
        theirs = 23e3 / 140 * np.array(bands)[:, i]
        assert np.sqrt(np.mean((theirs - banded[name][1:]) ** 2)) < 2e-3 * np.ptp(theirs)


def test_every_test_of_the_banded_damper_differs(banded):
    _, x, v = history()
    drawn = [vb.impose(vb.BandedFrictionDamper.drawn(key), imposed(x, v))["force"] for key in (1, 2, 1)]
    np.testing.assert_array_equal(drawn[0], drawn[2])
    spread = [np.sqrt(np.mean((a - banded["force"]) ** 2)) / np.ptp(banded["force"]) for a in drawn[:2]]
    assert min(spread) > 0.01 and max(spread) < 0.2, "like its kind, and not the same"
    noisy = vb.impose(vb.BandedFrictionDamper(), imposed(x, v))
    assert (noisy["force"] - banded["force"]).std() == pytest.approx(300, rel=0.1)
    assert (noisy["band_1"] - banded["band_1"]).std() == pytest.approx(1.5, rel=0.1)
    weak = vb.impose(vb.BandedFrictionDamper(13e3, force_noise=0.0), imposed(x, v))["force"]
    assert np.abs(weak).max() / np.abs(banded["force"]).max() == pytest.approx(13 / 23, rel=0.1)


def test_a_measured_test_is_played_again_along_its_own_motion_only(banded):
    test = banded.select(["displacement", "force", "band_1"])
    x, v = banded["displacement"], np.gradient(banded["displacement"], DT)
    replay = vb.hybrid.Replay.of(test, tolerance=5e-4)
    assert replay.signal_names == ("band_1",)
    shifted = imposed(np.append(x[1:], x[-1]), np.append(v[1:], v[-1]))  # the first sample is where it starts
    again = vb.impose(replay, shifted)
    np.testing.assert_allclose(again["force"][:-1], banded["force"][1:], rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(again["band_1"][:-1], banded["band_1"][1:], rtol=1e-9)
    assert np.isnan(again["force"][-1]), "beyond its end there is nothing to play"
    elsewhere = vb.impose(replay, imposed(1.2 * shifted["x"], shifted["v"]))["force"]
    away = np.abs(0.2 * shifted["x"]) > 5.1e-4
    assert np.isnan(elsewhere[away]).all() and away.sum() > 100
    building = vb.ShearBuilding(masses=[1e4], storeys=[vb.Linear(1e6)])
    ground = vb.Record(2.0 * np.sin(6 * DT * np.arange(1000)), [vb.Channel("g", "ground_acceleration")], step=DT)
    with pytest.raises(Divergence, match="only for its measured motion"):
        vb.HybridTest(building, [vb.Experimental(replay, at=0, name="old")]).run(ground)
