"""The hysteretic benchmark with a dynamic nonlinearity (Noël & Schoukens 2016): a Bouc–Wen oscillator under a force."""
