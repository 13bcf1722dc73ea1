"""Faults of the wire: what a network can do to the samples of `vibrid online` over UDP, thirty faults.

Each fault is a list of datagrams in place of 400 good ones. Its rule: the run ends by itself, every refused datagram is
counted, no sample is used twice or out of order, and lost samples are counted exactly.
"""

from __future__ import annotations

import math
import socket
import struct
import threading
import time
from itertools import pairwise

import numpy as np

from vibrid.records.streams import Sequencer, Silence, in_background, pack, udp

COUNT, STEP, CHANNELS = 400, 0.01, 2


def packet(n: int) -> bytes:
    return pack(n, STEP * n, (math.sin(STEP * n), float(n)))


GOOD = [packet(n) for n in range(COUNT)]


def _without(lost) -> list[bytes]:
    return [p for n, p in enumerate(GOOD) if n not in lost]


def _at(n: int, *more: bytes) -> list[bytes]:
    return GOOD[:n] + list(more) + GOOD[n:]


def _shuffled(reach: int) -> list[bytes]:
    """Every block of `reach` datagrams in another order."""
    generator = np.random.default_rng(reach)
    blocks = [GOOD[i : i + reach] for i in range(0, COUNT, reach)]
    return [block[i] for block in blocks for i in generator.permutation(len(block))]


def _renumbered(first: int) -> list[bytes]:
    return [pack(first + n, STEP * n, (0.0, float(n))) for n in range(COUNT)]


def faults() -> dict[str, tuple[list[bytes], int, int]]:
    """Datagrams, samples that must be lost, datagrams that must be refused; by the name of the fault."""
    head, body = GOOD[5][:18], GOOD[5][18:]
    return {
        "none": (GOOD, 0, 0),
        "one lost": (_without({200}), 1, 0),
        "ten lost one by one": (_without(set(range(50, 150, 10))), 10, 0),
        "a block of 100 lost": (_without(set(range(100, 200))), 100, 0),
        "a block of 300 lost, more than is filled": (_without(set(range(50, 350))), 300, 0),
        "every other one lost": (_without(set(range(1, COUNT - 1, 2))), 199, 0),
        "the first ones lost": (GOOD[50:], 0, 0),
        "the last ones lost": (GOOD[:350], 0, 0),
        "all twice": ([p for p in GOOD for _ in range(2)], 0, 0),
        "a block repeated": (_at(200, *GOOD[150:200]), 0, 0),
        "pairs exchanged": (_shuffled(2), 0, 0),
        "blocks of eight in another order": (_shuffled(8), 0, 0),
        "one very late": ([*_without({100})[:300], GOOD[100], *GOOD[301:]], 1, 0),
        "empty": (_at(9, b""), 0, 1),
        "random bytes": (_at(9, np.random.default_rng(0).bytes(34)), 0, 1),
        "another program's": (_at(9, b"GET / HTTP/1.1\r\n\r\n"), 0, 1),
        "a pickle": (_at(9, b"\x80\x04cos\nsystem\n."), 0, 1),
        "cut": (_at(9, GOOD[9][:-1]), 0, 1),
        "too long": (_at(9, GOOD[9] + b"x"), 0, 1),
        "the largest a datagram can be": (_at(9, b"VBR1" * 15000), 0, 1),
        "too many channels": (_at(9, pack(9, 0.09, (1.0,) * 3)), 0, 1),
        "a count of channels that is wrong": (_at(9, head[:16] + struct.pack("<H", 65535) + body), 0, 1),
        "another mark": (_at(9, b"VBR9" + GOOD[9][4:]), 0, 1),
        "a time that is not finite": (_at(9, pack(9, math.nan, (1.0, 2.0))), 0, 1),
        "a value that is infinite": (_at(9, pack(9, 0.09, (1.0, -math.inf))), 0, 1),
        "a value that is missing": ([*GOOD[:9], pack(9, 0.09, (math.nan, 9.0)), *GOOD[10:]], 0, 0),
        "a number far away": (_at(9, pack(3_000_000_000, 0.09, (1.0, 2.0))), 0, 0),
        "numbers that begin again after the largest": (_renumbered(2**32 - 100), 0, 0),
        "a jump of a million": (GOOD[:200] + [pack(10**6 + n, STEP * n, (0.0, 0.0)) for n in range(200)], 999_800, 0),
        "a flood of bad ones": (_at(200, *[b"bad"] * 3000), 0, 3000),
    }  # fmt: skip


def inject(datagrams: list[bytes]) -> tuple[Sequencer, list, int]:
    """Send datagrams to a listener on this machine; the order of samples, the samples, and the refused ones."""
    refused, port, ready = [0], [0], threading.Event()

    def refuse(reason: str) -> None:
        refused[0] += 1

    def opened(number: int) -> None:
        port[0] = number
        ready.set()

    arrivals = in_background(udp("127.0.0.1", 0, CHANNELS, 1.0, refuse, opened))
    if not ready.wait(30):
        raise TimeoutError("the listener did not start")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for i, datagram in enumerate(datagrams):
            sender.sendto(datagram, ("127.0.0.1", port[0]))
            if i % 20 == 19:
                time.sleep(0.001)  # the loss is injected, not that of a full buffer
    order, samples = Sequencer(STEP, longest_gap=250), []
    try:
        for arrival in arrivals:
            samples += order.feed(arrival)
    except Silence:
        samples += order.finish()
    return order, samples, refused[0]


def run() -> dict:
    """All faults; each with what was wrong, or nothing."""
    results, begun = {}, time.process_time()
    for name, (datagrams, lost, refused) in faults().items():
        order, samples, counted = inject(datagrams)
        numbers = [s.number for s in samples]
        wrong = []
        if order.lost != lost:
            wrong.append(f"{order.lost} lost instead of {lost}")
        if counted != refused:
            wrong.append(f"{counted} refused instead of {refused}")
        if not order.restarts and any(b <= a for a, b in pairwise(numbers)):
            wrong.append("samples out of order, or twice")
        results[name] = "; ".join(wrong)
    failures = {name: wrong for name, wrong in results.items() if wrong}
    seconds = round(time.process_time() - begun, 1)
    return {"faults": len(results), "failed": len(failures), "processor_seconds": seconds, "failures": failures}
