"""The rehearsal of a hybrid test before a specimen is moved, and the judgement of a finished one."""

from vibrid.hybrid.rehearsal.energy import energy_error, input_energy
from vibrid.hybrid.rehearsal.judgement import Criteria, Judgement, Readiness, judge
from vibrid.hybrid.rehearsal.loop import Crossing, LinearLoop, Pole, linear_loop
from vibrid.hybrid.rehearsal.rehearse import Margin, Rehearsal, Variant, rehearse
from vibrid.hybrid.rehearsal.scatter import Scatter

__all__ = [
    "Criteria",
    "Crossing",
    "Judgement",
    "LinearLoop",
    "Margin",
    "Pole",
    "Readiness",
    "Rehearsal",
    "Scatter",
    "Variant",
    "energy_error",
    "input_energy",
    "judge",
    "linear_loop",
    "rehearse",
]
