import pytest
from typer.testing import CliRunner

from vibrid.cli import app


@pytest.fixture
def vibrid():
    """Runs a command and gives its result: exit code, standard output and standard error."""
    return lambda *arguments: CliRunner().invoke(app, [str(a) for a in arguments])


@pytest.fixture(autouse=True, scope="session")
def without_opensees():
    """Imports are compared with OpenSees where tests ask for it, so that all others are the same on every machine."""
    from vibrid.bridge import opensees_beside

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opensees_beside, "is_installed", lambda: False)
        yield
