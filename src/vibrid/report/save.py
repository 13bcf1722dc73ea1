"""Figures as files."""

from __future__ import annotations

import io
from pathlib import Path

from matplotlib.figure import Figure

from vibrid.core.errors import InputError
from vibrid.core.files import write_bytes


def save_figure(figure: Figure, path, dpi: float = 110) -> Path:
    """Write a figure in the format of the ending (.png, .pdf, .svg …); the file is written completely or not at all.

    It is drawn in memory first, so that a full disk leaves no partial file.
    """
    ending = Path(path).suffix.lower().removeprefix(".")
    known = figure.canvas.get_supported_filetypes()
    if ending not in known:
        raise InputError(f"'{path}' should end in {', '.join(f'.{name}' for name in sorted(known))}.")
    image = io.BytesIO()
    figure.savefig(image, format=ending, dpi=dpi)
    return write_bytes(path, image.getvalue())
