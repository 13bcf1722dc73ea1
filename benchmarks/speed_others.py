"""Parts of `speed.py`: filters and online updates; steps of hybrid tests and response spectra.

What stays with XLA, C or NumPy is here beside what machine code would take, or with the reason.
"""

from __future__ import annotations

import time

import equinox as eqx
import jax
import jax.numpy as jnp
import masing
import numpy as np

import vibrid as vb
from vibrid.core import native
from vibrid.hybrid import coordinator
from vibrid.papers.two_storey import damper
from vibrid.records.spectra import DEFAULT_PERIODS, _step, largest_responses

STEP = 0.001


def motion() -> vb.Record:
    """4 s at 1000 Hz."""
    rng, t = np.random.default_rng(0), np.arange(4001) * STEP
    waves = np.sin(2 * np.pi * np.outer(t, np.linspace(0.2, 5, 20)) + rng.uniform(0, 6.28, 20)).sum(axis=1)
    values = 0.8 * waves * np.exp(-(((t - 4 / 3) / 0.8) ** 2))
    return vb.Record(values, [vb.Channel("ground", "ground_acceleration")], step=STEP, name="benchmark motion")


def filters(repeats: int, in_turns, by_xla) -> list[dict]:
    """A pass of the filters over ten storeys, by whole calls of `identify`; and online updates, as in `masing.py`."""
    record = motion()
    law = vb.BoucWen(stiffness=40.0, beta=1.0, gamma=1.0, exponent=1.0)
    structure = vb.ShearBuilding(masses=np.ones(10), storeys=[law] * 10, damping=vb.Viscous(1.5))
    data = vb.simulate(structure, record).measure(vb.Sensors(acceleration=range(10)), noise=0.01)
    rows = []
    for name, method, limit in (
        ("UKF", vb.UnscentedKalman(passes=1), 1.0),
        ("EKF", vb.ExtendedKalman(passes=1), None),
    ):
        ours = lambda m=method: vb.identify(structure, data, ["storeys[*].stiffness"], m, checks="none")  # noqa: E731
        seconds = in_turns({"vibrid": ours, "XLA": by_xla(ours)}, max(repeats // 2, 1))
        here, there = ours(), by_xla(ours)()
        error = np.abs(here.estimate / there.estimate - 1).max()
        rows.append({
            "what": f"{name} of ten storeys, ten unknown stiffnesses, {len(record)} samples: a pass, s",
            "measured": f"{seconds['vibrid']:.2f} (XLA {seconds['XLA']:.2f})",
            "target": "" if limit is None else f"≤ {limit:g} [A]",
            "met": None if limit is None else bool(seconds["vibrid"] <= limit),
            "note": f"{1e6 * seconds['vibrid'] / len(record):.0f} µs a sample; differs by {error:.0e}",
            "details": seconds,
        })  # fmt: skip
        print(rows[-1]["what"], rows[-1]["measured"], rows[-1]["note"], flush=True)
    online = masing.update_speed(repeats)[0]
    rate = online["details"]["updates"] / online["details"]["seconds"]
    rows.append({
        "what": f"{online['what']}, a second", "measured": f"{rate:.0f}", "target": "≥ 6000 [A]",
        "met": bool(rate >= 6000), "note": "by XLA; the call from Python included", "details": online["details"],
    })  # fmt: skip
    print(rows[-1]["what"], rows[-1]["measured"], flush=True)
    return rows


@native.jit
def by_recurrence(factor, old, new, motion):
    """The largest |Im q| of `q₁ = factor q₀ + old a₀ + new a₁`, complex numbers as pairs (2, periods)."""

    def step(carry, ends):
        x, y, largest = carry
        before, after = ends
        x, y = (
            factor[0] * x - factor[1] * y + old[0] * before + new[0] * after,
            factor[0] * y + factor[1] * x + old[1] * before + new[1] * after,
        )
        return (x, y, jnp.maximum(largest, jnp.abs(y))), None

    rest = jnp.zeros(factor.shape[1])
    return jax.lax.scan(step, (rest, rest, rest), (motion[:-1], motion[1:]))[0][2]


def least(job, repeats: int) -> tuple[float, float]:
    """s of the processor: the first call, and the least of those after it."""
    times = []
    for _ in range(repeats + 1):
        start = time.process_time()
        jax.block_until_ready(job())
        times.append(time.process_time() - start)
    return times[0], min(times[1:])


def others(repeats: int) -> list[dict]:
    """Response spectra by NumPy and as machine code; the loop of a hybrid test by XLA and as machine code."""
    values = np.random.default_rng(0).normal(size=8001)
    _, damped, *numbers = _step(DEFAULT_PERIODS, 0.05, 0.005)
    pairs = [jnp.asarray(np.stack([a.real, a.imag])) for a in numbers]
    _, here = least(lambda: largest_responses(values, 0.005, DEFAULT_PERIODS, 0.05)[0], 5 * repeats)
    first, there = least(lambda: by_recurrence(*pairs, jnp.asarray(values)), 5 * repeats)
    peaks = np.asarray(by_recurrence(*pairs, jnp.asarray(values))) / damped
    error = np.abs(peaks / largest_responses(values, 0.005, DEFAULT_PERIODS, 0.05)[0] - 1).max()
    pays = int(np.ceil(first / (here - there)))
    rows = [{
        "what": "a response spectrum of 200 periods, 8001 samples, ms", "measured": f"{1e3 * here:.1f} by NumPy",
        "target": "", "met": None,
        "note": f"as machine code {1e3 * there:.1f}, and {1e3 * first:.0f} to compile, with JAX loaded: pays from "
        f"{pays} spectra on; differs by {error:.0e}",
        "details": {"numpy": here, "native": there, "first": first},
    }]  # fmt: skip
    print(rows[-1]["what"], rows[-1]["measured"], rows[-1]["note"], flush=True)
    return rows + hybrid_loop(repeats)


def hybrid_loop(repeats: int) -> list[dict]:
    motion = vb.synthetic_motion(3, duration=40.0, rate=1024.0, pga=4.0)
    storeys = [vb.BoucWen(stiffness=9e6, beta=25.0, gamma=15.0, post_yield_ratio=0.05)] * 2
    building = vb.ShearBuilding(masses=[8.9e3, 9.1e3], storeys=storeys, damping=vb.Modal(0.03))
    law = damper(1)
    test = vb.HybridTest(
        building,
        [vb.Experimental(law, at="0", name="first", count=4)],
        [vb.Modelled(law, at="1", to="0", name="second", count=4, companion="first")],
    )
    compiled, plain = coordinator._scan, eqx.filter_jit(coordinator._scan.__wrapped__)
    took, found = {}, {}
    for name, scan in (("vibrid", compiled), ("XLA", plain)):
        coordinator._scan = scan
        found[name] = test.run(motion).response.displacement
        took[name] = 1e6 * least(lambda: test.run(motion), repeats)[1] / len(motion)
    coordinator._scan = compiled
    error = np.abs(found["vibrid"] - found["XLA"]).max() / np.abs(found["XLA"]).max()
    row = {
        "what": "hybrid test of two storeys with two LuGre dampers in one program, µs a step",
        "measured": f"{took['vibrid']:.2f} (XLA {took['XLA']:.2f})", "target": "", "met": None,
        "note": f"differs by {error:.0e}", "details": took,
    }  # fmt: skip
    print(row["what"], row["measured"], row["note"], flush=True)
    return [row]
