"""Hybrid tests: computed structures with tested devices."""

from vibrid.core.moved import moved
from vibrid.hybrid.actuator import (
    DYNAMICS,
    Actuator,
    BenchmarkMachine,
    Dynamics,
    FirstOrder,
    IdealMachine,
    PureDelay,
    SecondOrder,
)
from vibrid.hybrid.ats import AdaptiveTimeSeries
from vibrid.hybrid.banded import BandedFrictionDamper
from vibrid.hybrid.clock import Clock, ClockReport, WallClock
from vibrid.hybrid.compensation import COMPENSATORS, Compensator, Inverse, NoCompensation, PolynomialExtrapolation
from vibrid.hybrid.control_problem import (
    ControlRun,
    control_run,
    criteria,
    nominal_plant,
    perturbed_plants,
    reference_run,
)
from vibrid.hybrid.coordinator import HybridTest
from vibrid.hybrid.device import SPECIMENS, Companion, LawDevice, LoopDevice, Reading
from vibrid.hybrid.feedback import PhaseLeadPI, SlidingMode
from vibrid.hybrid.impose import StoppedMotion, impose
from vibrid.hybrid.interlock import Interlock, Trip
from vibrid.hybrid.latch import Stop, StopLatch
from vibrid.hybrid.learned.in_loop import NetworkDevice
from vibrid.hybrid.learned.network_file import NetworkFile
from vibrid.hybrid.limits import SafetyLimits
from vibrid.hybrid.listening import CompanionEstimator, Likeness, Listening, likeness_of, listen, virtual_pairs
from vibrid.hybrid.model_based import ModelBased
from vibrid.hybrid.parts import Experimental, Modelled, Scaling, StandIn
from vibrid.hybrid.realtime import RealTime
from vibrid.hybrid.recorder import Recorder
from vibrid.hybrid.rehearsal import Rehearsal, judge, rehearse
from vibrid.hybrid.replay import Replay
from vibrid.hybrid.result import Glimpse, HybridResult
from vibrid.hybrid.semi_active import CommandFile, CommandHistory, ConstantCommand, Control, OnOff, SemiActive
from vibrid.hybrid.stopping import DivergedTest
from vibrid.hybrid.substructure import Connection, DeviceSubstructure, Substructure
from vibrid.hybrid.tracking import FloorErrors, Tracking, floor_errors, tracking
from vibrid.hybrid.updated import UpdatedLaw
from vibrid.hybrid.wire import DeviceServer, Ending, Listener, Remote, RemoteSubstructure, Watchdog, WireProblem

__all__ = [
    "COMPENSATORS",
    "DYNAMICS",
    "SPECIMENS",
    "Actuator",
    "AdaptiveTimeSeries",
    "BandedFrictionDamper",
    "BenchmarkMachine",
    "Clock",
    "ClockReport",
    "CommandFile",
    "CommandHistory",
    "Companion",
    "CompanionEstimator",
    "Compensator",
    "Connection",
    "ConstantCommand",
    "Control",
    "ControlRun",
    "DeviceServer",
    "DeviceSubstructure",
    "DivergedTest",
    "Dynamics",
    "Ending",
    "Experimental",
    "FirstOrder",
    "FloorErrors",
    "Glimpse",
    "HybridResult",
    "HybridTest",
    "IdealMachine",
    "Interlock",
    "Inverse",
    "LawDevice",
    "Likeness",
    "Listener",
    "Listening",
    "LoopDevice",
    "ModelBased",
    "Modelled",
    "NetworkDevice",
    "NetworkFile",
    "NoCompensation",
    "OnOff",
    "PhaseLeadPI",
    "PolynomialExtrapolation",
    "PureDelay",
    "Reading",
    "RealTime",
    "Recorder",
    "Rehearsal",
    "Remote",
    "RemoteSubstructure",
    "Replay",
    "SafetyLimits",
    "Scaling",
    "SecondOrder",
    "SemiActive",
    "SlidingMode",
    "StandIn",
    "Stop",
    "StopLatch",
    "StoppedMotion",
    "Substructure",
    "Tracking",
    "Trip",
    "UpdatedLaw",
    "WallClock",
    "Watchdog",
    "WireProblem",
    "control_run",
    "criteria",
    "floor_errors",
    "impose",
    "judge",
    "likeness_of",
    "listen",
    "nominal_plant",
    "perturbed_plants",
    "reference_run",
    "rehearse",
    "tracking",
    "virtual_pairs",
]

MOVED = {"Door": "vibrid.hybrid.Listener", "Heard": "vibrid.hybrid.Companion"}


def __getattr__(name: str):
    return moved(__name__, name, MOVED)
