"""SeedLink, version 3: records of miniSEED as a server of seismic data sends them.

Incorporated Research Institutions for Seismology, "SeedLink protocol". A client names stations and channels, then
packets of 520 bytes follow: `SL`, a number of six hexadecimal digits, and a record of 512 bytes.
"""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from vibrid.core.errors import InputError
from vibrid.records.streams.received import Message

PORT = 18000
_HEAD, _RECORD = 8, 512
_LONGEST_ANSWER = 1000
_STATION = re.compile(r"([A-Z0-9]{1,2})_([A-Z0-9]{1,5})(?::([A-Z0-9?.+-]{2,80}))?")
_WAITS = (1.0, 5.0, 20.0, 60.0)  # s before each attempt to connect again
_SILENCE = 600.0  # s after which a connection counts as lost


@dataclass(frozen=True)
class Wanted:
    """A station and its channels: selectors such as `00HN?`; none for all."""

    network: str
    station: str
    selectors: tuple[str, ...] = ()


def wanted_of(text: str) -> list[Wanted]:
    """`XX_BRDG:00HN?+00HNZ,XX_TOWR` as stations."""
    found = [_STATION.fullmatch(part.strip()) for part in text.split(",")]
    if not text or not all(found):
        raise InputError(
            f"'{text[:80]}' names no stations: write NETWORK_STATION, with selectors of channels after a colon, as in "
            "seedlink://server:18000/XX_BRDG:00HN?,XX_TOWR."
        )
    return [Wanted(f[1], f[2], tuple((f[3] or "").split("+")) if f[3] else ()) for f in found if f]


def packets(
    host: str,
    port: int,
    wanted: Sequence[Wanted],
    after: Mapping[str, str],
    tell: Callable[[str], None],
    attempts: int | None = None,
) -> Iterator[Message | None]:
    """Records as they come, for ever, and None where none came for half a second.

    A connection that is lost is made again, from the last number on.

    Arguments
        after: NETWORK_STATION → number of the last record that is there; kept up to date by whoever takes the records.
        attempts: connections without any record after which it gives up; never, by default.
    """
    failed = 0
    while True:
        why = "the server ended the connection"
        try:
            with _connected(host, port, wanted, after) as link:
                for message in _records(link, wanted):
                    failed = failed if message is None else 0
                    yield message
        except OSError as problem:
            why = str(problem) or type(problem).__name__
        failed += 1
        if attempts is not None and failed >= attempts:
            raise InputError(f"SeedLink server {host} port {port}: {why}.")
        wait = _WAITS[min(failed, len(_WAITS)) - 1]
        tell(f"SeedLink server {host} port {port}: {why}; connecting again in {wait:g} s.")
        time.sleep(wait)


def _connected(host: str, port: int, wanted: Sequence[Wanted], after: Mapping[str, str]) -> socket.socket:
    link = socket.create_connection((host, port), timeout=30.0)
    try:
        _ask(link, "HELLO", lines=2)
        for own in wanted:
            _expect(link, f"STATION {own.station} {own.network}")
            for selector in own.selectors:
                _expect(link, f"SELECT {selector}")
            last = after.get(f"{own.network}_{own.station}")
            _expect(link, f"DATA {(int(last, 16) + 1) % 0x1000000:06X}" if last else "DATA")
        link.sendall(b"END\r\n")
        link.settimeout(0.5)
    except BaseException:
        link.close()
        raise
    return link


def _ask(link: socket.socket, command: str, lines: int = 1) -> bytes:
    link.sendall(command.encode() + b"\r\n")
    answer = b""
    while answer.count(b"\n") < lines and len(answer) < _LONGEST_ANSWER:
        part = link.recv(1)
        if not part:
            raise ConnectionError(f"the server ended the connection after {command.split()[0]}")
        answer += part
    return answer.strip()


def _expect(link: socket.socket, command: str) -> None:
    answer = _ask(link, command)
    if answer != b"OK":
        told = answer.decode("ascii", "replace")[:80]
        raise InputError(f"The SeedLink server refuses '{command}' ({told}): is the station right?")


def _records(link: socket.socket, wanted: Sequence[Wanted]) -> Iterator[Message | None]:
    known, buffer, heard = {f"{own.network}_{own.station}" for own in wanted}, b"", time.monotonic()
    while True:
        try:
            part = link.recv(65536)
        except TimeoutError:
            if time.monotonic() - heard > _SILENCE:
                raise ConnectionError(f"the server was silent for {_SILENCE:g} s") from None
            yield None
            continue
        if not part:
            return
        buffer, heard = buffer + part, time.monotonic()
        while len(buffer) >= _HEAD + _RECORD:
            head, record, buffer = buffer[:_HEAD], buffer[_HEAD : _HEAD + _RECORD], buffer[_HEAD + _RECORD :]
            if head.startswith(b"SLINFO"):
                continue
            if not re.fullmatch(rb"SL[0-9A-F]{6}", head):
                raise ConnectionError("the server sends something that is no SeedLink packet")
            station, network = (record[a:b].decode("ascii", "replace").strip() for a, b in ((8, 13), (18, 20)))
            name = f"{network}_{station}"
            if name in known:
                yield Message(record, name, head[2:].decode())
