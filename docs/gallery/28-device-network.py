"""A device network against a test

A small network is trained on five tests of a virtual friction damper with backlash; here it meets a sixth one, which
it has not seen, from its motion alone. A short training, to show how: [device networks](../device-networks.md) take
minutes."""

import matplotlib.pyplot as plt
import numpy as np

import vibrid as vb
from vibrid.hybrid.learned import Recipe, device_test, train_models
from vibrid.hybrid.learned.recipes import forces


def test(key):
    t = np.arange(0.0, 6.0, 1 / 1024)
    sizes, rates = np.random.default_rng(key).uniform([[0.2], [0.6]], [[1.0], [3.5]], (2, 4))
    x = 0.01 * np.minimum(1.0, t) * (sizes @ np.sin(2 * np.pi * np.outer(rates, t))) / 2
    channels = [vb.Channel("x", "imposed_displacement"), vb.Channel("v", "imposed_velocity")]
    motion = vb.Record(np.column_stack([x, np.gradient(x, t)]), channels, step=1 / 1024)
    return device_test(vb.impose(vb.BandedFrictionDamper(), motion), None, 23e3, 256.0)


unseen = test(9)
recipe = Recipe(network="resonant", uses_companion=False, epochs=40, seeds=1)
model = train_models(recipe, [test(key) for key in range(5)], [unseen])[0].model
figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
for force, name in ((unseen.force, "test"), (forces(model, [unseen])[0], "network")):
    left.plot(1e3 * unseen.x, 1e-3 * force, label=name, linewidth=0.8)
    right.plot(np.arange(len(force)) / 256.0, 1e-3 * force, label=name, linewidth=0.8)
left.set(xlabel="displacement [mm]", ylabel="force [kN]")
right.set(xlabel="time [s]", xlim=(3, 5))
left.legend()
figure.savefig("network.png")
