"""Devices behind a network connection: the protocol of OpenSees' remote element, a device server, and its client."""

from vibrid.core.moved import moved
from vibrid.hybrid.wire.ending import Ending
from vibrid.hybrid.wire.listener import Listener
from vibrid.hybrid.wire.protocol import WireProblem
from vibrid.hybrid.wire.remote import Remote, RemoteSubstructure
from vibrid.hybrid.wire.server import DeviceServer
from vibrid.hybrid.wire.watchdog import Watchdog

__all__ = ["DeviceServer", "Ending", "Listener", "Remote", "RemoteSubstructure", "Watchdog", "WireProblem"]

MOVED = {"Door": "vibrid.hybrid.Listener"}


def __getattr__(name: str):
    return moved(__name__, name, MOVED)
