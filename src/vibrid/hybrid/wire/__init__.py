"""Devices behind a network connection: the protocol of OpenSees' remote element, a device server, and its client."""

from vibrid.hybrid.wire.door import Door
from vibrid.hybrid.wire.protocol import WireProblem
from vibrid.hybrid.wire.remote import Remote, RemoteSubstructure
from vibrid.hybrid.wire.server import DeviceServer
from vibrid.hybrid.wire.session import Ending

__all__ = ["DeviceServer", "Door", "Ending", "Remote", "RemoteSubstructure", "WireProblem"]
