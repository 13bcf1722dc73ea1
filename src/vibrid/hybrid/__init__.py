"""Half of it in the laboratory: devices in the loop, and the shells that hold them."""

from vibrid.hybrid.device import Heard, LawDevice, LoopDevice, Reading
from vibrid.hybrid.substructure import DeviceSubstructure, Substructure

__all__ = ["DeviceSubstructure", "Heard", "LawDevice", "LoopDevice", "Reading", "Substructure"]
