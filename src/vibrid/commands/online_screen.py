"""The display of a live run on standard error: a table that stays in place, or plain lines."""

from __future__ import annotations

import sys


class _Lines:
    """Plain lines on stderr where there is no terminal."""

    every = 5.0

    def __call__(self, rows, note: str) -> None:
        text = ", ".join(f"{name} {value} ± {band}" for name, value, band, _ in rows)
        print(f"{note}: {text}", file=sys.stderr, flush=True)


class _Table:
    """A table that stays in place."""

    every = 0.2

    def __init__(self, live):
        self.live = live

    def __call__(self, rows, note: str) -> None:
        from rich import box
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, caption=note, caption_justify="left")
        for heading in ("parameter", "estimate", "± 2σ", "unit"):
            table.add_column(heading, justify="right" if heading in ("estimate", "± 2σ") else "left")
        for row in rows:
            table.add_row(*row)
        self.live.update(table)


class screen:
    """The display that suits the terminal."""

    def __enter__(self):
        if not sys.stderr.isatty():
            self.live = None
            return _Lines()
        from rich.console import Console
        from rich.live import Live

        self.live = Live(console=Console(stderr=True), refresh_per_second=5)
        self.live.__enter__()
        return _Table(self.live)

    def __exit__(self, *problem):
        if self.live is not None:
            self.live.__exit__(*problem)
