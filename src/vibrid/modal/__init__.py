"""Modes from measurements: operational and experimental modal analysis."""

from vibrid.modal.era import era
from vibrid.modal.fdd import fdd
from vibrid.modal.frf import FrequencyResponse, frequency_response, frf
from vibrid.modal.geometry import Geometry, read_geometry
from vibrid.modal.measured import MeasuredModes, StabilisationDiagram, measured_modes
from vibrid.modal.setups import merged_ssi
from vibrid.modal.spectra import SingularValues
from vibrid.modal.ssi import ssi
from vibrid.modal.uff import UniversalFile, read_uff, write_uff

__all__ = [
    "FrequencyResponse",
    "Geometry",
    "MeasuredModes",
    "SingularValues",
    "StabilisationDiagram",
    "UniversalFile",
    "era",
    "fdd",
    "frequency_response",
    "frf",
    "measured_modes",
    "merged_ssi",
    "read_geometry",
    "read_uff",
    "ssi",
    "write_uff",
]
