"""What a check found: one sentence that says what, where and what to do, and how much of the misfit it explains."""

from __future__ import annotations

from dataclasses import dataclass, field

WRONG, ODD, KNOWN = "wrong", "odd", "known"
"""Verdicts: the answer is not to be trusted before it is cured; worth a look; an error that is counted already."""


@dataclass(frozen=True)
class Finding:
    """The outcome of one check that found something.

    Fields
        name: kind of the finding: "unit", "sign", "gain", "delay", "meaning", "damping", "clipped", "gap", …
        verdict: "wrong", "odd" or "known".
        sentence: what was found, where, and what to do.
        where: the channel, or "" where it concerns several.
        explains: share of the misfit that it explains, from 0 to 1.
        numbers: the numbers of the sentence, in SI units.
    """

    name: str
    verdict: str
    sentence: str
    where: str = ""
    explains: float = 0.0
    numbers: dict[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.sentence
