"""Response bands: what the uncertainty of a fit leaves open under other motions."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from vibrid.core.arguments import checked
from vibrid.core.errors import InputError, require
from vibrid.studies.kept import STANDS

if TYPE_CHECKING:
    import xarray


@checked
def response_bands(data: Any, confidence: float = 0.9) -> xarray.Dataset:
    """Median and band of every variable of a study over its dimension `sample`.

    Arguments
        data: a dataset with a dimension `sample`, such as that of `vb.study(fit, motions).run()`.
        confidence: the share of the samples between the limits of the band.

    Returns a dataset in which the dimension `sample` is replaced by `band`: "low", "median", "high". Only samples that
    stand count; `standing` is their number.
    """
    xarray = require("xarray", "studies", "A response band")
    if not isinstance(data, xarray.Dataset) or "sample" not in data.dims:
        raise InputError("Response bands need a dataset with a dimension 'sample', as of vb.study(fit, motions).")
    if not 0 < confidence < 1:
        raise InputError(f"A confidence is between 0 and 1, not {confidence}.")
    stands = data.outcome == STANDS
    quantiles = [0.5 - confidence / 2, 0.5, 0.5 + confidence / 2]
    numbers = [name for name, v in data.data_vars.items() if "sample" in v.dims and v.dtype.kind == "f"]
    made = {}
    for name in numbers:
        if name == "ended_at":
            continue
        values = data[name].where(stands)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "All-NaN slice", RuntimeWarning)  # after the end of a shorter motion
            band = values.quantile(quantiles, dim="sample", skipna=True).rename(quantile="band")
        made[name] = band.assign_coords(band=["low", "median", "high"]).assign_attrs(data[name].attrs)
    found = xarray.Dataset(made).assign(standing=stands.sum("sample"))
    return found.assign_attrs(confidence=float(np.round(confidence, 12)))
