"""Tests of devices made by SciPy's adaptive solver from a law's rate equation, written out here."""

import numpy as np
from scipy.integrate import solve_ivp

import vibrid as vb

RATE = 100.0


def bouc_wen_test(
    stiffness, beta, gamma, exponent=1.0, ratio=0.0, *, amplitude=0.02, frequency=2.0, seconds=4.0, rate=RATE,
    noise=0.0, seed=0, with_velocity=True, name="sine",
):  # fmt: skip
    """A sine of growing amplitude imposed on a Bouc–Wen device: a record of displacement, velocity and force."""
    turn, time = 2 * np.pi * frequency, np.arange(round(seconds * rate)) / rate

    def motion(t):
        grown, growth = 0.3 + 0.7 * t / seconds, 0.7 / seconds
        x = amplitude * grown * np.sin(turn * t)
        return x, amplitude * (growth * np.sin(turn * t) + grown * turn * np.cos(turn * t))

    def slope(t, z):
        w = motion(t)[1]
        return w - np.abs(z) ** exponent * (beta * np.abs(w) * np.sign(z) + gamma * w)

    z = solve_ivp(slope, (0.0, time[-1]), [0.0], t_eval=time, rtol=1e-8, atol=1e-12, max_step=0.25 / rate).y[0]
    x, v = motion(time)
    force = stiffness * (ratio * x + (1 - ratio) * z)
    force = force + noise * np.random.default_rng(seed).standard_normal(len(time))
    return device_record(x, force, rate, v if with_velocity else None, name)


def device_record(x, force, rate, v=None, name="test"):
    """Displacement, velocity where it is given, and force of a device as a record."""
    columns = {"x": ("imposed_displacement", x), "v": ("imposed_velocity", v), "force": ("element_force", force)}
    given = {channel: column for channel, column in columns.items() if column[1] is not None}
    channels = [vb.Channel(channel, quantity) for channel, (quantity, _) in given.items()]
    return vb.Record(np.stack([values for _, values in given.values()], axis=1), channels, step=1 / rate, name=name)
