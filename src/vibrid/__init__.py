"""vibrid: structural system identification and hybrid simulation, one model of a structure for every job.

These are the names for everyday use; each package has more: `vb.records.synchronise`, `vb.laws.RateLaw`. A name or a
package is imported at its first use, so that neither `vibrid --help` nor `vb.read_record` waits for JAX. The functions
behind `.plot()` and `.report()` are attached by name: the report too is imported at its first use.
"""

import typing as _typing
from importlib import import_module as _import_module

from vibrid.core import plugins as _plugins
from vibrid.core.version import __version__ as __version__
from vibrid.report.attached import attach_report as _attach_report

if _typing.TYPE_CHECKING:
    from vibrid import bridge as bridge
    from vibrid import core as core
    from vibrid import hybrid as hybrid
    from vibrid import identification as identification
    from vibrid import laws as laws
    from vibrid import modal as modal
    from vibrid import monitor as monitor
    from vibrid import networks as networks
    from vibrid import papers as papers
    from vibrid import project as project
    from vibrid import records as records
    from vibrid import simulation as simulation
    from vibrid import structures as structures
    from vibrid import studies as studies
    from vibrid.bridge import from_opensees, to_opensees
    from vibrid.core import (
        Divergence,
        FileProblem,
        InputError,
        Refusal,
        VibridError,
    )
    from vibrid.hybrid import (
        Actuator,
        BandedFrictionDamper,
        Experimental,
        HybridResult,
        HybridTest,
        LawDevice,
        Modelled,
        impose,
    )
    from vibrid.identification import (
        SIVA,
        Bayes,
        ExtendedKalman,
        GlobalSearch,
        Identification,
        JointLoads,
        LeastSquares,
        ModalFit,
        NoisyInputFit,
        OnlineMasing,
        OnlineRecall,
        PIDynNet,
        SparseRegression,
        TrajectoryFit,
        Unknown,
        UnknownLoad,
        UnscentedKalman,
        WeakCollocation,
        calibrate,
        compare,
        find_loads,
        identify,
        load_identification,
        place_sensors,
    )
    from vibrid.laws import (
        Backlash,
        Bilinear,
        BoucWen,
        Cubic,
        Iwan,
        KentPark,
        Linear,
        LuGre,
        Masing,
        Maxwell,
        MenegottoPinto,
        NonlinearViscous,
        Parallel,
        Polynomial,
        Thermostat,
        Viscous,
    )
    from vibrid.modal import ssi
    from vibrid.records import (
        Channel,
        Record,
        read_record,
        read_records,
        response_spectrum,
        synthetic_motion,
        write_csv,
        write_hdf5,
    )
    from vibrid.simulation import (
        CentralDifference,
        ExactLinear,
        Initial,
        KRAlpha,
        MKRAlpha,
        Newmark,
        Response,
        RungeKutta4,
        pushover,
        reduce_to,
        simulate,
        simulate_many,
    )
    from vibrid.structures import (
        Attachment,
        Beam,
        ColumnTest,
        Device,
        FiberFrame,
        Frame2D,
        FrameLine,
        FrameMember,
        Matrices,
        Modal,
        PointMass,
        Rayleigh,
        ReinforcedSection,
        RigidFloorBuilding,
        Sensor,
        Sensors,
        ShearBuilding,
        SparseMatrices,
        Truss,
        modes,
        reduce,
    )
    from vibrid.studies import study

_plugins.OWN["papers"] = "vibrid.papers"  # as in pyproject.toml: a checkout has it without being installed
_attach_report()

__all__ = [
    "SIVA",
    "Actuator",
    "Attachment",
    "Backlash",
    "BandedFrictionDamper",
    "Bayes",
    "Beam",
    "Bilinear",
    "BoucWen",
    "CentralDifference",
    "Channel",
    "ColumnTest",
    "Cubic",
    "Device",
    "Divergence",
    "ExactLinear",
    "Experimental",
    "ExtendedKalman",
    "FiberFrame",
    "FileProblem",
    "Frame2D",
    "FrameLine",
    "FrameMember",
    "GlobalSearch",
    "HybridResult",
    "HybridTest",
    "Identification",
    "Initial",
    "InputError",
    "Iwan",
    "JointLoads",
    "KRAlpha",
    "KentPark",
    "LawDevice",
    "LeastSquares",
    "Linear",
    "LuGre",
    "MKRAlpha",
    "Masing",
    "Matrices",
    "Maxwell",
    "MenegottoPinto",
    "Modal",
    "ModalFit",
    "Modelled",
    "Newmark",
    "NoisyInputFit",
    "NonlinearViscous",
    "OnlineMasing",
    "OnlineRecall",
    "PIDynNet",
    "Parallel",
    "PointMass",
    "Polynomial",
    "Rayleigh",
    "Record",
    "Refusal",
    "ReinforcedSection",
    "Response",
    "RigidFloorBuilding",
    "RungeKutta4",
    "Sensor",
    "Sensors",
    "ShearBuilding",
    "SparseMatrices",
    "SparseRegression",
    "Thermostat",
    "TrajectoryFit",
    "Truss",
    "Unknown",
    "UnknownLoad",
    "UnscentedKalman",
    "VibridError",
    "Viscous",
    "WeakCollocation",
    "calibrate",
    "compare",
    "find_loads",
    "from_opensees",
    "identify",
    "impose",
    "load_identification",
    "modes",
    "place_sensors",
    "pushover",
    "read_record",
    "read_records",
    "reduce",
    "reduce_to",
    "response_spectrum",
    "simulate",
    "simulate_many",
    "ssi",
    "study",
    "synthetic_motion",
    "to_opensees",
    "write_csv",
    "write_hdf5",
]

_PACKAGES = (
    "core", "records", "laws", "structures", "simulation", "modal", "networks", "identification", "hybrid", "studies",
    "monitor", "papers", "project", "bridge",
)  # fmt: skip
_NAMES_OF_PACKAGES = {
    "core": """
        Divergence FileProblem InputError Refusal VibridError
    """,
    "records": """
        Channel Record read_record read_records response_spectrum synthetic_motion write_csv write_hdf5
    """,
    "laws": """
        Backlash Bilinear BoucWen Cubic Iwan KentPark Linear LuGre Masing Maxwell MenegottoPinto
        NonlinearViscous Parallel Polynomial Thermostat Viscous
    """,
    "structures": """
        Attachment Beam ColumnTest Device FiberFrame Frame2D FrameLine FrameMember Matrices Modal PointMass
        Rayleigh ReinforcedSection RigidFloorBuilding Sensor Sensors ShearBuilding SparseMatrices Truss modes
        reduce
    """,
    "simulation": """
        CentralDifference ExactLinear Initial KRAlpha MKRAlpha Newmark Response RungeKutta4 pushover
        reduce_to simulate simulate_many
    """,
    "modal": """
        ssi
    """,
    "identification": """
        SIVA Bayes ExtendedKalman GlobalSearch Identification JointLoads LeastSquares ModalFit NoisyInputFit
        OnlineMasing OnlineRecall PIDynNet SparseRegression TrajectoryFit Unknown UnknownLoad UnscentedKalman
        WeakCollocation calibrate compare find_loads identify load_identification place_sensors
    """,
    "hybrid": """
        Actuator BandedFrictionDamper Experimental HybridResult HybridTest LawDevice Modelled impose
    """,
    "studies": """
        study
    """,
    "bridge": """
        from_opensees to_opensees
    """,
}
_PACKAGE_OF = {name: package for package, names in _NAMES_OF_PACKAGES.items() for name in names.split()}

if not _typing.TYPE_CHECKING:  # an editor that saw it would accept any name

    def __getattr__(name: str):
        if name in _PACKAGE_OF:
            globals()[name] = value = getattr(_import_module(f"vibrid.{_PACKAGE_OF[name]}"), name)
            return value
        if name in _PACKAGES:
            return _import_module(f"vibrid.{name}")
        names = _import_module("vibrid.moved_names").MOVED
        return _import_module("vibrid.core.moved").moved("vibrid", name, names)


def __dir__() -> list[str]:
    dunders = (name for name in globals() if name.startswith("__"))
    return sorted({*dunders, *__all__, *_PACKAGES})
