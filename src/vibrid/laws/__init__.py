"""How a part resists: one law per file, each registered under the name that project files use."""

from vibrid.laws.base import LAWS, Law, Motion, Parallel, RateLaw, StaticLaw, has_rate
from vibrid.laws.bilinear import Bilinear
from vibrid.laws.bouc_wen import BoucWen
from vibrid.laws.concrete import KentPark
from vibrid.laws.linear import Linear, Viscous
from vibrid.laws.lugre import LuGre
from vibrid.laws.material import Material
from vibrid.laws.polynomial import Cubic, Polynomial
from vibrid.laws.steel import MenegottoPinto
from vibrid.laws.thermostat import FloorThermostat, Thermostat
from vibrid.laws.viscous import Maxwell, NonlinearViscous

__all__ = [
    "LAWS",
    "Bilinear",
    "BoucWen",
    "Cubic",
    "FloorThermostat",
    "KentPark",
    "Law",
    "Linear",
    "LuGre",
    "Material",
    "Maxwell",
    "MenegottoPinto",
    "Motion",
    "NonlinearViscous",
    "Parallel",
    "Polynomial",
    "RateLaw",
    "StaticLaw",
    "Thermostat",
    "Viscous",
    "has_rate",
]
