"""Studies: thousands of runs or fits described once, computed in batches, resumed and collected in one dataset."""

from vibrid.studies.axes import Axis
from vibrid.studies.cluster import Cluster, engine_for
from vibrid.studies.distributions import Distribution, Gaussian, LogNormal, Uniform
from vibrid.studies.engine import Engine, InProcess
from vibrid.studies.fit_study import FitStudy
from vibrid.studies.fits import FIT_OUTCOMES, Fits
from vibrid.studies.fragility import Fragility, annual_rate, demand_hazard, fit_capacities, fit_fragility, fragility
from vibrid.studies.hunt import Hunt
from vibrid.studies.intensity import IntensityMeasure
from vibrid.studies.kept import OUTCOMES, Collapse, StoreyDrift
from vibrid.studies.motions import StudyMotion, read_motions
from vibrid.studies.prediction import response_bands
from vibrid.studies.store import open_study
from vibrid.studies.study import Study, study

__all__ = [
    "FIT_OUTCOMES",
    "OUTCOMES",
    "Axis",
    "Cluster",
    "Collapse",
    "Distribution",
    "Engine",
    "FitStudy",
    "Fits",
    "Fragility",
    "Gaussian",
    "Hunt",
    "InProcess",
    "IntensityMeasure",
    "LogNormal",
    "StoreyDrift",
    "Study",
    "StudyMotion",
    "Uniform",
    "annual_rate",
    "demand_hazard",
    "engine_for",
    "fit_capacities",
    "fit_fragility",
    "fragility",
    "open_study",
    "read_motions",
    "response_bands",
    "study",
]
