"""The version of the package: the only place; `pyproject.toml` reads it here."""

__version__ = "0.2.0"
