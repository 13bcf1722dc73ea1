"""Do intervals hold on data as they are? Fits of data from simulators that no method uses, row by row.

    python benchmarks/trust.py --part quick                    # ten minutes
    python benchmarks/trust.py --progress fits.jsonl           # all rows; goes on where it stopped
    python benchmarks/trust.py --row white --row "AR 0.6" --fits 40
    python benchmarks/trust.py --share 2/8 --progress fits-2.jsonl   # an eighth of the fits; then join the files

Finished shares are joined by giving all their lines in one file of `--progress`.

Every row is one kind of noise or fault, spread over problems that are drawn by `--seed`. A row passes when the 99 %
binomial interval of its coverage meets 93 to 97 %, or when the answers name the reason. Where they name noise of the
measured excitation, a delay or a gain, the intervals of the repaired fit are counted; of a sensor out of its axis those
of a fit in which the gains are known to 0.5 %, where the answer says that calibration matters.
"""

from __future__ import annotations

import argparse
import json
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import scipy.interpolate
import scipy.linalg
import scipy.signal
from trust_lines import Lines, coverage, share

import vibrid as vb

STEP, SAMPLES = 0.01, 1500
NOT_CLEAN = ("measured input", "wrong")
"""Words of rows in which something is wrong, so that an alarm is right; the others have noise of some kind only."""
NO_ALARM = "hold"
"""What is true of every record: two assumptions about the input between its samples give different answers."""


@dataclass(frozen=True)
class Case:
    """A structure to identify, and its true readings under a ground motion."""

    name: str
    guess: vb.ShearBuilding
    unknown: list
    true: np.ndarray
    ground: np.ndarray
    clean: np.ndarray  # (samples, sensors)
    floors: tuple[int, ...]


def shaking(rng, pga: float, top: float = 12.0) -> np.ndarray:
    """Filtered noise with the rise and decay of an earthquake."""
    noise = rng.standard_normal(SAMPLES + 400)
    motion = scipy.signal.sosfilt(scipy.signal.butter(2, [0.5, top], "band", fs=1 / STEP, output="sos"), noise)[400:]
    share = np.arange(SAMPLES) / SAMPLES
    motion *= np.minimum(1, (share / 0.15) ** 2) * np.exp(-np.maximum(0, share - 0.5) / 0.15)
    return pga * motion / np.abs(motion).max()


def chain(values) -> np.ndarray:
    """Matrix of springs or dashpots one above another."""
    matrix = np.diag(np.asarray(values) + np.append(values[1:], 0.0))
    return matrix - np.diag(values[1:], 1) - np.diag(values[1:], -1)


def linear_accelerations(masses, stiffness, damping, ground, fine: int = 1) -> np.ndarray:
    """Absolute accelerations by the exponential of the state matrix; straight lines between (resampled) inputs."""
    n, step = len(masses), STEP / fine
    if fine > 1:  # truly band-limited between the samples
        ground = scipy.signal.resample(np.concatenate([ground, np.zeros_like(ground)]), 2 * fine * len(ground))
        ground = ground[: fine * SAMPLES]
    dashpots = damping if np.ndim(damping) == 2 else chain(damping)
    forces = -np.hstack([chain(stiffness), dashpots]) / np.asarray(masses)[:, None]
    system = np.zeros((2 * n + 2, 2 * n + 2))
    system[:n, n : 2 * n], system[n : 2 * n, : 2 * n] = np.eye(n), forces
    system[n : 2 * n, 2 * n], system[2 * n, 2 * n + 1] = -1.0, 1.0 / step
    e = scipy.linalg.expm(system * step)[: 2 * n]
    states = np.zeros((len(ground), 2 * n))
    for i, slope in enumerate(np.diff(ground)):
        states[i + 1] = e[:, : 2 * n] @ states[i] + e[:, 2 * n] * ground[i] + e[:, 2 * n + 1] * slope
    return (states @ forces.T)[::fine]


def between(ground: np.ndarray, fine: int, band_limited: bool) -> np.ndarray:
    """The input at fine steps: on straight lines between its samples, or band-limited."""
    if not band_limited:
        return np.interp(np.arange(fine * (len(ground) - 1) + 1) / fine, np.arange(len(ground)), ground)
    doubled = np.concatenate([ground, np.zeros_like(ground)])
    return scipy.signal.resample(doubled, fine * len(doubled))[: fine * (len(ground) - 1) + 1]


def hysteretic_accelerations(
    masses, stiffness, damping, beta, gamma, ground, fine: int = 16, band_limited: bool = False
) -> np.ndarray:
    """Absolute accelerations of Bouc–Wen storeys by Heun's method with Richardson's extrapolation of fine steps."""
    masses, stiffness = np.asarray(masses, float), np.asarray(stiffness, float)
    n, step, path = len(masses), STEP / fine, between(ground, fine, band_limited)

    def rate(state, u):
        v, z = state[n : 2 * n], state[2 * n :]
        dv = np.diff(v, prepend=0.0)
        force = stiffness * z + damping * dv
        absolute = (np.append(force[1:], 0.0) - force) / masses
        grown = dv - beta * np.abs(dv) * z - gamma * dv * np.abs(z)
        return np.concatenate([v, absolute - u, grown]), absolute

    def heun(state, u0, u1, h):
        first = rate(state, u0)[0]
        return state + 0.5 * h * (first + rate(state + h * first, u1)[0])

    state, found = np.zeros(3 * n), np.zeros((len(ground), n))
    for i in range(len(ground) - 1):
        for j in range(fine):
            u0, u1 = path[fine * i + j : fine * i + j + 2]
            half = heun(heun(state, u0, 0.5 * (u0 + u1), 0.5 * step), 0.5 * (u0 + u1), u1, 0.5 * step)
            state = half + (half - heun(state, u0, u1, step)) / 3.0
        found[i + 1] = rate(state, 0.0)[1]
    return found


def linear_case(seed: int, band_limited: bool = False) -> Case:
    """Two to four storeys, one or more of them without a sensor."""
    rng = np.random.default_rng([1, seed])
    n = int(rng.integers(2, 5))
    floors = tuple(sorted({n - 1, *rng.choice(n, max(n - 1, 2), replace=False).tolist()}))
    masses, stiffness = [20e3] * n, rng.uniform(14e6, 30e6, n)
    damping = rng.uniform(50e3, 150e3)
    ground = shaking(rng, 3.0)
    clean = linear_accelerations(masses, stiffness, np.full(n, damping), ground, 16 if band_limited else 1)
    guess = vb.ShearBuilding(masses, [vb.Linear(20e6)] * n, damping=vb.Viscous(100e3))
    unknown = ["storeys[*].stiffness", "damping.damping"]
    return Case(f"linear {n}", guess, unknown, np.append(stiffness, damping), ground, clean[:, list(floors)], floors)


def damped_case(seed: int) -> Case:
    """Three storeys whose modes all have one damping ratio; the model has Rayleigh's damping, right for the first mode
    and the third."""
    rng = np.random.default_rng([4, seed])
    masses, stiffness, ratio = [20e3] * 3, rng.uniform(14e6, 30e6, 3), rng.uniform(0.02, 0.04)
    squares, shapes = scipy.linalg.eigh(chain(stiffness), np.diag(masses))
    frequencies = np.sqrt(squares)
    damping = np.diag(masses) @ shapes @ np.diag(2 * ratio * frequencies) @ shapes.T @ np.diag(masses)
    form = vb.structures.RayleighRatio(0.03, (frequencies[[0, 2]] / (2 * np.pi)).tolist())
    ground = shaking(rng, 3.0)
    clean = linear_accelerations(masses, stiffness, damping, ground)
    guess = vb.ShearBuilding(masses, [vb.Linear(20e6)] * 3, damping=form)
    unknown = ["storeys[*].stiffness", "damping.ratio"]
    return Case("damping of modes", guess, unknown, np.append(stiffness, ratio), ground, clean, (0, 1, 2))


def five_storeys(seed: int) -> Case:
    """Five storeys, two accelerometers."""
    rng = np.random.default_rng([5, seed])
    masses, stiffness, damping = [20e3] * 5, rng.uniform(20e6, 40e6, 5), rng.uniform(80e3, 150e3)
    ground = shaking(rng, 3.0)
    clean = linear_accelerations(masses, stiffness, np.full(5, damping), ground)[:, [1, 4]]
    guess = vb.ShearBuilding(masses, [vb.Linear(30e6)] * 5, damping=vb.Viscous(100e3))
    unknown = ["storeys[*].stiffness", "damping.damping"]
    return Case("five storeys", guess, unknown, np.append(stiffness, damping), ground, clean, (1, 4))


def hysteretic_case(seed: int, band_limited: bool = False) -> Case:
    rng = np.random.default_rng([2, seed])
    n = 2
    stiffness, damping = rng.uniform(14e6, 24e6, n), rng.uniform(60e3, 120e3)
    beta, gamma = rng.uniform(40, 90, 2)
    ground = shaking(rng, rng.uniform(3.0, 5.0))
    clean = hysteretic_accelerations([20e3] * n, stiffness, damping, beta, gamma, ground, band_limited=band_limited)
    guess = vb.ShearBuilding([20e3] * n, [vb.BoucWen(18e6, beta=50.0, gamma=50.0)] * n, damping=vb.Viscous(100e3))
    tied = [vb.Unknown(f"storeys[*].{name}", tied=True) for name in ("beta", "gamma")]
    true = np.array([*stiffness, beta, gamma, damping])
    return Case("hysteretic 2", guess, ["storeys[*].stiffness", *tied, "damping.damping"], true, ground, clean, (0, 1))


def stiff_case(seed: int) -> Case:
    """Strong hysteresis, for which one step per sample is too long."""
    rng = np.random.default_rng([3, seed])
    stiffness, damping = rng.uniform(16e6, 24e6, 2), rng.uniform(60e3, 120e3)
    beta, gamma = rng.uniform(300, 500), rng.uniform(150, 250)
    ground = shaking(rng, 6.0)
    clean = hysteretic_accelerations([20e3] * 2, stiffness, damping, beta, gamma, ground)
    guess = vb.ShearBuilding([20e3] * 2, [vb.BoucWen(18e6, beta=300.0, gamma=150.0)] * 2, damping=vb.Viscous(100e3))
    tied = [vb.Unknown(f"storeys[*].{name}", tied=True) for name in ("beta", "gamma")]
    true = np.array([*stiffness, beta, gamma, damping])
    return Case(
        "hysteretic, strong", guess, ["storeys[*].stiffness", *tied, "damping.damping"], true, ground, clean, (0, 1)
    )


def white(case: Case, rng, level: float = 0.05) -> np.ndarray:
    return level * case.clean.std(axis=0) * rng.standard_normal(case.clean.shape)


def autoregressive(share: float) -> Callable:
    def noise(case: Case, rng) -> np.ndarray:
        long = rng.standard_normal((SAMPLES + 500, case.clean.shape[1]))
        made = scipy.signal.lfilter([np.sqrt(1 - share**2)], [1, -share], long, axis=0)[500:]
        return 0.05 * case.clean.std(axis=0) * made

    return noise


def filtered(corner: float) -> Callable:
    def noise(case: Case, rng) -> np.ndarray:
        long = rng.standard_normal((SAMPLES + 500, case.clean.shape[1]))
        made = scipy.signal.sosfilt(scipy.signal.butter(8, corner, output="sos"), long, axis=0)[500:]
        return 0.05 * case.clean.std(axis=0) * made / np.sqrt(corner)

    return noise


def proportional(case: Case, rng) -> np.ndarray:
    return white(case, rng) * (np.abs(case.clean) / case.clean.std(axis=0) + 0.02)


def bursts(case: Case, rng) -> np.ndarray:
    size = np.ones((SAMPLES, 1))
    for start in rng.integers(0, SAMPLES - 60, 5):
        size[start : start + 60] = 8.0
    return white(case, rng) * size


def late(case: Case, rng) -> np.ndarray:
    """One channel is late by 2 ms."""
    made, channel, t = white(case, rng), int(rng.integers(case.clean.shape[1])), STEP * np.arange(SAMPLES)
    y = case.clean[:, channel]
    made[:, channel] += scipy.interpolate.CubicSpline(t, y)(np.maximum(t - 2e-3, 0.0)) - y
    return made


def turned(case: Case, rng) -> np.ndarray:
    """The axis of one sensor is 5° off: it reads the cosine."""
    made, channel = white(case, rng), int(rng.integers(case.clean.shape[1]))
    made[:, channel] += (np.cos(np.radians(5.0)) - 1.0) * case.clean[:, channel]
    return made


def outliers(case: Case, rng) -> np.ndarray:
    return white(case, rng) * np.where(rng.random(case.clean.shape) < 0.01, 10.0, 1.0)


def _low(case: Case, rng) -> np.ndarray:
    return white(case, rng, 0.02)


@dataclass(frozen=True)
class Row:
    name: str
    case: Callable[[int], Case]
    noise: Callable
    quick: bool = False
    excitation: float = 0.0  # noise of the measured excitation, over its standard deviation
    method: str | None = None
    repaired: tuple[str, ...] = ("input noise",)  # findings after which the repaired result is counted
    calibration: float = 0.0  # what is known of the gains: counted as unknowns with this prior where the answer asks


ROWS = [
    Row("linear, white", linear_case, white, True),
    *(Row(f"linear, AR {a:g}", linear_case, autoregressive(a), a == 0.6) for a in (0.2, 0.4, 0.6, 0.9)),
    *(Row(f"linear, anti-alias {c:g}", linear_case, filtered(c), c == 0.5) for c in (0.5, 0.2)),
    Row("linear, proportional", linear_case, proportional, True),
    Row("linear, bursts", linear_case, bursts),
    Row("linear, outliers", linear_case, outliers),
    Row("linear, band-limited input", lambda seed: linear_case(seed, True), _low, True),
    *(Row(f"linear, measured input {100 * a:g} %", linear_case, _low, a == 0.05, a) for a in (0.02, 0.05)),
    Row("hysteretic, white", hysteretic_case, lambda c, rng: white(c, rng, 0.03)),
    Row("hysteretic, AR 0.6", hysteretic_case, autoregressive(0.6)),
    Row("hysteretic, anti-alias 0.5", hysteretic_case, filtered(0.5)),
    Row("hysteretic, proportional", hysteretic_case, proportional),
    Row("hysteretic, time step", stiff_case, _low),
    *(Row(f"hysteretic, measured input {100 * a:g} %", hysteretic_case, _low, False, a) for a in (0.02, 0.05)),
    Row("hysteretic, band-limited input", lambda seed: hysteretic_case(seed, True), _low),
    Row("wrong: one channel late by 2 ms", linear_case, late, repaired=("delay",)),
    Row("wrong: a sensor's axis 5° off", linear_case, turned, repaired=("gain",), calibration=0.005),
    Row("wrong: damping of modes", damped_case, _low),
    Row("ekf, five storeys, two accelerometers", five_storeys, white, method="ekf"),
]


def identified(case: Case, readings: np.ndarray, ground: np.ndarray | None = None, **options: str) -> vb.Identification:
    """The result of measured readings; `ground` is the excitation as measured, `options` those of `vb.identify`."""
    sensors = vb.Sensors(absolute_acceleration=list(case.floors))
    channels = [vb.Channel("ground", "ground_acceleration", direction="x"), *sensors.channels()]
    inputs = case.ground if ground is None else ground
    record = vb.Record(np.column_stack([inputs, readings]), channels, step=STEP)
    return vb.identify(case.guess, record, case.unknown, sensors=sensors, **options)


def one_fit(row: Row, case: Case, seed: int) -> dict:
    """One noise, one fit: whether each 95 % interval holds, the errors in standard deviations, and what was said."""
    rng = np.random.default_rng([9, zlib.crc32(row.name.encode()), seed])  # rows are independent
    readings = case.clean + row.noise(case, rng)
    ground = case.ground + row.excitation * case.ground.std() * rng.standard_normal(SAMPLES)
    started = time.perf_counter()
    fit = identified(case, readings, ground, method=row.method)
    first, said = fit, {finding.name for finding in fit.checks}
    if said & set(row.repaired):  # the answer names the reason; what the repair gives is counted
        fit = fit.repair()
    elif row.calibration and any("sensitivity of" in note for note in fit.warnings):
        said.add("calibration")
        gains = vb.Unknown("sensors[*].gain", prior=(1.0, row.calibration))
        fit = identified(replace(case, unknown=[*case.unknown, gains]), readings, ground)
    count = len(case.true)  # a repair adds unknowns
    (low, high), (early_low, early_high) = fit.interval(0.95)[:count].T, first.interval(0.95).T
    return {
        "row": row.name,
        "seed": seed,
        "case": case.name,
        "inside": ((low <= case.true) & (case.true <= high)).tolist(),
        "inside_at_first": ((early_low <= case.true) & (case.true <= early_high)).tolist(),
        "errors": ((fit.estimate[:count] - case.true) / fit.deviation[:count]).round(3).tolist(),
        "fits": bool(first.model_fits),
        "alarms": sorted(f.name for f in first.checks if f.verdict != "known"),
        "said": sorted(said),
        "seconds": round(time.perf_counter() - started, 2),
    }


def summary(row: Row, fits: list[dict]) -> dict:
    """The coverage of a row, also before the repair; the fits with an alarm, and those that say that the input between
    its samples matters."""
    before = np.concatenate([f["inside_at_first"] for f in fits])
    return coverage(row.name, fits) | {
        "coverage_before_repair": round(float(np.mean(before)), 4),
        "with_an_alarm": sum(any(a != NO_ALARM for a in f["alarms"]) or not f["fits"] for f in fits),
        "input_between_samples_matters": sum(NO_ALARM in f["alarms"] for f in fits),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("quick", "all"), default="all")
    parser.add_argument("--row", action="append", help="only rows whose name contains this")
    parser.add_argument("--fits", type=int, help="fits of a row (200; quick 40)")
    parser.add_argument("--cases", type=int, default=10, help="problems of a row")
    parser.add_argument("--seed", type=int, default=0, help="first problem")
    parser.add_argument(
        "--share", type=share, default=(1, 1), help="k/n: the k-th of n parts of all fits; no table is made"
    )
    parser.add_argument("--progress", type=Path, help="finished fits, one a line; they are not made again")
    parser.add_argument("--output", type=Path, help="write the table as JSON")
    parser.add_argument("--machine", default="", help="the machine in general words")
    given = parser.parse_args()
    wanted = given.fits or (40 if given.part == "quick" else 200)
    rows = [r for r in ROWS if r.quick or given.part == "all"]
    rows = [r for r in rows if not given.row or any(part in r.name for part in given.row)]
    (part, parts), done = given.share, Lines(given.progress, ("row", "seed"))
    table = []
    for place, row in enumerate(rows):
        seeds = [given.seed + number for number in range(given.cases * (wanted // given.cases))]
        for number in range(given.cases):  # a problem of a row belongs to one share: its programs are compiled once
            if (place * given.cases + number + 1) % parts != part % parts:
                continue
            case = row.case(given.seed + number)
            for seed in seeds[number :: given.cases]:
                if (row.name, seed) not in done.done:
                    done.add(one_fit(row, case, seed))
        if parts == 1:
            table.append(summary(row, [done.done[row.name, seed] for seed in seeds]))
            print(json.dumps(table[-1]), flush=True)
    if given.output and parts == 1:
        clean = [r for r in table if not any(word in r["row"] for word in NOT_CLEAN)]
        alarms = {"fits": sum(r["fits"] for r in clean), "with_an_alarm": sum(r["with_an_alarm"] for r in clean)}
        content = {"machine": given.machine, "seed": given.seed, "clean_rows": alarms, "rows": table}
        given.output.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
