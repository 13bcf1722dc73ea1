"""Simulation: one integrator per file, and `simulate`."""

from vibrid.core.moved import moved
from vibrid.simulation.alpha import KRAlpha, MKRAlpha
from vibrid.simulation.base import INTEGRATORS, ExplicitIntegrator, Integrator, State
from vibrid.simulation.exact import ExactLinear, Imposed
from vibrid.simulation.excitation import free_vibration
from vibrid.simulation.explicit import CentralDifference
from vibrid.simulation.fiber_response import base_shear, fibre_history, frame_summary, section_history
from vibrid.simulation.initial import Initial
from vibrid.simulation.newmark import Newmark
from vibrid.simulation.pushover import Pushover, pushover
from vibrid.simulation.reduce_to import Reduction, ReductionError, reduce_to
from vibrid.simulation.reference import simulate_reference
from vibrid.simulation.response import Response
from vibrid.simulation.run import Everything, Folding, Readings, run
from vibrid.simulation.runge_kutta import RungeKutta3, RungeKutta4
from vibrid.simulation.simulate import default_integrator, simulate, simulate_many
from vibrid.simulation.step_error import StepError

__all__ = [
    "INTEGRATORS",
    "CentralDifference",
    "Everything",
    "ExactLinear",
    "ExplicitIntegrator",
    "Folding",
    "Imposed",
    "Initial",
    "Integrator",
    "KRAlpha",
    "MKRAlpha",
    "Newmark",
    "Pushover",
    "Readings",
    "Reduction",
    "ReductionError",
    "Response",
    "RungeKutta3",
    "RungeKutta4",
    "State",
    "StepError",
    "base_shear",
    "default_integrator",
    "fibre_history",
    "frame_summary",
    "free_vibration",
    "pushover",
    "reduce_to",
    "run",
    "section_history",
    "simulate",
    "simulate_many",
    "simulate_reference",
]


MOVED = {"Start": "vibrid.simulation.Initial"}


def __getattr__(name: str):
    return moved(__name__, name, MOVED)
