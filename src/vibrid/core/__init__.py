"""Shared by all packages: errors, names, paths, registries, progress and precision."""

from vibrid.core import plugins  # noqa: F401  (registries look for plugins from now on)
from vibrid.core.errors import Divergence, FileProblem, InputError, Refusal, VibridError
from vibrid.core.progress import Progress

__all__ = ["Divergence", "FileProblem", "InputError", "Progress", "Refusal", "VibridError"]
