"""Figures as files."""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.figure import Figure

from vibrid.core.errors import InputError
from vibrid.core.files import write_bytes

LARGEST_PICTURE = 120_000
"""Bytes of a picture that is kept in the repository, at most."""


def save_figure(figure: Figure, path, dpi: float = 110) -> Path:
    """Write a figure in the format that the ending says (.png, .pdf, .svg …); the file appears whole or not at all.

    It is drawn in memory, so that a full disk finds it finished.
    """
    ending = Path(path).suffix.lower().removeprefix(".")
    known = figure.canvas.get_supported_filetypes()
    if ending not in known:
        raise InputError(f"'{path}' should end in {', '.join(f'.{name}' for name in sorted(known))}.")
    image = io.BytesIO()
    figure.savefig(image, format=ending, dpi=dpi)
    return write_bytes(path, image.getvalue())


def small_png(figure: Figure, largest: int = LARGEST_PICTURE) -> bytes:
    """A figure as a PNG with a palette of at most 256 colours; fewer colours, then fewer dots, until it is small."""
    from PIL import Image

    for dpi, colours in ((110, 256), (110, 64), (110, 32), (80, 32), (60, 16)):
        drawn, small = io.BytesIO(), io.BytesIO()
        figure.savefig(drawn, format="png", dpi=dpi)
        picture = Image.open(drawn).convert("RGB").quantize(colours, dither=Image.Dither.NONE)
        picture.save(small, format="png", optimize=True)
        if small.tell() <= largest:
            break
    return small.getvalue()
