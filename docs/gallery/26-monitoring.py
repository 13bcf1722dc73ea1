"""Watching a structure

Frequencies of 1000 hours that follow the temperature; a storey loses 1 % after 800, and the chart says when it is
sure."""

import matplotlib.pyplot as plt
import numpy as np

import vibrid as vb

rng = np.random.default_rng(1)
warm = 10 + 8 * np.sin(2 * np.pi * np.arange(1000) / 24) + rng.standard_normal(1000)
logs = np.log([1.4, 4.1, 6.5]) - 1e-3 * warm[:, None] + 1e-3 * rng.standard_normal((1000, 3))
logs[800:] += [-2e-3, -1e-4, -1e-3]
hours = np.datetime64("2025-01-01") + np.arange(1000) * np.timedelta64(1, "h")
names = ("mode 1", "mode 2", "mode 3")
series = vb.monitor.Series(hours, names, np.exp(logs), 1e-3 * np.exp(logs), warm[:, None], ("temperature",))
baseline = vb.monitor.learn(series.part(slice(0, 500)))
reading = vb.monitor.Chart(false_alarms=0.1, horizon=8766).judge(baseline, series.part(slice(500, None)))
figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
ax.plot(np.exp(logs[:, 0]), ".", markersize=2, label="first frequency")
ax.axvline(800, color="#009e73", label="change")
ax.axvline(500 + reading.first, color="#d55e00", label="alarm")
ax.set(xlabel="window [h]", ylabel="frequency [Hz]")
figure.legend(loc="outside upper right", ncols=3)
figure.savefig("monitoring.png")
