"""What was measured: records, their readers and writers, processing, spectra and ground motions."""

from vibrid.records.record import EXCITATIONS, QUANTITIES, Channel, Record

__all__ = ["EXCITATIONS", "QUANTITIES", "Channel", "Record"]
