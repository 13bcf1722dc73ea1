"""The address of a device server, and its allowed clients."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from vibrid.core.errors import InputError
from vibrid.hybrid.wire.links import PROTOCOLS, SPIN, resolve


@dataclass(frozen=True)
class Listener:
    """The address of a device server, its allowed clients, and its time limits.

    host, port: by default this computer only; port 0 takes a free one.
    allow: addresses or networks (`192.168.1.20`, `10.0.0.0/24`) of clients; required if others can reach the server.
    greeting: seconds in which a client that connected must send its first messages.
    idle: seconds without a message after which a client in a test is disconnected.
    spin: seconds of active waiting for each message before sleeping.
    """

    host: str = "127.0.0.1"
    port: int = 8090
    protocol: str = "tcp"
    allow: tuple[str, ...] = ()
    greeting: float = 5.0
    idle: float = 120.0
    spin: float = SPIN
    networks: tuple = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        if self.protocol not in PROTOCOLS:
            raise InputError(f"The protocol of a server is {' or '.join(PROTOCOLS)}, not '{self.protocol}'.")
        if not (self.greeting > 0 and self.idle > 0):
            raise InputError("The times `greeting` and `idle` must be positive.")
        if not 0 <= self.port <= 65535:
            raise InputError(f"{self.port} is not a port: ports are 0 to 65535.")
        try:
            networks = tuple(ipaddress.ip_network(peer, strict=False) for peer in self.allow)
        except ValueError as problem:
            raise InputError(f"The list of allowed clients has an entry that is no address: {problem}.") from None
        object.__setattr__(self, "networks", networks)
        _, address = resolve(self.host, self.port, self.protocol)
        if not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback and not networks:
            raise InputError(
                f"'{self.host}' can be reached from other computers, and any of them could move the device: name the "
                'allowed clients, as in allow = ["192.168.1.20"] or --allow 192.168.1.20.'
            )

    def allows(self, address) -> bool:
        """Whether a client with this address is allowed."""
        client = ipaddress.ip_address(address[0].partition("%")[0])
        client = getattr(client, "ipv4_mapped", None) or client
        if not self.networks:
            return client.is_loopback
        return any(client in network for network in self.networks)
