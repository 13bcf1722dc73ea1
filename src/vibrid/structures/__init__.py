"""How parts make a whole: structures, sensors, damping, modes and reduction."""

from vibrid.structures.base import GROUND, STRUCTURES, Attachment, Structure
from vibrid.structures.damping import DAMPINGS, Damping, Explicit, Modal, Rayleigh
from vibrid.structures.device import Device
from vibrid.structures.matrices import Matrices
from vibrid.structures.model import Model
from vibrid.structures.sensors import MEASURABLE, Sensor, Sensors
from vibrid.structures.shear import ShearBuilding

__all__ = [
    "DAMPINGS",
    "GROUND",
    "MEASURABLE",
    "STRUCTURES",
    "Attachment",
    "Damping",
    "Device",
    "Explicit",
    "Matrices",
    "Modal",
    "Model",
    "Rayleigh",
    "Sensor",
    "Sensors",
    "ShearBuilding",
    "Structure",
]
