"""Progress of long computations. Silent unless a front end shows it."""

from __future__ import annotations


class Progress:
    """Silent progress, and the base class of all others: methods call these functions, front ends override them."""

    def stage(self, label: str, total: int | None = None) -> None:
        """A new stage of work begins; `total` steps are expected, when that is known."""

    def update(self, done: int, note: str = "") -> None:
        """`done` steps of the current stage are finished; `note` is a short remark on its state."""


SILENT = Progress()
