"""The layout of a result file: every dataset with its meaning, columns and unit, which are written with it.

`docs/result-files.md` is the description for readers; a test checks that it names every entry.
"""

from __future__ import annotations

import re
from typing import NamedTuple


class Entry(NamedTuple):
    """One dataset of a result file.

    meaning: in words; columns: what its last axis (of a vector: its only one) runs over, one of "parameters",
    "sensors", "excitation", "degrees of freedom", "loads", or nothing; unit: of all its numbers, "as the columns" where
    each column has its own, "" for pure numbers; derived: written for other programs; vibrid computes it again.
    """

    meaning: str
    columns: str = ""
    unit: str = ""
    derived: bool = False


OWN = "as the columns"

LAYOUT: dict[str, Entry] = {
    "parameters/names": Entry("names of the parameters that were identified", derived=True),
    "parameters/units": Entry("units of the parameters; empty for a pure number", derived=True),
    "parameters/estimate": Entry("best values", "parameters", OWN, True),
    "parameters/standard_deviation": Entry("of the estimates; NaN where none is known", "parameters", OWN, True),
    "parameters/interval_95": Entry("rows: lower and upper end of the 95 % interval", "parameters", OWN, True),
    "parameters/samples": Entry("rows: samples of the posterior distribution", "parameters", OWN),
    "parameters/low": Entry("lower bounds; -Inf where there is none", "parameters", OWN),
    "parameters/high": Entry("upper bounds; Inf where there is none", "parameters", OWN),
    "parameters/first_guess": Entry("values from which the method started", "parameters", OWN),
    "parameters/scale": Entry("size of a typical step", "parameters", OWN),
    "parameters/prior_mean": Entry("mean of the prior; NaN where there is none", "parameters", OWN),
    "parameters/prior_deviation": Entry("standard deviation of the prior; NaN: none", "parameters", OWN),
    "parameters/free": Entry("the estimates as free variables of the method", "parameters"),
    "parameters/free_covariance": Entry("covariance of `free`", "parameters"),
    "limits/information": Entry("Fisher information about `free`", "parameters"),
    "limits/bound": Entry("Cramér–Rao bound of the standard deviation", "parameters", OWN),
    "limits/relative_bound": Entry("the bound as a share of the value", "parameters"),
    "limits/correlation": Entry("correlation of the estimates", "parameters"),
    "answers/estimate": Entry("rows: other answers that explain the readings as well", "parameters", OWN),
    "answers/standard_deviation": Entry("rows: of these answers", "parameters", OWN),
    "answers/log_likelihood": Entry("of these answers, minus that of the estimate"),
    "sensors/names": Entry("names of the sensors, in the order of the columns of readings", derived=True),
    "sensors/units": Entry("units of the readings", derived=True),
    "sensors/noise": Entry("standard deviation of the noise of every sensor, given or estimated", "sensors", OWN),
    "history/cost": Entry("cost that the method minimised, step by step"),
    "history/estimate": Entry("rows: estimates step by step, or sample by sample", "parameters", OWN),
    "history/deviation": Entry("rows: standard deviations of these estimates", "parameters", OWN),
    "records/N/step": Entry("time between samples", unit="s", derived=True),
    "records/N/readings": Entry("rows: measured samples; 0 where one is missing", "sensors", OWN),
    "records/N/used": Entry("1 where the sample is present and was fitted, else 0", "sensors"),
    "records/N/scored": Entry("1 where the sample was kept for scoring, else 0", "sensors"),
    "records/N/predicted": Entry("rows: readings predicted by the identified model", "sensors", OWN),
    "records/N/excitation": Entry("rows: samples of the excitation", "excitation", OWN),
    "records/N/shares": Entry("excitation per unit of every unknown load", "loads"),
    "records/N/initial_displacement": Entry("at the first sample", "degrees of freedom", "m or rad"),
    "records/N/initial_velocity": Entry("at the first sample", "degrees of freedom", "m/s or rad/s"),
    "loads/N/time": Entry("of the samples of the estimated loads", unit="s"),
    "loads/N/values": Entry("rows: samples of the estimated loads", "loads", OWN),
    "loads/N/standard_deviation": Entry("of these loads", "loads", OWN),
    "loads/N/noise": Entry("standard deviation of the readings, as used to estimate the loads", "sensors", OWN),
    "loads/N/spread": Entry("standard deviation of the innovations of the loads", "loads", OWN),
    "loads/N/first": Entry("standard deviation of the loads before the record", "loads", OWN),
    "modes/frequencies": Entry("measured frequencies", unit="Hz"),
    "modes/ratios": Entry("measured damping ratios; NaN where none is known"),
    "modes/shapes": Entry("rows: places; measured shapes of unit length, one column for each mode"),
    "modes/poles": Entry("rows: modes; real and imaginary part of their poles", unit="1/s"),
    "modes/complex_shapes": Entry("places, modes, real and imaginary part; where shapes are complex"),
    "modes/frequency_deviations": Entry("standard deviations; NaN where none is known", unit="Hz"),
    "modes/ratio_deviations": Entry("standard deviations of the damping ratios"),
    "modes/shape_deviations": Entry("rows: places; standard deviations of the shapes"),
    "modes/covariances": Entry("of frequency, damping ratio and shape of every mode"),
    "modes/motion": Entry("rows: places; their motion per unit of each degree of freedom"),
    "modes/whitening": Entry("of every mode: the matrix that turns errors of frequency and shape into residuals"),
    "modes/misfit": Entry("squared, whitened residuals of every mode"),
}  # fmt: skip
"""Names of datasets (N: the number of a record, from 0); other names in `history/` are specific to a method."""


def entry_of(name: str) -> Entry:
    """The entry of a dataset by its name."""
    general = re.sub(r"/\d+/", "/N/", name)
    return LAYOUT.get(general) or Entry("history specific to the method, step by step")
