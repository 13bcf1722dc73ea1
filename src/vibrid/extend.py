"""The names for authors of plugins, in one place: these stay as they are while others may move.

Base classes to derive from, the registries that make a class known, and the few functions that a plugin calls. Each
is described in docs/extending.md, with a complete file for every kind (`vibrid new law NAME`).

    from vibrid.extend import LAWS, StaticLaw, parameter
"""

from __future__ import annotations

from vibrid.core.errors import FileProblem, InputError, Refusal, VibridError
from vibrid.core.parameters import Parameter, parameter
from vibrid.core.plugins import load_file
from vibrid.core.progress import SILENT, Progress
from vibrid.core.registry import Origin, Registry
from vibrid.hybrid.actuator import DYNAMICS, Dynamics
from vibrid.hybrid.compensation import COMPENSATORS, Compensator
from vibrid.hybrid.device import SPECIMENS, Companion, LoopDevice, Reading
from vibrid.identification.conclude import conclude, predictions_at, residual_deviations
from vibrid.identification.method import METHODS, NEEDS, Method, Sample, Sequential
from vibrid.identification.problem import Problem
from vibrid.identification.result import Identification
from vibrid.laws.base import LAWS, Law, Motion, RateLaw, StaticLaw, absolute_power
from vibrid.laws.distributions import DISTRIBUTIONS, YieldDistribution
from vibrid.laws.material import Material
from vibrid.records.readers.assemble import assemble
from vibrid.records.readers.layout import Layout
from vibrid.records.readers.reader import READERS, Reader
from vibrid.records.readers.source import Source
from vibrid.records.record import Channel, Record
from vibrid.simulation.base import INTEGRATORS, ExplicitIntegrator, Integrator, State, Trial
from vibrid.structures.base import STRUCTURES, Attachment, Structure, as_attachments, as_damping
from vibrid.structures.damping import DAMPINGS, Damping

__all__ = [
    "COMPENSATORS",
    "DAMPINGS",
    "DISTRIBUTIONS",
    "DYNAMICS",
    "INTEGRATORS",
    "LAWS",
    "METHODS",
    "NEEDS",
    "READERS",
    "SILENT",
    "SPECIMENS",
    "STRUCTURES",
    "Attachment",
    "Channel",
    "Companion",
    "Compensator",
    "Damping",
    "Dynamics",
    "ExplicitIntegrator",
    "FileProblem",
    "Identification",
    "InputError",
    "Integrator",
    "Law",
    "Layout",
    "LoopDevice",
    "Material",
    "Method",
    "Motion",
    "Origin",
    "Parameter",
    "Problem",
    "Progress",
    "RateLaw",
    "Reader",
    "Reading",
    "Record",
    "Refusal",
    "Registry",
    "Sample",
    "Sequential",
    "Source",
    "State",
    "StaticLaw",
    "Structure",
    "Trial",
    "VibridError",
    "YieldDistribution",
    "absolute_power",
    "as_attachments",
    "as_damping",
    "assemble",
    "conclude",
    "load_file",
    "parameter",
    "predictions_at",
    "residual_deviations",
]
