"""One method per file, each registered under the name that project files and the command line use."""

from vibrid.identification.methods.trajectory import TrajectoryFit

__all__ = ["TrajectoryFit"]
