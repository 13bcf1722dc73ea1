"""The project file: one TOML that describes structure, sensors, excitation, unknowns and method."""

from vibrid.project.load import load_project
from vibrid.project.project import Project, Simulation
from vibrid.project.tables import json_schema

__all__ = ["Project", "Simulation", "json_schema", "load_project"]
