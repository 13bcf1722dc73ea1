"""Progress: what long work tells whoever waits for it. Silent unless somebody listens."""

from __future__ import annotations


class Progress:
    """The silent listener, and the contract of every other: methods call these, front ends override them."""

    def stage(self, label: str, total: int | None = None) -> None:
        """A new stage of work begins; `total` steps are expected, when that is known."""

    def update(self, done: int, note: str = "") -> None:
        """`done` steps of the current stage are finished; `note` is a short word on how it goes."""


SILENT = Progress()
