"""One method per file, registered under its name in project files and commands."""

from vibrid.identification.methods.bayes import Bayes
from vibrid.identification.methods.global_search import GlobalSearch
from vibrid.identification.methods.joint import JointLoads
from vibrid.identification.methods.kalman import ExtendedKalman, UnscentedKalman
from vibrid.identification.methods.least_squares import LeastSquares, SparseRegression
from vibrid.identification.methods.modal_fit import ModalFit
from vibrid.identification.methods.noisy_input import NoisyInputFit
from vibrid.identification.methods.online_masing import OnlineMasing
from vibrid.identification.methods.online_recall import OnlineRecall
from vibrid.identification.methods.pidynnet import PIDynNet
from vibrid.identification.methods.siva import SIVA
from vibrid.identification.methods.trajectory import TrajectoryFit
from vibrid.identification.methods.weak_collocation import WeakCollocation

__all__ = [
    "SIVA",
    "Bayes",
    "ExtendedKalman",
    "GlobalSearch",
    "JointLoads",
    "LeastSquares",
    "ModalFit",
    "NoisyInputFit",
    "OnlineMasing",
    "OnlineRecall",
    "PIDynNet",
    "SparseRegression",
    "TrajectoryFit",
    "UnscentedKalman",
    "WeakCollocation",
]
