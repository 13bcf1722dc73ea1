"""What it is: the problem, the one result type, identifiability, and one method per file."""

from vibrid.identification.identify import identify
from vibrid.identification.method import METHODS, Method, Sample, Sequential
from vibrid.identification.methods import (
    Bayes,
    ExtendedKalman,
    GlobalSearch,
    LeastSquares,
    SparseRegression,
    TrajectoryFit,
    UnscentedKalman,
)
from vibrid.identification.problem import make_problem
from vibrid.identification.result import Identification, Validation
from vibrid.identification.unknowns import Unknown

__all__ = [
    "METHODS",
    "Bayes",
    "ExtendedKalman",
    "GlobalSearch",
    "Identification",
    "LeastSquares",
    "Method",
    "Sample",
    "Sequential",
    "SparseRegression",
    "TrajectoryFit",
    "Unknown",
    "UnscentedKalman",
    "Validation",
    "identify",
    "make_problem",
]
