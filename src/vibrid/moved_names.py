"""Names that `vibrid` itself exported in 0.1, and their packages since 0.2; the old names are removed in 0.3."""

_NAMES_BY_PACKAGE = {
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
        Connection DeviceServer DeviceSubstructure Dynamics Ending FirstOrder FloorErrors Glimpse
        IdealMachine Inverse LoopDevice NetworkDevice NetworkFile NoCompensation PolynomialExtrapolation
        PureDelay Reading RealTime Recorder Remote RemoteSubstructure Replay SafetyLimits Scaling
        SecondOrder Substructure Tracking UpdatedLaw WallClock WireProblem floor_errors tracking
    """,
}
MOVED = {name: f"vibrid.{package}.{name}" for package, names in _NAMES_BY_PACKAGE.items() for name in names.split()} | {
    "Start": "vibrid.simulation.Initial",
    "Door": "vibrid.hybrid.Listener",
    "Heard": "vibrid.hybrid.Companion",
}
"""old name → new one"""
