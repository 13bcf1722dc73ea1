"""Half of it in the laboratory: devices in the loop, and the shells that hold them."""

from vibrid.hybrid.device import SPECIMENS, Heard, LawDevice, LoopDevice, Reading
from vibrid.hybrid.substructure import Connection, DeviceSubstructure, Substructure

__all__ = [
    "SPECIMENS",
    "Connection",
    "DeviceSubstructure",
    "Heard",
    "LawDevice",
    "LoopDevice",
    "Reading",
    "Substructure",
]
