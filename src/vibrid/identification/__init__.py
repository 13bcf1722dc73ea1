"""Identification: the problem, the result, identifiability, and one method per file."""

from typing import TYPE_CHECKING

from vibrid.identification import methods
from vibrid.identification.archive import load_identification
from vibrid.identification.calibrate import Calibration, calibrate
from vibrid.identification.compare import Comparison, compare
from vibrid.identification.cyclic import CyclicFit, fit_cyclic
from vibrid.identification.cyclic_comparison import CyclicComparison, compare_cyclic
from vibrid.identification.cyclic_tests import as_cyclic_test
from vibrid.identification.identify import identify
from vibrid.identification.loads.estimate import LoadEstimate
from vibrid.identification.loads.find import find_loads
from vibrid.identification.loads.unknown_load import UnknownLoad
from vibrid.identification.method import METHODS, Method, Sample, Sequential
from vibrid.identification.modal_result import ModalIdentification
from vibrid.identification.prediction import Prediction
from vibrid.identification.problem import make_problem
from vibrid.identification.quantities import Quantity
from vibrid.identification.result import Identification, Validation
from vibrid.identification.sensor_placement import Placement, place_sensors
from vibrid.identification.unknowns import Unknown

if TYPE_CHECKING:
    from vibrid.identification.methods import (
        SIVA,
        Bayes,
        ExtendedKalman,
        GlobalSearch,
        JointLoads,
        LeastSquares,
        ModalFit,
        NoisyInputFit,
        OnlineMasing,
        OnlineRecall,
        PIDynNet,
        SparseRegression,
        TrajectoryFit,
        UnscentedKalman,
        WeakCollocation,
    )

__all__ = [
    "METHODS",
    "SIVA",
    "Bayes",
    "Calibration",
    "Comparison",
    "CyclicComparison",
    "CyclicFit",
    "ExtendedKalman",
    "GlobalSearch",
    "Identification",
    "JointLoads",
    "LeastSquares",
    "LoadEstimate",
    "Method",
    "ModalFit",
    "ModalIdentification",
    "NoisyInputFit",
    "OnlineMasing",
    "OnlineRecall",
    "PIDynNet",
    "Placement",
    "Prediction",
    "Quantity",
    "Sample",
    "Sequential",
    "SparseRegression",
    "TrajectoryFit",
    "Unknown",
    "UnknownLoad",
    "UnscentedKalman",
    "Validation",
    "WeakCollocation",
    "as_cyclic_test",
    "calibrate",
    "compare",
    "compare_cyclic",
    "find_loads",
    "fit_cyclic",
    "identify",
    "load_identification",
    "make_problem",
    "place_sensors",
]


def __getattr__(name: str):
    if name not in methods.__all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(methods, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
