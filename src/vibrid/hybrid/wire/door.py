"""Where a server listens, and who may come in."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from vibrid.core.errors import InputError
from vibrid.hybrid.wire.links import PROTOCOLS, SPIN, resolve


@dataclass(frozen=True)
class Door:
    """Where a server listens, who may come in, and how long it waits.

    host, port: this machine alone unless said otherwise; port 0 takes a free one.
    allow: addresses or networks (`192.168.1.20`, `10.0.0.0/24`) of clients; needed when others can reach the server.
    greeting: seconds in which a client that connected must say what it wants, and begin.
    idle: seconds without a message after which a client in a test is given up.
    spin: seconds of waiting awake for each message before sleeping.
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
            raise InputError(f"A server speaks {' or '.join(PROTOCOLS)}, not '{self.protocol}'.")
        if not (self.greeting > 0 and self.idle > 0):
            raise InputError("The seconds for a greeting and of idleness must be positive.")
        if not 0 <= self.port <= 65535:
            raise InputError(f"{self.port} is not a port: they go from 0 to 65535.")
        try:
            networks = tuple(ipaddress.ip_network(peer, strict=False) for peer in self.allow)
        except ValueError as problem:
            raise InputError(f"The list of allowed clients holds something else than addresses: {problem}.") from None
        object.__setattr__(self, "networks", networks)
        _, address = resolve(self.host, self.port, self.protocol)
        if not ipaddress.ip_address(address[0].partition("%")[0]).is_loopback and not networks:
            raise InputError(
                f"'{self.host}' can be reached from other machines, and whoever reaches the server moves the device: "
                'say which clients may, as in allow = ["192.168.1.20"] or --allow 192.168.1.20.'
            )

    def lets_in(self, address) -> bool:
        """Whether a client with this address may come in."""
        found = ipaddress.ip_address(address[0].partition("%")[0])
        found = getattr(found, "ipv4_mapped", None) or found
        if not self.networks:
            return found.is_loopback
        return any(found in network for network in self.networks)
