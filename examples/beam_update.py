"""Model updating: identify a spring that was added at the tip of a beam.

    python examples/beam_update.py

The linear beam is known from an earlier test. After something was attached to its tip, it is struck three times and the
motion of its ten nodes is recorded. Here the records are simulated; with your own data, read them instead:

    records = [vb.read_record(f"hit_{i}.csv") for i in (1, 2, 3)]
"""

import numpy as np

import vibrid as vb

# The beam as it was: geometry, material, damping from the earlier test.
width, thickness, length = 0.05, 0.008, 1.2
beam = vb.Beam(
    np.linspace(0, length, 11),
    modulus=70e9,
    area=width * thickness,
    inertia=width * thickness**3 / 12,
    density=2700,
    damping=vb.Modal([0.01, 0.008, 0.006]),
    attachments=[vb.Attachment(vb.Polynomial([0.0, 0.0, 0.0]), at="tip")],  # unknown: k1 x + k2 x² + k3 x³
    axial=False,
)
points = [f"{i}.lateral" for i in range(1, 11)]  # where the sensors are
model = vb.reduce(beam, points)  # Guyan reduction to the measured degrees of freedom


def hit(newton: float) -> vb.Record:
    """An impact of 4 ms at the tip, one second at 4 kHz."""
    time = np.arange(0, 1.0, 1 / 4000)
    force = np.where(time < 0.004, newton * np.sin(np.pi * time / 0.004), 0.0)
    return vb.Record(force, [vb.Channel("hammer", "load", location="tip")], step=1 / 4000, name=f"{newton:g} N")


# Simulated measurements: the full beam with its spring, 0.2 % noise.
added = beam.replace({"attachments[0].law.coefficients": [2000.0, 0.0, 4e6]})
sensors = vb.Sensors(displacement=points, velocity=points, acceleration=points)
settings = {"integrator": vb.RungeKutta4(), "substeps": 16}
records = [
    vb.simulate(added, hit(newton), **settings).measure(sensors, noise=0.002, key=i)
    for i, newton in enumerate((150.0, 75.0, 220.0))
]

# The first record is for training, the others for validation.
method = vb.SIVA(epochs=150)
spring = ["full.attachments[0].law.coefficients"]
fit = vb.identify(model, records, spring, method, integrator=vb.RungeKutta4(), substeps=8)
print(fit)
plain = vb.identify(model, records, spring, vb.LeastSquares(), integrator=vb.RungeKutta4(), substeps=8)
print("least squares:", ", ".join(f"{k:.5g}" for k in plain.estimate))

# Prediction with the updated full beam, for an impact that was not measured.
updated = fit.structure.full
predicted, true = (vb.simulate(b, hit(300.0), **settings).displacement @ beam.row("tip") for b in (updated, added))
print(f"300 N, first 0.2 s: {100 * np.linalg.norm((predicted - true)[:800]) / np.linalg.norm(true[:800]):.2f} % off")
