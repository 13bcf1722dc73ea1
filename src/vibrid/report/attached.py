"""`.plot()` and `.report()` of records and results, attached by name: the report is imported when it is first used.

The classes declare these methods (`vibrid.core.attached`) and do not depend on this package.
"""

from __future__ import annotations

from vibrid.core.attached import attach


def attach_report() -> None:
    """Attach the plots and the report to the methods of records, spectra and results."""
    attach(
        "vibrid.core.shown:InNotebooks",
        _repr_html_="vibrid.report.notebook:repr_html",
        to_pandas="vibrid.report.dataframes:to_pandas",
        to_xarray="vibrid.report.dataframes:to_xarray",
        from_pandas="vibrid.report.from_dataframes:not_from_pandas",
        from_xarray="vibrid.report.from_dataframes:not_from_xarray",
    )
    attach("vibrid.structures.base:Structure", from_pandas="vibrid.report.from_dataframes:with_parameters")
    attach("vibrid.structures.matrices:Matrices", from_xarray="vibrid.report.from_dataframes:matrices_from_xarray")
    attach(
        "vibrid.records.record:Record",
        plot="vibrid.report.record_plots:plot_record",
        from_pandas="vibrid.report.from_dataframes:record_from_pandas",
        from_xarray="vibrid.report.from_dataframes:record_from_xarray",
    )
    attach("vibrid.records.spectra:ResponseSpectrum", plot="vibrid.report.record_plots:plot_spectrum")
    attach("vibrid.records.fourier:Wavelet", plot="vibrid.report.record_plots:plot_wavelet")
    attach("vibrid.records.motions.select:Suite", plot="vibrid.report.record_plots:plot_suite")
    attach("vibrid.structures.modes:Modes", plot="vibrid.report.modal_plots:plot_modes")
    attach("vibrid.modal.measured:MeasuredModes", report="vibrid.report.modal_report:write_modal_report")
    attach(
        "vibrid.identification.modal_result:ModalIdentification",
        plot="vibrid.report.modal_report:plot_modal_fit",
        report="vibrid.report.modal_report:write_modal_fit_report",
    )
    attach("vibrid.identification.loads.estimate:LoadEstimate", plot="vibrid.report.load_plots:plot_loads")
    attach("vibrid.identification.calibrate:Calibration", plot="vibrid.report.device_plots:plot_calibration")
    attach(
        "vibrid.identification.cyclic:CyclicFit",
        plot="vibrid.report.cyclic_plots:plot_cyclic",
        report="vibrid.report.cyclic_report:write_cyclic_report",
    )
    attach("vibrid.identification.compare:Comparison", plot="vibrid.report.identification_plots:plot_comparison")
    attach("vibrid.studies.fragility:Fragility", plot="vibrid.report.study_plots:plot_fragility")
    attach("vibrid.identification.prediction:Prediction", plot="vibrid.report.prediction_plots:plot_prediction")
    attach("vibrid.identification.result:Validation", plot="vibrid.report.identification_plots:plot_validation")
    attach(
        "vibrid.identification.result:Identification",
        plot="vibrid.report.identification_plots:plot_identification",
        report="vibrid.report.html:write_report",
    )
