"""A hybrid test in the terminal while it runs: displacement, forces, late steps."""

from __future__ import annotations

import sys
import time
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from vibrid.hybrid.result import Glimpse

_BLOCKS = "▁▂▃▄▅▆▇█"
_WIDTH = 48
_EVERY = 2.0  # s between lines where nobody watches


def spark(values, width: int = _WIDTH) -> str:
    """A line of blocks: the last `width` values between their least and greatest."""
    shown = np.asarray(list(values)[-width:], float)
    span = np.ptp(shown) if len(shown) else 0.0
    if not span > 0:
        return _BLOCKS[0] * len(shown)
    places = ((shown - shown.min()) / span * (len(_BLOCKS) - 1)).round().astype(int)
    return "".join(_BLOCKS[i] for i in places)


class View:
    """Shows a running test; call it with a `Glimpse`."""

    def __init__(self, test, place: str, title: str):
        self.row, self.place, self.title = test.structure.row(place), place, title
        self.names = [part.name for part in test.parts]
        self.displacement: deque = deque(maxlen=_WIDTH)
        self.forces = [deque(maxlen=_WIDTH) for _ in self.names]
        self.peak, self.peaks = 0.0, [0.0] * len(self.names)
        self.glimpse: Glimpse | None = None
        self.started = time.monotonic()

    def __call__(self, glimpse: Glimpse) -> None:
        self.glimpse = glimpse
        x = float(self.row @ glimpse.displacement)
        self.displacement.append(x)
        self.peak = max(self.peak, abs(x))
        for i, force in enumerate(glimpse.forces):
            self.forces[i].append(force)
            self.peaks[i] = max(self.peaks[i], abs(float(force)))
        for warning in glimpse.warnings:
            self.tell(warning)
        self.show(glimpse)

    def tell(self, warning: str) -> None:
        """A warning, as soon as it is known."""
        print(f"Warning, {warning}", file=sys.stderr, flush=True)

    def show(self, g: Glimpse) -> None:
        """Draw the current values."""

    @property
    def pace(self) -> float:
        """Seconds of the test per second of real time."""
        return (0.0 if self.glimpse is None else self.glimpse.time) / max(time.monotonic() - self.started, 1e-9)

    def rows(self) -> list[tuple[str, str, str, str]]:
        """(place or device, current value, largest so far, recent values)."""
        rows = [
            (
                self.place,
                f"{1e3 * self.displacement[-1]:+8.2f} mm",
                f"{1e3 * self.peak:.2f} mm",
                spark(self.displacement),
            )
        ]
        for name, force, peak in zip(self.names, self.forces, self.peaks, strict=True):
            rows.append((name, f"{1e-3 * force[-1]:+8.2f} kN", f"{1e-3 * peak:.2f} kN", spark(force)))
        return rows


class LiveView(View):
    """A panel that is redrawn in place."""

    def __init__(self, test, place: str, title: str):
        from rich.console import Console
        from rich.live import Live

        super().__init__(test, place, title)
        self.live = Live(console=Console(stderr=True), refresh_per_second=8)

    def tell(self, warning: str) -> None:
        from rich.text import Text

        self.live.console.print(Text(f"Warning, {warning}", style="bold red"))  # above the panel, where it stays

    def show(self, g: Glimpse) -> None:
        from rich import box
        from rich.table import Table
        from rich.text import Text

        late = Text(f"{g.misses} late", style="bold red" if g.misses else "green")
        caption = Text(f"{g.time:.2f} s, step {g.done} of {g.steps}, {self.pace:.3g} × real time, ") + late
        table = Table(title=Text(self.title), box=box.ROUNDED, caption=caption, title_style="bold")
        for heading in ("", "now", "largest so far", ""):
            table.add_column(heading, justify="right" if heading else "left", no_wrap=True)
        for row in self.rows():
            table.add_row(*map(Text, row))
        self.live.update(table)


class PlainView(View):
    """A line every few seconds."""

    def __init__(self, test, place: str, title: str):
        super().__init__(test, place, title)
        self.printed = time.monotonic()

    def show(self, g: Glimpse) -> None:
        if time.monotonic() - self.printed < _EVERY and g.done < g.steps:
            return
        self.printed = time.monotonic()
        values = ", ".join(f"{name} {now.strip()}" for name, now, _, _ in self.rows())
        print(f"{g.time:.2f} s: {values}; {g.misses} late", file=sys.stderr, flush=True)


@contextmanager
def watching(test, place: str, title: str, quiet: bool = False):
    """The view that suits the terminal; None when nothing is to be shown."""
    if quiet:
        yield None
    elif sys.stderr.isatty():
        view = LiveView(test, place, title)
        with view.live:
            yield view
    else:
        yield PlainView(test, place, title)
