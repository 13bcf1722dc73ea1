"""Half of it in the laboratory: devices in the loop, and the shells that hold them."""

from vibrid.hybrid.clock import Clock, ClockReport, WallClock
from vibrid.hybrid.device import SPECIMENS, Heard, LawDevice, LoopDevice, Reading
from vibrid.hybrid.limits import SafetyLimits
from vibrid.hybrid.realtime import RealTime
from vibrid.hybrid.recorder import Recorder
from vibrid.hybrid.substructure import Connection, DeviceSubstructure, Substructure
from vibrid.hybrid.wire import DeviceServer, Door, Ending, Remote, RemoteSubstructure, WireProblem

__all__ = [
    "SPECIMENS",
    "Clock",
    "ClockReport",
    "Connection",
    "DeviceServer",
    "DeviceSubstructure",
    "Door",
    "Ending",
    "Heard",
    "LawDevice",
    "LoopDevice",
    "Reading",
    "RealTime",
    "Recorder",
    "Remote",
    "RemoteSubstructure",
    "SafetyLimits",
    "Substructure",
    "WallClock",
    "WireProblem",
]
