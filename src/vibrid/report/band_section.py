"""The section of the report on response bands under motions that were not fitted."""

from __future__ import annotations

from typing import Any

from vibrid.report.band_plots import bands_figure, history_bands_figure, strongest
from vibrid.report.sections import Figures
from vibrid.report.words import Html, counted, paragraph
from vibrid.studies.prediction import response_bands


def bands_section(data: Any, figure: Figures) -> Html:
    """Response bands under motions that were not fitted, from the dataset of a study of the fit."""
    bands = data if "band" in getattr(data, "dims", ()) else response_bands(data)
    shown = strongest(bands)
    level = next((name for name in ("level", "scale") if name in bands.dims), None)
    fallen = int((shown.standing < data.sizes["sample"]).sum()) if "sample" in data.dims else 0
    text = (
        "Parameters drawn from the uncertainty of the fit move the structure under "
        f"{counted(shown.sizes['motion'], 'motion')} not used in the fit. The bands hold "
        f"{100 * bands.attrs['confidence']:g} % of the samples. They cover the uncertainty of the parameters, not that "
        "of the model."
    )
    if level is not None:
        about = bands[level].attrs
        unit_of_level = f" {about['units']}" if about.get("units") else ""
        text += f" Shown at {about.get('long_name', level)} {float(shown[level]):.4g}{unit_of_level}."
    if fallen:
        text += f" Under {counted(fallen, 'motion')} not all samples stand; only those that do are in the bands."
    parts = [paragraph(text)]
    if any(str(name).startswith("peak_") for name in bands.data_vars):
        parts.append(figure(bands_figure(bands), "Largest responses under motions that were not fitted."))
    histories = history_bands_figure(bands)
    if histories is not None:
        parts.append(
            figure(histories, "Responses over time under motions that were not fitted, where they are largest.")
        )
    return Html("".join(parts))
