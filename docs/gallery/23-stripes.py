"""Stripes

The largest storey drifts of ten motions at five levels of intensity, with median and quantiles."""

import vibrid as vb
from vibrid.report.study_plots import plot_stripes

storey = vb.BoucWen(20e6, 60.0, 60.0, post_yield_ratio=0.02)
building = vb.ShearBuilding([20e3] * 3, [storey] * 3, damping=vb.Viscous(80e3))
suite = [vb.synthetic_motion(key=i, duration=12.0, rate=100.0, name=f"motion {i}") for i in range(10)]
levels = [10.0, 15.0, 20.0, 25.0, 30.0]
study = vb.study(building, suite, levels=levels, intensity="sa", collapse=vb.studies.Collapse(drift=0.12))
plot_stripes(study.run("ida"), "peak_storey_drift").figure.savefig("stripes.png")
