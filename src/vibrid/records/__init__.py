"""Measurements: records, their readers and writers, processing, spectra and ground motions."""

from vibrid.records.align import lag, synchronise
from vibrid.records.clock import UtcClock
from vibrid.records.fourier import FourierSpectrum, Wavelet, fourier_spectrum, wavelet_transform
from vibrid.records.intensity import Intensity
from vibrid.records.joined import join
from vibrid.records.motions import (
    Similitude,
    Target,
    asce7_target,
    conditional_mean_target,
    eurocode8_target,
    scale_to_target,
    scenario_parameters,
    select_suite,
    synthetic_motion,
    table_target,
    uniform_hazard_target,
)
from vibrid.records.operations import attach_operations
from vibrid.records.readers import Limits, formats, read_record, read_records
from vibrid.records.record import EXCITATIONS, QUANTITIES, Channel, Record
from vibrid.records.spectra import ResponseSpectrum, response_history, response_spectrum
from vibrid.records.units import STANDARD_GRAVITY
from vibrid.records.writers import write_csv, write_hdf5

attach_operations()

__all__ = [
    "EXCITATIONS",
    "QUANTITIES",
    "STANDARD_GRAVITY",
    "Channel",
    "FourierSpectrum",
    "Intensity",
    "Limits",
    "Record",
    "ResponseSpectrum",
    "Similitude",
    "Target",
    "UtcClock",
    "Wavelet",
    "asce7_target",
    "conditional_mean_target",
    "eurocode8_target",
    "formats",
    "fourier_spectrum",
    "join",
    "lag",
    "read_record",
    "read_records",
    "response_history",
    "response_spectrum",
    "scale_to_target",
    "scenario_parameters",
    "select_suite",
    "synchronise",
    "synthetic_motion",
    "table_target",
    "uniform_hazard_target",
    "wavelet_transform",
    "write_csv",
    "write_hdf5",
]
