"""How a test on a device server ended."""

from __future__ import annotations

from dataclasses import dataclass, field

from vibrid.hybrid.timing import Times


@dataclass(frozen=True)
class Ending:
    """How a test ended: the reason, whether normally, the number of committed steps, and the response times."""

    reason: str
    well: bool
    steps: int = 0
    trials: int = 0
    answers: Times = field(default_factory=Times)
    """Seconds from the arrival of a trial to the force of the device."""
    stopped: bool = False
    """Whether the test was stopped for safety."""
    ignored: int = 0
    """Messages that were ignored: repeated, late, or of someone else."""

    def __str__(self) -> str:
        ignored = f", {self.ignored} datagrams ignored" if self.ignored else ""
        if not self.steps:
            return f"{self.reason}; no step was committed{ignored}."
        return f"{self.reason}; {self.steps} steps, {self.trials} trials{ignored}, answers in {self.answers}."
