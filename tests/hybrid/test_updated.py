"""Laws that are updated from what is companion: the filter beside one written out, and what it recovers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import vibrid as vb
from vibrid.hybrid.characterise import characterise
from vibrid.hybrid.learned import DeviceTest, Recipe, ScaledLaw, along
from vibrid.hybrid.smoothing import Smoothed
from vibrid.hybrid.updated import UpdatedLaw

RATE, DT = 512.0, 1 / 512
LAW = vb.LuGre(4e6, 2e4, 2.3e4, 2.0e4, 2.4e4, 2.2e4, 0.025)
AT = 2e4
SCALED = ScaledLaw(
    LAW, AT, ("coulomb_positive", "static_positive"), ("coulomb_negative", "static_negative")
)  # fmt: skip


def motion(seconds: float, frequency: float, phase: float):
    t = np.arange(int(seconds * RATE)) / RATE
    x = 0.012 * np.sin(2 * np.pi * frequency * t + phase) * np.minimum(t, 1.0)
    return t, x - x[0], np.gradient(x, DT)


def lugre_by_scipy(seconds, frequency, phase, stiffness, damping):
    """Force of a LuGre device by an adaptive stiff solver, with the velocity in closed form."""
    w = 2 * np.pi * frequency

    def speed(t):
        ramp = np.minimum(t, 1.0)
        return 0.012 * (w * np.cos(w * t + phase) * ramp + np.sin(w * t + phase) * (t < 1.0))

    def slip(v):
        coulomb, static = (2.3e4, 2.4e4) if v >= 0 else (2.0e4, 2.2e4)
        return coulomb + (static - coulomb) * np.exp(-((v / 0.025) ** 2))

    def rate(t, z):
        v = speed(t)
        return v - stiffness * abs(v) * z / slip(v)

    t, _, _ = motion(seconds, frequency, phase)
    z = solve_ivp(rate, (0, t[-1]), [0.0], "LSODA", t, rtol=1e-8, atol=1e-12, max_step=2e-3).y[0]
    return np.array([stiffness * zi + damping * rate(ti, zi) for ti, zi in zip(t, z, strict=True)])


def pair(stiffness=6e6, damping=3e4, seconds=8.0) -> DeviceTest:
    """The physical device moves at 1 Hz, the modelled one at 1.3 Hz; both are the same LuGre device."""
    rng = np.random.default_rng(0)
    heard_force = lugre_by_scipy(seconds, 1.0, 0.0, stiffness, damping)
    _, companion, _ = motion(seconds, 1.0, 0.0)
    companion = np.stack([heard_force + 50 * rng.standard_normal(companion.size), companion], axis=1)
    _, x, v = motion(seconds, 1.3, 0.7)
    return DeviceTest("pair", x, v, lugre_by_scipy(seconds, 1.3, 0.7, stiffness, damping), companion, (AT, AT))


@pytest.fixture(scope="module")
def test_pair():
    return pair()


def by_hand(device: UpdatedLaw, test: DeviceTest):
    """Equations (24)–(39) in NumPy, one number at a time."""
    size = 2
    alpha, noise, lower, upper = (
        float(getattr(device, n)) for n in ("spread", "process_noise", "lower", "upper")
    )  # fmt: skip
    first = np.array([4e6, 2e4])

    def force_of(x, z, v):
        stiffness, damping = first * x
        coulomb, static = (2.3e4, 2.4e4) if v >= 0 else (2.0e4, 2.2e4)
        g = coulomb + (static - coulomb) * np.exp(-((v / 0.025) ** 2))
        z = g * (v * DT + z) / (g + stiffness * abs(v) * DT)  # (20)
        return z, stiffness * z + damping * (v - stiffness * abs(v) / g * z)  # (21)

    lam = alpha**2 * size - size
    wm = [lam / (size + lam)] + [1 / (2 * (size + lam))] * (2 * size)
    wc = [wm[0] + 1 - alpha**2 + 2, *wm[1:]]
    x, p, q = np.ones(size), noise**2 * np.eye(size), noise**2 * np.eye(size)
    copies, own, found, shrunk = np.zeros(5), 0.0, [], 0
    speeds = np.diff(test.companion[:, 1], prepend=test.companion[0, 1]) / DT
    for k, v in enumerate(speeds):
        values, vectors = np.linalg.eigh((p + p.T) / 2)
        values = np.maximum(values, 1e-11 * np.abs(values).sum())
        root = vectors @ np.diag(np.sqrt(values)) @ vectors.T
        gamma = 1.0
        while True:
            chi = [x] + [x + s * gamma * np.sqrt(size + lam) * root[:, i] for s in (1, -1) for i in range(size)]
            if gamma < 0.05 or all(((c >= lower) & (c <= upper)).all() for c in chi):
                break
            gamma, shrunk = gamma - 0.1, shrunk + 1
        mean = sum(w * c for w, c in zip(wm, chi, strict=True))
        pxx = sum(w * np.outer(c - mean, c - mean) for w, c in zip(wc, chi, strict=True)) + q
        moved_points = [force_of(c, z, v) for c, z in zip(chi, copies, strict=True)]
        y = sum(w * f for w, (_, f) in zip(wm, moved_points, strict=True))
        pyy = sum(w * (f - y) ** 2 for w, (_, f) in zip(wc, moved_points, strict=True)) + float(device.force_noise) ** 2
        gain = sum(w * (c - mean) * (f - y) for w, c, (_, f) in zip(wc, chi, moved_points, strict=True)) / pyy
        margin = noise * np.sqrt(size + lam)
        x = np.clip(mean + gain * (test.companion[k, 0] - y), lower + margin, upper - margin)
        p = pxx - np.outer(gain, gain) * pyy
        if device.memory == "mean":
            copies = np.full(5, force_of(x, copies[0], v)[0])
        else:
            copies = np.array([z for z, _ in moved_points])
        own, answer = force_of(x, own, test.v[k])
        found.append([answer, *(first * x)])
    return np.array(found), shrunk


@pytest.mark.parametrize("memory", ["each", "mean"])
def test_the_filter_equals_one_written_out(test_pair, memory):
    """With bounds so narrow that sigma points must shrink, and a wide spread that shows every weight."""
    short = test_pair._replace(**{n: getattr(test_pair, n)[:1200] for n in ("x", "v", "force", "companion")})
    device = UpdatedLaw(
        SCALED, (AT, AT), lower=0.8, upper=1.3, process_noise=1e-2, force_noise=500.0, corner=0.0, spread=0.5,
        memory=memory,
    )  # fmt: skip
    expected, shrunk = by_hand(device, short)
    made = along(device, short, RATE)
    assert shrunk > 10
    np.testing.assert_allclose(made.signals, expected[:, 1:], rtol=1e-6)
    np.testing.assert_allclose(made.force, expected[:, 0], rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize("memory", ["each", "mean"])
def test_it_recovers_the_parameters_of_a_lugre_device(test_pair, memory):
    """Truth by an adaptive solver; the law begins a third too soft, and errs less than the fixed one where it answers.
    The step of the law (backward Euler at 512 Hz) has a damping of its own of σ0 Δt/2 = 0.6·10⁴ N s/m, so σ1 comes out
    lower than the truth by some of it."""
    device = UpdatedLaw(SCALED, (AT, AT), process_noise=1e-2, force_noise=500.0, corner=0.0, spread=0.5, memory=memory)
    made = along(device, test_pair, RATE)
    stiffness, damping = np.asarray(made.signals)[-1024:].mean(axis=0)
    assert stiffness == pytest.approx(6e6, rel=0.03)
    assert 2.4e4 < damping < 3.0e4
    fixed = along(vb.hybrid.LawDevice(LAW), test_pair, RATE).force
    error = lambda force: np.sqrt(np.mean((np.asarray(force) - test_pair.force)[2048:] ** 2))  # noqa: E731
    assert error(made.force) < 0.1 * error(fixed)


def test_the_capacity_of_the_pretension_scales_the_strengths():
    law, share = UpdatedLaw(SCALED, (0.5 * AT, 2 * AT)).law.scaled(jnp.array([0.5 * AT, 2 * AT]), {})
    assert float(share) == 1.0
    np.testing.assert_allclose([law.coulomb_positive, law.static_negative], [0.5 * 2.3e4, 2 * 2.2e4])


def test_the_low_pass_differentiates():
    """Behind its lag of 2ζ/ω it follows a slow sine, and takes most of a sensor's noise away."""
    t = np.arange(4096) / 1024
    rng = np.random.default_rng(1)
    x = 0.01 * np.sin(2 * np.pi * t)
    state = Smoothed(jnp.asarray(x[0]), jnp.asarray(0.0), jnp.asarray(x[0]))
    run = jax.jit(lambda s, xs: jax.lax.scan(lambda s, u: ((n := s.step(u, 30.0, 1 / 1024)), n.rate), s, xs)[1])
    rates = np.asarray(run(state, jnp.asarray(x)))
    expected = 0.02 * np.pi * np.cos(2 * np.pi * (t - 2 * 0.7071 / (2 * np.pi * 30)))
    np.testing.assert_allclose(rates[200:], expected[200:], atol=2e-4)
    noisy = np.asarray(run(state, jnp.asarray(x + 2e-5 * rng.standard_normal(x.size))))
    assert np.std((noisy - rates)[200:]) < 5e-3 < 0.02 < np.std(np.diff(2e-5 * rng.standard_normal(x.size))) * 1024


def test_a_global_search_characterises_a_device(test_pair):
    """From a guess that is wrong by factors of two to five; the truth has noise of 50 N and was integrated apart."""
    guess = vb.LuGre(2e7, 6e3, 1.2e4, 3e4, 2e4, 4e4, 0.06)
    law = ScaledLaw(guess, AT, SCALED.positive, SCALED.negative)
    free = ("bristle_stiffness", "bristle_damping", *SCALED.positive, *SCALED.negative, "stribeck_velocity")
    other = test_pair._replace(x=test_pair.companion[:, 1], v=np.gradient(test_pair.companion[:, 1], DT))
    tests = [test_pair, other._replace(force=test_pair.companion[:, 0])]
    tests = [t._replace(x=t.x[:1536], v=t.v[:1536], force=t.force[:1536], companion=t.companion[:1536]) for t in tests]
    made = characterise(law, free, tests, RATE, population=5, generations=20, polished=2)
    assert made.error < 0.01
    assert made.values["bristle_stiffness"] == pytest.approx(6e6, rel=0.05)
    for speed in (-0.06, 0.06):  # two sines hardly tell Coulomb's share of the strength from the static one
        assert float(made.law.law.capacity(speed)) == pytest.approx(float(LAW.capacity(speed)), rel=0.02)
    left_out = characterise(law, free, tests, RATE, weights=[1.0, 0.0], population=2, generations=2, polished=1)
    assert left_out.error == pytest.approx(left_out.trail[0])
    with pytest.raises(vb.InputError, match="not positive"):
        characterise(law, ("viscous",), tests, RATE)


def test_it_needs_a_companion():
    with pytest.raises(vb.InputError, match="companion"):
        device = UpdatedLaw(SCALED, (AT, AT))
        device.trial(device.start(), vb.laws.Motion(jnp.zeros(()), jnp.zeros(())), None, DT)
    with pytest.raises(vb.InputError, match="'each' or 'mean'"):
        UpdatedLaw(SCALED, (AT, AT), memory="none")


@pytest.mark.parametrize("old", [UpdatedLaw, Recipe])
def test_settings_as_published_left_the_library(old):
    with pytest.raises(vb.InputError, match=r"vibrid\.papers\.ocpnn\.as_published"):
        old.faithful()
