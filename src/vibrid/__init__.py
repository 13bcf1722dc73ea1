"""vibrid: structural system identification and hybrid simulation, one model of a structure for every job.

The public names of the rooms are gathered here on first use, so that `vibrid --help` need not wait for JAX. The report
is put behind `.plot()` and `.report()` of the classes that declare them, by name: it too waits until it is asked for.
"""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING

from vibrid.core.version import __version__ as __version__
from vibrid.report.attached import attach_report as _attach_report

if TYPE_CHECKING:
    from vibrid.core import *  # noqa: F403
    from vibrid.hybrid import *  # noqa: F403
    from vibrid.identification import *  # noqa: F403
    from vibrid.laws import *  # noqa: F403
    from vibrid.records import *  # noqa: F403
    from vibrid.simulation import *  # noqa: F403
    from vibrid.structures import *  # noqa: F403


_attach_report()

_ROOMS = ("core", "laws", "records", "structures", "simulation", "identification", "hybrid")


def _gather() -> dict:
    rooms = [_import_module(f"vibrid.{room}") for room in _ROOMS]
    return {name: getattr(room, name) for room in rooms for name in room.__all__}


def __getattr__(name: str):
    if not name.startswith("_"):
        globals().update(_gather())
        if name in globals():
            return globals()[name]
    raise AttributeError(f"module 'vibrid' has no attribute '{name}'")


def __dir__():
    return sorted({*globals(), *_gather()})
