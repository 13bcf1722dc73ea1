"""How parts make a whole: structures, sensors, damping, modes and reduction."""

from vibrid.structures.base import GROUND, STRUCTURES, Attachment, Structure
from vibrid.structures.beam import Beam
from vibrid.structures.damping import DAMPINGS, Damping, Explicit, Modal, Rayleigh, RayleighRatio
from vibrid.structures.device import Device
from vibrid.structures.frame import Frame2D
from vibrid.structures.matrices import Matrices
from vibrid.structures.model import Model
from vibrid.structures.modes import Modes, modes, natural_frequencies
from vibrid.structures.nodes import PointMass
from vibrid.structures.reduction import Reduced, reduce
from vibrid.structures.sensors import MEASURABLE, Sensor, Sensors
from vibrid.structures.shear import ShearBuilding
from vibrid.structures.truss import Truss

__all__ = [
    "DAMPINGS",
    "GROUND",
    "MEASURABLE",
    "STRUCTURES",
    "Attachment",
    "Beam",
    "Damping",
    "Device",
    "Explicit",
    "Frame2D",
    "Matrices",
    "Modal",
    "Model",
    "Modes",
    "PointMass",
    "Rayleigh",
    "RayleighRatio",
    "Reduced",
    "Sensor",
    "Sensors",
    "ShearBuilding",
    "Structure",
    "Truss",
    "modes",
    "natural_frequencies",
    "reduce",
]
