"""Studies: thousands of runs described once, computed in batches, resumed and collected in one dataset."""

from vibrid.studies.axes import Axis
from vibrid.studies.distributions import Distribution, Gaussian, LogNormal, Uniform
from vibrid.studies.engine import Engine, InProcess
from vibrid.studies.intensity import IntensityMeasure
from vibrid.studies.kept import OUTCOMES, Collapse, StoreyDrift
from vibrid.studies.motions import StudyMotion, read_motions
from vibrid.studies.store import open_study
from vibrid.studies.study import Study, study

__all__ = [
    "OUTCOMES",
    "Axis",
    "Collapse",
    "Distribution",
    "Engine",
    "Gaussian",
    "InProcess",
    "IntensityMeasure",
    "LogNormal",
    "StoreyDrift",
    "Study",
    "StudyMotion",
    "Uniform",
    "open_study",
    "read_motions",
    "study",
]
