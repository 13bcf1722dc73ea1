"""Modelled devices that take over what is heard of the tested one."""

from vibrid.hybrid.listening.device import Listening
from vibrid.hybrid.listening.estimate import CompanionEstimator
from vibrid.hybrid.listening.likeness import Likeness, likeness_of
from vibrid.hybrid.listening.offline import listen
from vibrid.hybrid.listening.pairs import virtual_pairs

__all__ = ["CompanionEstimator", "Likeness", "Listening", "likeness_of", "listen", "virtual_pairs"]
