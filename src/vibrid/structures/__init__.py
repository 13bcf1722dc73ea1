"""Structures, sensors, damping, modes and reduction."""

from vibrid.structures.base import GROUND, STRUCTURES, Attachment, Structure
from vibrid.structures.beam import Beam
from vibrid.structures.column_test import ColumnTest
from vibrid.structures.damping import DAMPINGS, Damping, Explicit, Modal, Rayleigh, RayleighRatio
from vibrid.structures.device import Device, ImposedTest
from vibrid.structures.fiber_frame import FiberFrame
from vibrid.structures.frame import Frame2D
from vibrid.structures.matrices import Matrices
from vibrid.structures.members import FrameMember, LeaningColumn, MemberLoad, PermanentLoad
from vibrid.structures.model import Model
from vibrid.structures.modes import Modes, StructureModes, modes, natural_frequencies
from vibrid.structures.nodes import PointMass, Tie
from vibrid.structures.pairing import ModePairs, expand_shapes, mac, pair_modes
from vibrid.structures.reduction import Reduced, reduce
from vibrid.structures.rigid_floors import FrameLine, RigidFloorBuilding
from vibrid.structures.sections import FiberLayer, FiberSection, ReinforcedSection, moment_curvature
from vibrid.structures.sensors import MEASURABLE, Sensor, Sensors
from vibrid.structures.shear import ShearBuilding
from vibrid.structures.sparse import SparseMatrices
from vibrid.structures.truss import Truss

__all__ = [
    "DAMPINGS",
    "GROUND",
    "MEASURABLE",
    "STRUCTURES",
    "Attachment",
    "Beam",
    "ColumnTest",
    "Damping",
    "Device",
    "Explicit",
    "FiberFrame",
    "FiberLayer",
    "FiberSection",
    "Frame2D",
    "FrameLine",
    "FrameMember",
    "ImposedTest",
    "LeaningColumn",
    "Matrices",
    "MemberLoad",
    "Modal",
    "ModePairs",
    "Model",
    "Modes",
    "PermanentLoad",
    "PointMass",
    "Rayleigh",
    "RayleighRatio",
    "Reduced",
    "ReinforcedSection",
    "RigidFloorBuilding",
    "Sensor",
    "Sensors",
    "ShearBuilding",
    "SparseMatrices",
    "Structure",
    "StructureModes",
    "Tie",
    "Truss",
    "expand_shapes",
    "mac",
    "modes",
    "moment_curvature",
    "natural_frequencies",
    "pair_modes",
    "reduce",
]
