"""Beyond the paper: a hysteretic storey with an unknown load, and a load that moves."""

from __future__ import annotations

import numpy as np

import vibrid as vb
from vibrid.papers.joint.paper import PAPER, measured, norm_29, norm_largest, percent
from vibrid.papers.paper import Check, Outcome
from vibrid.report import style

STEP, FINER, SAMPLES = 0.01, 10, 2000
TIME = np.arange(SAMPLES) * STEP
TRUE = {"storeys[0].stiffness": 4e5, "storeys[1].stiffness": 4e5, "storeys[2].stiffness": 4e5, "storeys[0].beta": 30.0,
        "storeys[0].gamma": 30.0}  # fmt: skip


def building() -> vb.ShearBuilding:
    """Three floors of 1 t; the first storey yields (Bouc–Wen) at about 17 mm."""
    storeys = [vb.BoucWen(stiffness=4e5, beta=30.0, gamma=30.0), vb.Linear(4e5), vb.Linear(4e5)]
    return vb.ShearBuilding([1000.0] * 3, storeys, damping=vb.Viscous(1500.0))


def history(key: int = 0):
    """N: fifteen sines between 0.3 and 4 Hz under an envelope, at the roof."""
    rng = np.random.default_rng(key)
    waves = zip(rng.uniform(0.3, 4, 15), rng.uniform(500, 2000, 15), rng.uniform(0, 6, 15), strict=True)
    return sum(a * np.sin(2 * np.pi * f * TIME + p) for f, a, p in waves) * np.exp(-(((TIME - 8) / 6) ** 2))


def truth(run):
    fine = np.arange((SAMPLES - 1) * FINER + 1) * STEP / FINER
    load = np.interp(fine, TIME, history())
    record = vb.Record(load, [vb.Channel("load", "load", "N", "2")], step=STEP / FINER, name="roof load")
    return vb.simulate(building(), record, integrator=vb.RungeKutta4())


@PAPER.study("nonlinear", "A Bouc–Wen storey and the load on the roof together, 1 % noise")
def nonlinear(run) -> Outcome:
    sensors = vb.Sensors(acceleration=[0, 1, 2], displacement=[0, 2])
    data = measured(run.once(truth), sensors, FINER, 0.01)
    guess = building().replace(
        {"storeys[0].stiffness": 3e5, "storeys[1].stiffness": 5e5, "storeys[2].stiffness": 5e5}
        | {"storeys[0].beta": 20.0, "storeys[0].gamma": 20.0}
    )
    unknown = ["storeys[*].stiffness", "storeys[0].beta", "storeys[0].gamma", vb.UnknownLoad("2")]
    result = vb.identify(guess, data, unknown, vb.JointLoads(), progress=run.progress)
    error = percent(result.estimate, list(TRUE.values()))
    found = result.loads[0].values[:, 0]
    load, largest = norm_29(found, history()), norm_largest(found, history())
    drift, force = run.once(truth).part("storeys[0]")
    figure = style.new_figure(9.0, 3.2)
    left, right = figure.subplots(1, 2, width_ratios=(2, 1))
    result.loads[0].plot(left, reference=history())
    right.plot(1e3 * drift, force / 1e3, color=style.INK, lw=0.7)
    right.set(xlabel="drift of the first storey [mm]", ylabel="force [kN]")
    rows = [
        {"": n, "true": t, "found": float(v), "error (%)": float(e), "bound (%)": float(100 * b)}
        for (n, t), v, e, b in zip(TRUE.items(), result.estimate, error, result.limits.relative_bound, strict=True)
    ]
    return Outcome(
        rows,
        [
            Check("largest error of a stiffness", f"{error[:3].max():.2g} %", "≤ 3 %", bool(error[:3].max() <= 3)),
            Check("error of the load (Eq. 29)", f"{load:.2g} %", "≤ 10 %", load <= 10),
            Check("largest error of the load over time, of its peak", f"{largest:.2g} %"),
        ],
        f"Gauss–Newton about the motion inside, variable projection outside: {result.convergence['iterations']} "
        f"iterations, {result.seconds:.0f} s with compilation. Data from a ten times finer Runge–Kutta step.",
        figure,
    )


def crossing():
    """A simple beam of 20 m, a vehicle of 15 t that crosses at 15 m/s and bounces."""
    bridge = vb.Beam(
        np.linspace(0, 20, 11),
        modulus=33e9,
        area=1.2,
        inertia=0.12,
        density=2500.0,
        supports={0: "pinned", 10: "roller"},
        damping=vb.Modal([0.02]),
        axial=False,
    )
    step = 0.005
    time = np.arange(320) * step
    load = -15e3 * 9.81 * (1 + 0.15 * np.sin(2 * np.pi * 3.0 * time))
    return bridge, time, load, 15.0 * (time - 0.1)


@PAPER.study("moving", "A vehicle that crosses a bridge: its weight on the axle and the bridge's stiffness")
def moving(run) -> Outcome:
    bridge, time, load, x = crossing()
    step, finer = float(time[1] - time[0]), 10
    fine = np.arange((len(time) - 1) * finer + 1) * step / finer
    places = bridge.lateral_places()
    columns = np.stack([bridge.row(p) for p in places])
    nodal = (bridge.rows_at(np.interp(fine, time, x)) @ columns.T) * np.interp(fine, time, load)[:, None]
    channels = [vb.Channel(p, "load", "N" if p.endswith("lateral") else "N m", p) for p in places]
    response = vb.simulate(bridge, vb.Record(nodal, channels, step=step / finer, name="crossing"))
    sensors = vb.Sensors(displacement=["3", "5"], acceleration=["5", "7"], strain=["x=10,z=0.5"])
    data = measured(response, sensors, finer, 0.01)
    unknown = [vb.Unknown("modulus", name="E"), vb.UnknownLoad("vehicle", speed=15.0, enters=0.1)]
    result = vb.identify(bridge.replace({"modulus": 25e9}), data, unknown, vb.JointLoads(penalty="difference"))
    axle, on = result.loads[0].values[:, 0], (x > 1.0) & (x < 19.0)
    row = {
        "error of E (%)": float(percent(result.estimate, [33e9])[0]),
        "error of the axle load, 1 m from the ends on (%)": norm_29(axle[on], load[on]),
        "largest over time (%)": norm_largest(axle[on], load[on]),
    }
    ax = style.new_axes(8.0, 3.0)
    ax.plot(time, load / 1e3, color=style.TRUTH, lw=2, label="true")
    ax.plot(time, axle / 1e3, color=style.PREDICTED, lw=1, label="found")
    ax.set(xlabel="time [s]", ylabel="axle load [kN]")
    for edge in (0.0, 20.0):
        ax.axvline(0.1 + edge / 15.0, color=style.INK, ls=":", lw=0.8)
    ax.legend()
    return Outcome(
        [row],
        note="1 % noise; position known in time; dotted: the vehicle enters and leaves.",
        figure=ax.figure,
    )
