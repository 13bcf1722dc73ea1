"""A load that was not measured

A hammer blow on a cantilever, found from an accelerometer and a displacement, with its band."""

import numpy as np

import vibrid as vb

beam = vb.Beam(np.linspace(0, 2.0, 5), 70e9, 1e-3, 2e-8, 2700.0, damping=vb.Rayleigh(0.5, 1e-5), axial=False)
t = np.arange(0.0, 0.6, 1e-3)
hit = 50.0 * np.exp(-(((t - 0.3) / 0.02) ** 2))
load = vb.Record(hit[:, None], [vb.Channel("hammer", "load", location="tip")], step=1e-3)
data = vb.simulate(beam, load).measure(vb.Sensors(absolute_acceleration=["2"], displacement=["tip"]), noise=0.02, key=1)
measured = data.select([name for name in data.names if name != "hammer"])
vb.find_loads(beam, measured, [vb.UnknownLoad("tip")]).plot().figure.savefig("load.png")
