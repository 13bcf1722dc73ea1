"""MATLAB files: version 5 to 7 (own format) and 7.3 (HDF5 inside)."""

from __future__ import annotations

from vibrid.records.readers import hdf5, mat5
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.source import Source
from vibrid.records.readers.variables import from_variables
from vibrid.records.record import Record

NAME = "MATLAB"


def recognises(source: Source) -> bool:
    return source.head.startswith(b"MATLAB ") and source.head[:128].find(b"MAT-file") > 0


def read(source: Source, layout: Layout) -> list[Record]:
    if source.head.startswith(b"MATLAB 7.3"):
        arrays, _ = hdf5.numeric_arrays(source, transposed=True)
        return from_variables(source, arrays, layout, "MATLAB 7.3")
    if len(source.head) < 128:
        raise source.problem("the MATLAB file ends inside its header.")
    return from_variables(source, mat5.numeric_arrays(source), layout, "MATLAB 5")
