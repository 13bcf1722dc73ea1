"""The meaning of the numbers that go into and come out of an exported step."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from vibrid.core.errors import InputError
from vibrid.core.traced import Traced


class Port(NamedTuple):
    """A number of the interface: its name, unit and meaning; its value at the start, or for good if it is a limit."""

    name: str
    unit: str = ""
    meaning: str = ""
    value: float = 0.0

    def __str__(self) -> str:
        return ", ".join(part for part in (self.name, self.unit, self.meaning) if part)


class Bit(NamedTuple):
    """A bit of the flags."""

    name: str
    value: int
    meaning: str


@dataclass(frozen=True)
class Interface:
    """Inputs and outputs of a step, and what else its user must know.

    Arguments
        inputs, outputs: one port a number.
        flags: bits of one number more, the last of the step's outputs; empty for a step that gives none.
        limits: constants of the step.
        note: a line on where the step comes from.
    """

    inputs: Sequence[Port]
    outputs: Sequence[Port]
    flags: Sequence[Bit] = ()
    limits: Sequence[Port] = ()
    note: str = ""

    def check(self, traced: Traced) -> None:
        """Refuse an interface with more or fewer numbers than the step, or with names that are no plain words."""
        given = traced.output.size - bool(self.flags)
        for what, ports, size in (("inputs", self.inputs, traced.input.size), ("outputs", self.outputs, given)):
            if len(ports) != size:
                raise InputError(f"The step has {size} {what}, but {len(ports)} are named.")
        for port in (*self.inputs, *self.outputs, *self.flags, *self.limits):
            if not re.fullmatch(r"[A-Za-z]\w*", port.name, re.ASCII):
                raise InputError(f"A name of an exported step is letters, digits and _, not '{port.name}'.")


def plain(inputs: int, outputs: int) -> Interface:
    """Numbers without a meaning: in_0, in_1 …, out_0 …"""
    return Interface([Port(f"in_{i}") for i in range(inputs)], [Port(f"out_{i}") for i in range(outputs)])
