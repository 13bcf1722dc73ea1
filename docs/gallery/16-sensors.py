"""Where sensors tell most

Bounds of six storey stiffnesses with one to six accelerometers, chosen by their information."""

import matplotlib.pyplot as plt

import vibrid as vb

tower = vb.ShearBuilding([20e3] * 6, [vb.Linear(25e6, 60e3)] * 6)
quake = vb.synthetic_motion(key=1, duration=15.0, rate=100.0, pga=2.0)
candidates = [vb.Sensor("absolute_acceleration", floor, noise=0.02) for floor in range(6)]
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for count in range(1, 6):
    chosen = vb.place_sensors(tower, candidates, count, excitation=quake, unknown=["storeys[*].stiffness"])
    floors = ", ".join(str(sensor.place) for sensor in chosen.sensors)
    ax.semilogy(range(6), 100 * chosen.limits.relative_bound, "o-", label=f"floors {floors}")
ax.set(xlabel="storey", ylabel="bound of its stiffness [%]")
ax.legend()
figure.savefig("sensors.png")
