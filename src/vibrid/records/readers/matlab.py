"""MATLAB files: version 5 to 7 (own format) and 7.3 (HDF5 inside)."""

from __future__ import annotations

from vibrid.records.readers import mat5
from vibrid.records.readers.isolated import read_hdf5
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.reader import READERS, Reader
from vibrid.records.readers.source import Source
from vibrid.records.readers.variables import from_variables
from vibrid.records.record import Record

NAME = "MATLAB"
_NO_NUMBERS = ("char", "cell", "function_handle")


def recognises(source: Source) -> bool:
    return source.head.startswith(b"MATLAB ") and source.head[:128].find(b"MAT-file") > 0


def read(source: Source, layout: Layout) -> list[Record]:
    if source.head.startswith(b"MATLAB 7.3"):
        _, arrays = read_hdf5(source)
        numbers = {a.name: a.values.T for a in arrays if a.attributes.get("MATLAB_class") not in _NO_NUMBERS}
        return from_variables(source, numbers, layout, "MATLAB 7.3")  # MATLAB stores columns first
    if len(source.head) < 128:
        raise source.problem("the MATLAB file ends inside its header.")
    return from_variables(source, mat5.numeric_arrays(source), layout, "MATLAB 5")


@READERS.register(NAME)
class Matlab(Reader):
    """MATLAB files: version 5 to 7 (own format) and 7.3 (HDF5 inside)."""

    particularity = 130

    def recognises(self, source: Source) -> bool:
        return recognises(source)

    def read(self, source: Source, layout: Layout) -> list[Record]:
        return read(source, layout)
