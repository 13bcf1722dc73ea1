"""Frequencies over time

The Morlet wavelet transform of a motion, scaled so that a sine has its amplitude."""

import vibrid as vb

motion = vb.synthetic_motion(key=5, duration=25.0, rate=100.0, pga=3.0)
motion.wavelet().plot().figure.savefig("wavelet.png")
