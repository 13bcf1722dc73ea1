"""One method per file, registered under its name in project files and commands; imported at its first use."""

from importlib import import_module
from typing import TYPE_CHECKING

from vibrid.identification.method import METHODS

if TYPE_CHECKING:
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

_METHODS = {
    "bayes": "bayes:Bayes",
    "global": "global_search:GlobalSearch",
    "joint": "joint:JointLoads",
    "ekf": "kalman:ExtendedKalman",
    "ukf": "kalman:UnscentedKalman",
    "least-squares": "least_squares:LeastSquares",
    "sparse": "least_squares:SparseRegression",
    "modal-fit": "modal_fit:ModalFit",
    "noisy-input": "noisy_input:NoisyInputFit",
    "online-masing": "online_masing:OnlineMasing",
    "online-recall": "online_recall:OnlineRecall",
    "pidynnet": "pidynnet.pidynnet:PIDynNet",
    "siva": "siva.siva:SIVA",
    "trajectory": "trajectory:TrajectoryFit",
    "weak-collocation": "weak_collocation:WeakCollocation",
}
"""Where the class of every name is."""
_MODULES = dict(where.split(":")[::-1] for where in _METHODS.values())

for _name, _where in _METHODS.items():
    METHODS.announce(_name, f"{__name__}.{_where}")


def __getattr__(name: str):
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
