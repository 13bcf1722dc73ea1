import pytest
from example_files import EXAMPLES
from typer.testing import CliRunner

from vibrid.cli import app


@pytest.fixture
def vibrid():
    """Runs a command and gives its result: exit code, standard output and standard error."""
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture
def example():
    return {path.stem: path for path in EXAMPLES}
