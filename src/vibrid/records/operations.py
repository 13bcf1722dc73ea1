"""Operations on a record: the functions of the methods that `Record` declares."""

from __future__ import annotations

from vibrid.core.attached import attach
from vibrid.records.align import align, cut, shift
from vibrid.records.baseline import correct_baseline
from vibrid.records.filters import butterworth, taper
from vibrid.records.fourier import fourier_spectrum, wavelet_transform
from vibrid.records.gaps import fill
from vibrid.records.integrate import differentiate, integrate
from vibrid.records.intensity import intensity
from vibrid.records.record import Record
from vibrid.records.resample import resample
from vibrid.records.rotate import rotate
from vibrid.records.spectra import response_spectrum
from vibrid.records.writers import write_csv, write_hdf5


def attach_operations() -> None:
    """Attach cleaning, calculus, the time axis, measures and files to the methods of a record."""
    attach(Record, fill=fill, correct_baseline=correct_baseline, filter=butterworth, taper=taper)
    attach(Record, integrate=integrate, differentiate=differentiate)
    attach(Record, resample=resample, cut=cut, shift=shift, align=align, rotate=rotate)
    attach(Record, spectrum=response_spectrum, fourier=fourier_spectrum, wavelet=wavelet_transform, intensity=intensity)
    attach(Record, write_csv=write_csv, write_hdf5=write_hdf5)
