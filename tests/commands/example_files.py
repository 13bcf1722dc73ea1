"""The project files under examples/."""

from pathlib import Path

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.toml"))
