"""What was measured: records, their readers and writers, processing, spectra and ground motions."""

from vibrid.records.motions.synthetic import synthetic_motion
from vibrid.records.readers import Limits, formats, read_record, read_records
from vibrid.records.record import EXCITATIONS, QUANTITIES, Channel, Record
from vibrid.records.units import STANDARD_GRAVITY
from vibrid.records.writers import write_csv, write_hdf5

__all__ = [
    "EXCITATIONS",
    "QUANTITIES",
    "STANDARD_GRAVITY",
    "Channel",
    "Limits",
    "Record",
    "formats",
    "read_record",
    "read_records",
    "synthetic_motion",
    "write_csv",
    "write_hdf5",
]
