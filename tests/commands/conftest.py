from pathlib import Path

import pytest
from typer.testing import CliRunner

from vibrid.cli import app

EXAMPLES = sorted((Path(__file__).resolve().parents[2] / "examples").glob("*.toml"))


@pytest.fixture
def vibrid():
    """Runs a command and gives its result: exit code, standard output and standard error."""
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def example():
    return {path.stem: path for path in EXAMPLES}
