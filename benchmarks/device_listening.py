"""Listening: what a modelled device gains from estimates of the tested one.

    python benchmarks/device_listening.py [--pairs 48]

Pairs of virtual devices, each in another storey of a building under synthetic earthquakes of 20 s. A device is a slider
behind a slack band; its slip force and gap are up to 30 % off those of the law, and its slip force falls by up to 40 %
with its own work. Shapes that nobody is told differ as well: take-up, release and roundness by 10 %, a grip that
changes by up to 4 % over a turn of the drum, damping up to 3 kN s/m. Two devices of a pair are alike within 4 % in all
of this, or independent. Load cell and displacement sensor of the tested device have noise (300 N
and 0.02 mm); its force is compared without noise. The law is that of the ordinary device. Compared are

- not listening: the law as it is;
- handing over: `Listening`, with the likeness from eight other pairs (`likeness_of`) and with the true one;
- told: the law with the tested device's true slip force, gap and loss per own work, from the first sample.

The settings of `CompanionEstimator` were chosen with other pairs in view (other seeds). The last row is a specimen
that no law here describes (`BandedFrictionDamper`) in a hybrid test.
"""

import argparse
import dataclasses
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from table import save

import vibrid as vb
from vibrid.hybrid.learned.along import walk
from vibrid.laws.base import Motion

RATE, SECONDS, CAPACITY, GAP = 1024.0, 20.0, 18e3, 3e-3
NOISE, SENSOR = 300.0, 2e-5  # N, m
WEAR = 10e3
"""J, own work over which most of the wear happens; half to twice of it, which nobody is told."""
LAW = vb.Backlash(CAPACITY, CAPACITY, GAP, 3e-3, 1.8, 1.5)
ESTIMATOR = vb.hybrid.CompanionEstimator(
    LAW, CAPACITY, ("slip_positive", "slip_negative"), ("play",), 0.17, 0.17, wear_work=WEAR, force_noise=NOISE
)
REPEATED = 8
"""Pairs that were tested before, for the likeness."""


class Devices(eqx.Module):
    """Virtual devices (count,): slip force and gap over those of the law, share of the slip force that is lost, work in
    which it is lost over the usual, and shapes."""

    capacity: jax.Array
    gap: jax.Array
    lost: jax.Array
    wear: jax.Array
    take_up: jax.Array
    release: jax.Array
    exponent: jax.Array
    turn: jax.Array
    damping: jax.Array
    phase: jax.Array


def drawn(rng, count: int, alike: float | None) -> tuple[Devices, Devices]:
    """Pairs of devices: alike within a share, or independent (None). Where a drum stands is always independent."""

    def values():
        known = rng.uniform(0.7, 1.3, count), rng.uniform(0.7, 1.3, count), rng.uniform(0.0, 0.4, count)
        wear = np.exp(rng.uniform(-0.7, 0.7, count))
        shapes = (1.0 + 0.1 * rng.standard_normal(count) for _ in range(3))
        return [*known, wear, *shapes, rng.uniform(0.0, 0.04, count), rng.uniform(0.0, 3e3, count)]

    tested = values()
    other = values() if alike is None else [v * (1.0 + alike * rng.standard_normal(count)) for v in tested]
    return tuple(
        Devices(*map(jnp.asarray, own), jnp.asarray(rng.uniform(0, 2 * np.pi, count))) for own in (tested, other)
    )


@eqx.filter_jit
def moved(devices: Devices, x, v):
    """Forces (count, samples) N, and slip forces over that of the law, of devices along (count, samples)."""

    def one(d: Devices, x, v):
        def step(carry, now):
            state, before, work = carry
            share = d.capacity * (1.0 - d.lost * (1.0 - jnp.exp(-work / (WEAR * d.wear))))
            slip = CAPACITY * share * (1.0 + d.turn * jnp.sin(2 * jnp.pi * now.e / 0.12 + d.phase))
            law = vb.Backlash(
                slip, slip, GAP * d.gap, 3e-3 * d.take_up, 1.8 * d.release, 1.5 * d.exponent, 0.0, d.damping
            )
            state = law.advance(state, before, now, 1 / RATE)
            force = law.force(now.e, now.w, state)
            return (state, now, work + force * (now.e - before.e)), (force, share)

        rest = Motion(jnp.zeros(()), jnp.zeros(()))
        return jax.lax.scan(step, (LAW.start(), rest, jnp.zeros(())), Motion(x, v))[1]

    return jax.vmap(one)(devices, x, v)


def motions(count: int, seed: int) -> np.ndarray:
    """(count, 2, samples) m: deformations of two storeys of a building without dampers, 6 to 35 mm the larger."""
    rng, made = np.random.default_rng([seed, 7]), []
    for i in range(count):
        floors = vb.ShearBuilding([8.9e3, 9.1e3], [vb.Linear(9e6 * rng.uniform(0.5, 2.0))] * 2, damping=vb.Modal(0.08))
        quake = vb.synthetic_motion(1000 * seed + i, duration=SECONDS, rate=RATE, pga=4.0)
        x = vb.simulate(floors, quake).displacement.T
        made.append(np.stack([x[0], x[1] - x[0]]))
    x = np.stack(made)
    return x * rng.uniform(6e-3, 35e-3, (count, 1, 1)) / np.abs(x).max(axis=(1, 2), keepdims=True)


@eqx.filter_jit
def listening(likeness, x, v, seen, force, estimator=ESTIMATOR):
    """Readings of modelled devices beside tested ones (count, samples)."""
    device = vb.hybrid.Listening(estimator, likeness)
    heard = vb.hybrid.Companion(
        Motion(seen, jnp.zeros_like(seen)), vb.hybrid.Reading(force, jnp.zeros((*force.shape, 0)))
    )
    return jax.vmap(lambda x, v, c: walk(device, Motion(x, v), c, 1 / RATE))(x, v, heard)


@eqx.filter_jit
def lawful(devices: Devices, x, v):
    """N, of the law with the devices' slip force, gap and loss, and its own shapes."""
    one = jnp.ones_like(devices.gap)
    plain = dataclasses.replace(
        devices, take_up=one, release=one, exponent=one, turn=0 * one, phase=0 * one, damping=0 * one
    )
    return moved(plain, x, v)[0]


def error(force, truth) -> float:
    """%, mean NRMSE."""
    force, truth = np.asarray(force), np.asarray(truth)
    return 100 * float(np.mean(np.sqrt(np.mean((force - truth) ** 2, axis=1)) / np.ptp(truth, axis=1)))


def heard_before(alike: float | None, seed: int) -> float:
    """The likeness that tests of eight other pairs show: both devices of a pair had the same motion."""
    rng, x = np.random.default_rng([seed, 3]), motions(REPEATED, seed + 500)
    v, pairs = np.gradient(x, 1 / RATE, axis=-1), drawn(rng, REPEATED, alike)
    found = []
    for devices in pairs:
        force = np.asarray(moved(devices, x[:, 0], v[:, 0])[0]) + NOISE * rng.standard_normal(x[:, 0].shape)
        signals = np.asarray(listening(1.0, x[:, 0], v[:, 0], x[:, 0], force).signals)
        found.append(np.stack([signals[:, -1, 0] / CAPACITY, signals[:, -1, 2]], axis=1))
    return vb.hybrid.likeness_of(*found).mean


def population(name: str, alike: float | None, true: float, count: int, seed: int, late: int = 0) -> dict:
    """Errors (%) of one population, and how often the estimates' ±2σ held the tested device's values."""
    rng, x = np.random.default_rng([seed, 1]), motions(count, seed)
    v = np.gradient(x, 1 / RATE, axis=-1)
    tested, modelled = drawn(rng, count, alike)
    force, share = moved(tested, x[:, 0], v[:, 0])
    truth, _ = moved(modelled, x[:, 1], v[:, 1])
    seen = x[:, 0] + SENSOR * rng.standard_normal(x[:, 0].shape)
    measured = np.roll(np.asarray(force) + NOISE * rng.standard_normal(force.shape), late, axis=1)
    shown = heard_before(alike, seed)
    own = x[:, 1], v[:, 1]
    reading = listening(true, *own, seen, measured)
    end = np.asarray(reading.signals)[:, -1]
    capacity, gap = np.asarray(share)[:, -1] * CAPACITY, np.asarray(tested.gap)
    made = {
        "name": name,
        "likeness": true,
        "shown": shown,
        "not": error(walked_law(*own), truth),
        "handed": error(reading.force, truth),
        "by_shown": error(listening(shown, *own, seen, measured).force, truth),
        "told": error(lawful(tested, *own), truth),
        "own": error(lawful(modelled, *own), truth),
        "held": [
            float(np.mean(np.abs(end[:, i] - right) < 2 * end[:, i + 1])) for i, right in ((0, capacity), (2, gap))
        ],
        "off": [float(np.std(end[:, 0] / capacity - 1)), float(np.std(end[:, 2] / gap - 1))],
        "lag": [1e3 * float(np.median(end[:, 4])), 1e3 * float(np.std(end[:, 4]))],
    }
    print(made, flush=True)
    return made


@eqx.filter_jit
def walked_law(x, v):
    return jax.vmap(lambda x, v: walk(vb.LawDevice(LAW), Motion(x, v), None, 1 / RATE).force)(x, v)


def specimens(count: int) -> dict:
    """Banded dampers in both storeys of a hybrid test: error (%) of force and roof where the second one is a law."""
    rng = np.random.default_rng(11)
    nominal = vb.BandedFrictionDamper(CAPACITY)
    quake = vb.synthetic_motion(1, duration=SECONDS, rate=RATE, pga=6.0)

    def test(tested, modelled):
        return vb.HybridTest(
            vb.ShearBuilding([8.9e3, 9.1e3], [vb.Linear(6e6)] * 2, damping=vb.Modal(0.03)),
            [vb.Experimental(tested, at=0, name="first")],
            [vb.Modelled(modelled, at=1, to=0, name="second", companion="first")],
        )

    known = test(nominal, nominal).run(quake).device("second").select(["displacement", "force"])
    law = vb.calibrate(known, "backlash", rate=256.0, starts=4, checks="none").law
    slip = 0.5 * float(law.slip_positive + law.slip_negative)
    estimator = dataclasses.replace(ESTIMATOR, law=law, capacity=slip, law_error=0.1)
    print(law, flush=True)
    errors = {"not": [], "handed": []}
    for i in range(count):
        capacity, gap, fading = rng.uniform(0.7, 1.3), rng.uniform(0.7, 1.3), rng.uniform(0.0, 0.4)
        near = 1.0 + 0.04 * rng.standard_normal(3)
        one, other = (
            dataclasses.replace(nominal, strength=capacity * a, gap=GAP * gap * b, fading=max(fading * c, 1e-3), seed=s)
            for (a, b, c), s in (((1.0, 1.0, 1.0), 2 * i), (near, 2 * i + 1))
        )
        motion = vb.synthetic_motion(100 + i, duration=SECONDS, rate=RATE, pga=6.0)
        right = test(one, other).run(motion)
        for what, device in (("not", vb.LawDevice(law)), ("handed", vb.hybrid.Listening(estimator, 0.97))):
            made = test(one, device).run(motion)
            force, roof = (
                100 * np.sqrt(np.mean((a - b) ** 2)) / np.ptp(b)
                for a, b in (
                    (made.devices["second.force"], right.devices["second.force"]),
                    (made.displacement("roof"), right.displacement("roof")),
                )
            )
            errors[what].append((force, roof))
    return {what: np.mean(values, axis=0) for what, values in errors.items()}


def main(count: int) -> None:
    began = time.perf_counter()
    alike = population("alike within 4 %", 0.04, 0.97, count, 31)
    late = population("alike, force 12 ms late", 0.04, 0.97, count, 31, round(12e-3 * RATE))
    apart = population("independent", None, 0.0, count, 32)
    loop = specimens(max(count // 6, 2))

    def row(what, measured, target="", met=None, note=""):
        return {"what": what, "measured": measured, "target": target, "met": met, "note": note}

    rows = []
    for made in (alike, late):
        ratio = made["handed"] / made["told"], made["handed"] / made["not"]
        rows.append(row(
            f"{count} pairs, {made['name']}: force of the modelled device, handing over", f"{made['handed']:.2f} %",
            "1.2 × told, 0.5 × not listening", bool(ratio[0] <= 1.2 and ratio[1] <= 0.5),
            f"told {made['told']:.2f} % ({ratio[0]:.2f} ×), not listening {made['not']:.2f} % ({ratio[1]:.2f} ×)",
        ))  # fmt: skip
    shown = alike["by_shown"] / alike["told"]
    rows.append(row(
        f"alike, likeness from tests of {REPEATED} other pairs", f"{alike['by_shown']:.2f} %", "1.2 × told",
        bool(shown <= 1.2), f"{shown:.2f} ×; likeness {alike['shown']:.2f}, true {alike['likeness']:.2f}",
    ))  # fmt: skip
    worse = apart["by_shown"] / apart["not"] - 1
    rows.append(row(
        f"independent, likeness from tests of {REPEATED} other pairs", f"{apart['by_shown']:.2f} %",
        "1.05 × not listening", bool(worse <= 0.05),
        f"not listening {apart['not']:.2f} % ({100 * worse:+.1f} %), told the tested device's values "
        f"{apart['told']:.2f} %; likeness {apart['shown']:.2f}",
    ))  # fmt: skip
    for i, what in enumerate(("capacity", "gap")):
        rows.append(row(
            f"{what} of the tested device at the end: error (standard deviation)", f"{100 * alike['off'][i]:.1f} %",
            note=f"± 2σ held it in {100 * alike['held'][i]:.0f} % of the pairs",
        ))  # fmt: skip
    rows.append(row("lag of a force that is 12 ms late", f"{late['lag'][0]:.1f} ± {late['lag'][1]:.1f} ms",
                    note=f"without a lag {alike['lag'][0]:.1f} ± {alike['lag'][1]:.1f} ms"))  # fmt: skip
    rows.append(row(
        f"{max(count // 6, 2)} pairs of banded dampers in a hybrid test: force; roof",
        f"{loop['handed'][0]:.2f} %; {loop['handed'][1]:.2f} %",
        note=f"not listening {loop['not'][0]:.2f} %; {loop['not'][1]:.2f} %, against the damper itself",
    ))  # fmt: skip
    minutes = (time.perf_counter() - began) / 60
    command = f"python benchmarks/device_listening.py --pairs {count}"
    save(
        "device_listening", f"Listening to a tested device, {minutes:.0f} minutes", command, "2 shared CPU cores", rows
    )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=48)
    main(parser.parse_args().pairs)
