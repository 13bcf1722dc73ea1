"""Force laws of parts: one law per file, each registered under the name that project files use."""

from vibrid.laws.backlash import Backlash
from vibrid.laws.base import LAWS, Law, Motion, Parallel, RateLaw, StaticLaw, has_rate
from vibrid.laws.bilinear import Bilinear
from vibrid.laws.bouc_wen import BoucWen
from vibrid.laws.commanded import Commanded
from vibrid.laws.concrete import KentPark
from vibrid.laws.distributions import DISTRIBUTIONS, RayleighYield, UniformYield, WeibullYield, YieldDistribution
from vibrid.laws.iwan import Iwan
from vibrid.laws.linear import Linear, Viscous
from vibrid.laws.lugre import LuGre
from vibrid.laws.masing import Masing, MemoryLaw
from vibrid.laws.material import Material
from vibrid.laws.polynomial import Cubic, Polynomial
from vibrid.laws.steel import MenegottoPinto
from vibrid.laws.thermostat import FloorThermostat, Thermostat
from vibrid.laws.viscous import Maxwell, NonlinearViscous

__all__ = [
    "DISTRIBUTIONS",
    "LAWS",
    "Backlash",
    "Bilinear",
    "BoucWen",
    "Commanded",
    "Cubic",
    "FloorThermostat",
    "Iwan",
    "KentPark",
    "Law",
    "Linear",
    "LuGre",
    "Masing",
    "Material",
    "Maxwell",
    "MemoryLaw",
    "MenegottoPinto",
    "Motion",
    "NonlinearViscous",
    "Parallel",
    "Polynomial",
    "RateLaw",
    "RayleighYield",
    "StaticLaw",
    "Thermostat",
    "UniformYield",
    "Viscous",
    "WeibullYield",
    "YieldDistribution",
    "has_rate",
]
