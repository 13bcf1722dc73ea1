"""Response spectra

Pseudo-acceleration of three synthetic motions, exact for an acceleration that is linear between samples."""

import matplotlib.pyplot as plt
import numpy as np

import vibrid as vb

periods = np.geomspace(0.05, 4.0, 120)
figure, ax = plt.subplots(figsize=(7, 3.5), layout="constrained")
for key in (1, 2, 3):
    motion = vb.synthetic_motion(key=key, duration=25.0, rate=200.0, pga=3.0)
    spectrum = motion.spectrum(periods, damping=0.05)
    ax.semilogx(periods, spectrum.pseudo_acceleration, label=f"motion {key}")
ax.set(xlabel="period [s]", ylabel="pseudo-acceleration [m/s²]")
ax.legend()
figure.savefig("spectra.png")
