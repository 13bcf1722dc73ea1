"""A device model against its test

A virtual friction damper with backlash in a test, and a LuGre law with the numbers of one sine test moved in the
same way."""

import matplotlib.pyplot as plt
import numpy as np

import vibrid as vb

t = np.arange(0.0, 8.0, 1 / 1024)
x = 0.01 * np.minimum(1.0, t / 3.0) * np.sin(2 * np.pi * 1.1 * t) + 0.004 * np.sin(2 * np.pi * 2.7 * t)
channels = [vb.Channel("x", "imposed_displacement"), vb.Channel("v", "imposed_velocity")]
motion = vb.Record(np.column_stack([x, np.gradient(x, t)]), channels, step=1 / 1024)
test = vb.impose(vb.BandedFrictionDamper(), motion)
law = vb.LuGre(6.44e6, 29.6e3, 22.9e3, 19.8e3, 24.4e3, 21.9e3, 0.025)
model = vb.impose(vb.LawDevice(law), motion)
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for record, name in ((test, "test"), (model, "LuGre law")):
    left.plot(1e3 * record["displacement"], 1e-3 * record["force"], label=name, linewidth=0.8)
    right.plot(record.time, 1e-3 * record["force"], label=name, linewidth=0.8)
left.set(xlabel="displacement [mm]", ylabel="force [kN]")
right.set(xlabel="time [s]", xlim=(4, 6))
left.legend()
figure.savefig("device.png")
