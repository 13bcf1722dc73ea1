"""Ground motions: synthetic ones, targets, scaling, selection and the similitude of model tests."""

from vibrid.core.moved import moved
from vibrid.records.motions.catalogue import Candidate, Catalogue, candidates_from
from vibrid.records.motions.rotated import rotated_spectrum
from vibrid.records.motions.rules import RuleCheck, check_rules
from vibrid.records.motions.scale import ScaledMotion, scale_to_target
from vibrid.records.motions.scenario import scenario_parameters
from vibrid.records.motions.select import Suite, select_suite
from vibrid.records.motions.similitude import Similitude
from vibrid.records.motions.synthetic import synthetic_motion
from vibrid.records.motions.targets import (
    Target,
    asce7_target,
    conditional_mean_target,
    correlation,
    eurocode8_target,
    table_target,
    uniform_hazard_target,
)

__all__ = [
    "Candidate",
    "Catalogue",
    "RuleCheck",
    "ScaledMotion",
    "Similitude",
    "Suite",
    "Target",
    "asce7_target",
    "candidates_from",
    "check_rules",
    "conditional_mean_target",
    "correlation",
    "eurocode8_target",
    "rotated_spectrum",
    "scale_to_target",
    "scenario_parameters",
    "select_suite",
    "synthetic_motion",
    "table_target",
    "uniform_hazard_target",
]


MOVED = {"Scaling": "vibrid.records.motions.ScaledMotion"}


def __getattr__(name: str):
    return moved(__name__, name, MOVED)
