"""What a script said: its OpenSees commands in order, each with the file and line it stands in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

RESULTS = frozenset([
    "nodeDisp", "nodeVel", "nodeAccel", "nodeReaction", "nodeResponse", "nodeEigenvector", "nodeUnbalance",
    "eleForce", "eleResponse", "eleDynamicalForce", "basicForce", "basicDeformation", "basicStiffness",
    "sectionForce", "sectionDeformation", "sectionStiffness", "sectionFlexibility", "getLoadFactor", "testNorm",
    "testNorms", "testIter", "modalProperties", "responseSpectrum", "getStress", "getStrain", "getTangent",
    "getEleLoadData", "setStrain", "testUniaxialMaterial",
])  # fmt: skip
"""Commands whose answer needs an analysis: the record of a script ends at the first."""

ENVIRONMENT = frozenset([
    "constraints", "numberer", "system", "test", "algorithm", "recorder", "record", "printModel", "printGID",
    "logFile", "reactions", "start", "stop", "wipeAnalysis", "setNumThreads", "setPrecision", "database", "save",
    "restore", "print", "defaultUnits", "partition", "barrier", "InitialStateAnalysis", "initialize", "searchPeerNGA",
    "playback", "printA", "printB",
])  # fmt: skip
"""Commands that say how to compute or what to write, not what the structure is."""


@dataclass(frozen=True)
class ScriptCommand:
    """One command: its name, its arguments (numbers and words), and where it stands."""

    name: str
    arguments: tuple[Any, ...]
    file: str
    line: int

    @property
    def where(self) -> str:
        return f"{self.file}, line {self.line}"


@dataclass(frozen=True)
class Recording:
    """All commands of a script; `ended` tells where the record ends when the script asked for a result."""

    script: str
    commands: tuple[ScriptCommand, ...]
    ended: str = ""
    answers: tuple[str, ...] = ()


def flat(values: Iterable[Any]) -> list[Any]:
    """Arguments as one list of plain numbers and words: lists and arrays are opened."""
    made: list[Any] = []
    for value in values:
        if isinstance(value, str | int | float):
            made.append(value)
        elif hasattr(value, "tolist"):
            inside = value.tolist()
            made += flat(inside if isinstance(inside, list) else [inside])
        elif isinstance(value, Iterable):
            made += flat(value)
        else:
            made.append(float(value))
    return made


class NeedsAnalysis(BaseException):
    """The script asks for a result: the record ends here. Not an `Exception`, so that no script catches it."""

    def __init__(self, command: ScriptCommand) -> None:
        self.command = command
        super().__init__(command.where)
