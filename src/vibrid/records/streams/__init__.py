"""Measurements in progress: samples as they arrive from a file, a pipe or the network, put in order."""

from vibrid.records.streams.arrivals_file import ArrivalFile, read_arrivals
from vibrid.records.streams.header import ExpectedUnit
from vibrid.records.streams.order import Arrival, Sequencer
from vibrid.records.streams.packets import pack, unpack
from vibrid.records.streams.sources import Silence, in_background, lines, replay, udp

__all__ = [
    "Arrival",
    "ArrivalFile",
    "ExpectedUnit",
    "Sequencer",
    "Silence",
    "in_background",
    "lines",
    "pack",
    "read_arrivals",
    "replay",
    "udp",
    "unpack",
]
