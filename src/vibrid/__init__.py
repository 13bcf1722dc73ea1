"""vibrid: structural system identification and hybrid simulation, one model of a structure for every job."""

from vibrid.core import precision as _precision

_precision.configure()

from vibrid.laws import *  # noqa: E402, F403
from vibrid.records import *  # noqa: E402, F403
from vibrid.simulation import *  # noqa: E402, F403
from vibrid.structures import *  # noqa: E402, F403

__version__ = "0.1.0"
