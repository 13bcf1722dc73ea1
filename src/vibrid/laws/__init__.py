"""Force laws of parts: one law per file, each registered under the name that project files use."""

from vibrid.laws.baber_noori import BoucWenBaberNoori
from vibrid.laws.backlash import Backlash
from vibrid.laws.base import LAWS, Law, Motion, Parallel, RateLaw, StaticLaw, has_rate
from vibrid.laws.bilinear import Bilinear
from vibrid.laws.bouc_wen import BoucWen
from vibrid.laws.commanded import Commanded
from vibrid.laws.concrete import KentPark
from vibrid.laws.distributions import DISTRIBUTIONS, RayleighYield, UniformYield, WeibullYield, YieldDistribution
from vibrid.laws.elastic_plastic import BilinearSteel, ElasticMaterial
from vibrid.laws.fatigue import GiuffreMenegottoPintoFatigue
from vibrid.laws.flag import Flag
from vibrid.laws.friction_gap import FrictionGap
from vibrid.laws.imk import IMK, IMKBilinear, IMKPeakOriented, IMKPinching
from vibrid.laws.iwan import Iwan
from vibrid.laws.linear import Linear, Viscous
from vibrid.laws.lugre import LuGre
from vibrid.laws.masing import Masing, MemoryLaw
from vibrid.laws.material import Material
from vibrid.laws.multilinear import Multilinear, Pinching
from vibrid.laws.polynomial import Cubic, Polynomial
from vibrid.laws.ramberg_osgood import RambergOsgood
from vibrid.laws.rubber import LeadRubber, RateRubber
from vibrid.laws.steel import GiuffreMenegottoPinto, MenegottoPinto
from vibrid.laws.tension_only import TensionOnly
from vibrid.laws.thermostat import FloorThermostat, Thermostat
from vibrid.laws.viscous import Maxwell, NonlinearViscous

__all__ = [
    "DISTRIBUTIONS",
    "IMK",
    "LAWS",
    "Backlash",
    "Bilinear",
    "BilinearSteel",
    "BoucWen",
    "BoucWenBaberNoori",
    "Commanded",
    "Cubic",
    "ElasticMaterial",
    "Flag",
    "FloorThermostat",
    "FrictionGap",
    "GiuffreMenegottoPinto",
    "GiuffreMenegottoPintoFatigue",
    "IMKBilinear",
    "IMKPeakOriented",
    "IMKPinching",
    "Iwan",
    "KentPark",
    "Law",
    "LeadRubber",
    "Linear",
    "LuGre",
    "Masing",
    "Material",
    "Maxwell",
    "MemoryLaw",
    "MenegottoPinto",
    "Motion",
    "Multilinear",
    "NonlinearViscous",
    "Parallel",
    "Pinching",
    "Polynomial",
    "RambergOsgood",
    "RateLaw",
    "RateRubber",
    "RayleighYield",
    "StaticLaw",
    "TensionOnly",
    "Thermostat",
    "UniformYield",
    "Viscous",
    "WeibullYield",
    "YieldDistribution",
    "has_rate",
]
