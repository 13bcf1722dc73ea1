"""Public names that moved: they go on working for one minor version, with a warning that says the new one."""

from __future__ import annotations

import warnings
from importlib import import_module

_NAMES_OF_ROOMS = {
    "core": """
        Progress
    """,
    "records": """
        EXCITATIONS QUANTITIES STANDARD_GRAVITY FourierSpectrum Intensity Limits ResponseSpectrum Similitude
        Target Wavelet asce7_target conditional_mean_target eurocode8_target formats fourier_spectrum lag
        response_history scale_to_target scenario_parameters select_suite synchronise table_target
        uniform_hazard_target wavelet_transform
    """,
    "laws": """
        DISTRIBUTIONS LAWS FloorThermostat Law Material MemoryLaw Motion RateLaw RayleighYield StaticLaw
        UniformYield WeibullYield YieldDistribution has_rate
    """,
    "structures": """
        DAMPINGS GROUND MEASURABLE STRUCTURES Damping Explicit ImposedTest LeaningColumn MemberLoad Model
        Modes PermanentLoad RayleighRatio Reduced Structure moment_curvature natural_frequencies
    """,
    "simulation": """
        INTEGRATORS Everything ExplicitIntegrator Imposed Integrator Pushover Readings RungeKutta3
        State base_shear default_integrator fibre_history frame_summary free_vibration run section_history
        simulate_reference
    """,
    "identification": """
        METHODS Comparison LoadEstimate Method Placement Sample Sequential Validation make_problem
    """,
    "hybrid": """
        COMPENSATORS DYNAMICS SPECIMENS AdaptiveTimeSeries BenchmarkMachine Clock ClockReport Compensator
        Connection DeviceServer DeviceSubstructure Door Dynamics Ending FirstOrder FloorErrors Glimpse Heard
        IdealMachine Inverse LoopDevice NetworkDevice NetworkFile NoCompensation PolynomialExtrapolation
        PureDelay Reading RealTime Recorder Remote RemoteSubstructure Replay SafetyLimits Scaling
        SecondOrder Substructure Tracking UpdatedLaw WallClock WireProblem floor_errors tracking
    """,
}
"""Names that stood in `vibrid` itself in 0.1, by the room that has them."""
MOVED = {
    "vibrid": {name: f"vibrid.{room}.{name}" for room, names in _NAMES_OF_ROOMS.items() for name in names.split()}
    | {"Start": "vibrid.simulation.Initial"},
    "vibrid.simulation": {"Start": "vibrid.simulation.Initial"},
    "vibrid.records.motions": {"Scaling": "vibrid.records.motions.ScaledMotion"},
    "vibrid.networks": {"Scaling": "vibrid.networks.ChannelScaling"},
    "vibrid.hybrid.learned": {"Sample": "vibrid.hybrid.learned.DeviceSample"},
}
"""module → old name → new one, since 0.2; each goes away in 0.3."""


def moved(module: str, name: str):
    """What a name of a module stands for since it moved, with a DeprecationWarning; or the usual AttributeError.

    A module calls it from its own `__getattr__`: the warning points at the line that used the name.
    """
    new = MOVED[module].get(name)
    if new is None:
        raise AttributeError(f"module '{module}' has no attribute '{name}'")
    warnings.warn(
        f"{module}.{name} is {new} since 0.2; the old name goes away in 0.3.", DeprecationWarning, stacklevel=3
    )
    where, _, there = new.rpartition(".")
    return getattr(import_module(where), there)
