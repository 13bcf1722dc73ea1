"""Sources of samples: a stored record played again, lines of text, or packets on the network."""

from __future__ import annotations

import math
import queue
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

import numpy as np

from vibrid.core.errors import InputError
from vibrid.records.streams.header import ExpectedUnit, plain_layout, read_header
from vibrid.records.streams.order import Arrival
from vibrid.records.streams.packets import LARGEST, unpack

LONGEST_LINE = 4096
"""Characters of a line of text; a longer one is refused."""
WAITING_EVERY = 5.0
"""Seconds between two reports that the first packet is waited for."""


class Silence(Exception):
    """Nothing came for a while."""


def replay(data: np.ndarray, step: float, speed: float = math.inf, first: int = 0) -> Iterator[Arrival]:
    """The rows of a record from `first`, `speed` times as fast as they were measured; infinite means at once."""
    started = time.monotonic()
    for number, row in enumerate(data[first:], first):
        if math.isfinite(speed):
            wait = started + (number - first) * step / speed - time.monotonic()
            if wait > 0:
                time.sleep(wait)
        yield Arrival(number, number * step, tuple(row))


def lines(
    stream: TextIO, names: Sequence[str], step: float, refuse: Callable[[str], None], first: float | None = None,
    units: Sequence[ExpectedUnit] | None = None,
) -> Iterator[Arrival]:  # fmt: skip
    """Lines `time,value,value,…` of a pipe; a first line with names gives the order of the columns, and their units.

    A line that cannot be read is refused and skipped. `first`: the time of sample 0, by default that of the first line.
    `units`: what the project states; values of a column whose unit it does not state are converted from that of the
    first line to SI. A first line that contradicts it, or lacks a column, is an InputError.
    """
    layout = plain_layout(len(names))
    for i, line in enumerate(_whole_lines(stream)):
        cells = [c.strip() for c in line.strip().split(",")]
        if cells == [""]:
            continue
        if i == 0 and (header := read_header(cells, names, units or [ExpectedUnit()] * len(names))) is not None:
            layout = header
            continue
        try:
            when = layout.seconds * float(cells[0])
            numbers = (float(cells[j]) if cells[j] else math.nan for j in layout.order)
            values = tuple(
                v if convert is None else float(convert(v)) for v, convert in zip(numbers, layout.convert, strict=True)
            )
        except (ValueError, IndexError):
            refuse(f"line {i + 1} is not a time and {len(names)} numbers")
            continue
        number = 0.0 if first is None else (when - first) / step
        if not math.isfinite(when) or any(math.isinf(v) for v in values) or not abs(number) < 2**31:
            refuse(f"line {i + 1} holds a number that is not finite, or a time that is far away")
            continue
        first = when if first is None else first
        yield Arrival(round(number), when, values)


def _whole_lines(stream: TextIO) -> Iterator[str]:
    """Lines of a stream; of one that is too long a text that no sample can be."""
    while line := stream.readline(LONGEST_LINE):
        if len(line) < LONGEST_LINE or line.endswith("\n"):
            yield line
            continue
        while (rest := stream.readline(LONGEST_LINE)) and not rest.endswith("\n"):
            pass
        yield "a line that is too long"


def udp(
    host: str,
    port: int,
    channels: int,
    timeout: float,
    refuse: Callable[[str], None],
    opened: Callable[[int], None] | None = None,
    wait: float | None = None,
    waiting: Callable[[float], None] | None = None,
) -> Iterator[Arrival]:
    """Packets from the first sender on a port; those of others are refused.

    Raises `Silence` when no valid packet comes for `timeout` seconds, or the first for `wait` seconds (`timeout` by
    default; it may be infinite). `opened` is called with the number of the port; `waiting` every few seconds before the
    first packet, with the seconds so far.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        ear = socket.socket(family, socket.SOCK_DGRAM)
        ear.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2**22)
        ear.bind((host, port))
    except (OSError, OverflowError) as problem:
        raise InputError(f"Cannot listen on {host} port {port}: {problem}.") from None
    with ear:
        if opened is not None:
            opened(ear.getsockname()[1])
        sender, started = None, time.monotonic()
        heard = started
        while True:
            patience = wait if sender is None and wait is not None else timeout
            left = heard + patience - time.monotonic()
            if left <= 0:
                raise Silence
            ear.settimeout(min(left, WAITING_EVERY) if sender is None else left)
            try:
                packet, address = ear.recvfrom(LARGEST + 1)
            except TimeoutError:
                if sender is None and waiting is not None and left > WAITING_EVERY:
                    waiting(time.monotonic() - started)
                continue
            if sender is not None and address != sender:
                refuse(f"a packet from {address[0]} port {address[1]} is not from the first sender")
                continue
            try:
                arrival = unpack(packet, channels)
            except InputError as problem:
                refuse(str(problem))
                continue
            sender = address
            yield arrival
            heard = time.monotonic()  # the time that the reader of this spends is not the sender's silence


def in_background(arrivals: Iterator[Arrival], most: int = 1_000_000) -> Iterator[Arrival]:
    """The same arrivals, received by a thread from now on: nothing is lost while the reader compiles or computes.

    Up to `most` wait; the end or an error of the source is passed on when all samples before it are read.
    """
    waiting: queue.Queue = queue.Queue(most)

    def take() -> None:
        try:
            for arrival in arrivals:
                waiting.put(arrival)
            waiting.put(StopIteration())
        except Exception as ended:  # Silence, or a problem: it belongs to the reader
            waiting.put(ended)

    def give() -> Iterator[Arrival]:
        while not isinstance(arrival := waiting.get(), Exception):
            yield arrival
        if not isinstance(arrival, StopIteration):
            raise arrival

    threading.Thread(target=take, daemon=True).start()
    return give()
