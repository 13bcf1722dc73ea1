"""Identify a building with hidden states from a CSV, with a model that may not be quite right.

    python examples/soft_physics.py [test.csv]

The file has a time column, the ground acceleration and, for each floor, displacement, velocity and acceleration (any of
them may be missing, as long as every floor is measured somehow). Without a file, one is simulated: a three-storey
building with additional unmeasured forces on its floors, 5 % noise.
"""

import sys
from pathlib import Path

import numpy as np

import vibrid as vb

FLOORS = 3
QUANTITIES = ("displacement", "velocity", "acceleration")
UNITS = {"displacement": "m", "velocity": "m/s", "acceleration": "m/s^2"}


def building(stiffness: float) -> vb.ShearBuilding:
    """Bouc–Wen storeys, and dashpots whose coefficients grow as they dissipate: two hidden states a storey."""
    return vb.ShearBuilding(
        masses=[1.0] * FLOORS,
        storeys=[vb.BoucWen(stiffness=stiffness, beta=1.5, gamma=1.5)] * FLOORS,
        damping=[vb.Thermostat(initial=1.0, rate=10.0)] * FLOORS,
    )


def simulate_file(path: Path) -> None:
    """Simulate a test file; true values: 45 N/m in every storey, β = γ = 2 and c(0) = 1.5."""
    true_building = building(45.0).replace({"storeys[*].beta": 2.0, "storeys[*].gamma": 2.0, "damping[*].initial": 1.5})
    ground = vb.synthetic_motion(key=0, duration=30.0, rate=100.0, pga=8.0)
    push = 0.1 * np.std(ground.data) * np.random.default_rng(0).standard_normal((len(ground), FLOORS))
    loads = [vb.Channel(f"push_{i}", "load", "N", str(i)) for i in range(FLOORS)]
    both = ground.replace("pushed", data=np.hstack([ground.data, push]), channels=(*ground.channels, *loads))
    floors = range(FLOORS)
    sensors = vb.Sensors(displacement=floors, velocity=floors, acceleration=floors)
    record = vb.simulate(true_building, both, integrator=vb.RungeKutta4(), substeps=10).measure(sensors, noise=0.05)
    names = ["ground", *(f"{q}_{i}" for q in QUANTITIES for i in floors)]
    table = np.column_stack([record.time, *(record[n] for n in names)])
    np.savetxt(path, table, delimiter=",", header=",".join(["time", *names]), comments="")


def read(path: Path) -> vb.Record:
    """Read the CSV and describe its columns; adapt the names to yours."""
    raw = vb.read_record(path, units={n: UNITS.get(n.split("_")[0], "m/s^2") for n in header(path)[1:]})
    channels = [
        vb.Channel("ground", "ground_acceleration")
        if name == "ground"
        else vb.Channel(name, name.split("_")[0], UNITS[name.split("_")[0]], name.split("_")[1])
        for name in raw.names
    ]
    return raw.replace("columns named", channels=tuple(channels))


def header(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n", 1)[0].strip().split(",")


if len(sys.argv) > 1:
    file = Path(sys.argv[1])
else:
    file = Path("soft_physics.csv")
    simulate_file(file)
    print(f"wrote {file}")

unknown = [
    "storeys[*].stiffness",
    vb.Unknown("storeys[*].beta", tied=True),
    vb.Unknown("storeys[*].gamma", tied=True),
    "damping[*].initial",
]
fit = vb.identify(building(40.0), read(file), unknown, vb.WeakCollocation())
print(fit)
print(fit.convergence["sentence"])
print("\nThe same with equations that hold exactly:")
print(vb.identify(building(40.0), read(file), unknown, vb.TrajectoryFit()))
