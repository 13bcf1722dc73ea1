"""The packet of one sample on the network: a fixed layout of plain numbers, checked before it is used.

Little-endian: 4 bytes `VBR1`, a 32-bit number of the sample, a 64-bit time in seconds, a 16-bit count of channels, and
that many 64-bit values. A value that is missing is NaN. Nothing else is accepted, so nothing can be executed.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from vibrid.core.errors import InputError
from vibrid.records.streams.order import Arrival

MAGIC = b"VBR1"
HEAD = struct.Struct("<4sIdH")
MOST_CHANNELS = 128
LARGEST = HEAD.size + 8 * MOST_CHANNELS
"""Bytes of the largest packet."""


def pack(number: int, time: float, values: Sequence[float]) -> bytes:
    """The packet of sample `number` at `time` seconds."""
    if len(values) > MOST_CHANNELS:
        raise InputError(f"A packet holds at most {MOST_CHANNELS} channels, not {len(values)}.")
    return HEAD.pack(MAGIC, number % 2**32, time, len(values)) + struct.pack(f"<{len(values)}d", *values)


def unpack(packet: bytes, channels: int) -> Arrival:
    """The sample in a packet; one that is not exactly as expected is refused with the reason."""
    if len(packet) < HEAD.size or packet[:4] != MAGIC:
        raise InputError(f"A packet of {len(packet)} bytes does not begin like a sample.")
    _, number, time, count = HEAD.unpack_from(packet)
    if count != channels:
        raise InputError(f"A packet has {count} channels; {channels} are expected.")
    if len(packet) != HEAD.size + 8 * count:
        raise InputError(f"A packet of {count} channels has {HEAD.size + 8 * count} bytes, not {len(packet)}.")
    values = struct.unpack_from(f"<{count}d", packet, HEAD.size)
    if not math.isfinite(time) or any(math.isinf(v) for v in values):
        raise InputError("A packet holds a number that is not finite.")
    return Arrival(number, time, values)
