"""Names of the components of a ground motion in files: N-S, E-W, U-D, H1, 090, Up, Z."""

from __future__ import annotations

import re

_HORIZONTAL = re.compile(
    r"[nsewxylth]|ns|sn|ew|we|h[12ne]|hor(iz(ontal)?)?|long?(itudinal)?|tran?s?(verse)?|north|south|east|west"
)
_VERTICAL = re.compile(r"ud?|up|v|z|vert?(ical)?")
_DOWNWARDS = re.compile(r"d|dw?n|down")
_DEGREES = re.compile(r"(\d{1,3})(deg|degrees|°)?")
_IN_NAMES = re.compile(r"ns|ew|ud|up|down|vert?(ical)?|h[12]|north|south|east|west|[nezxyv]")


def plain(word: str) -> str:
    """A name in comparable form: small letters and digits, so that N-S, N/S and NS are equal; X+ is X, X- differs."""
    text = re.sub(r"[^a-z0-9°+-]", "", str(word).lower())
    if re.fullmatch(r"[xyz][+-]", text):
        return text[0] if text[1] == "+" else text
    return re.sub(r"[+-]", "", text)


def kind_of(word: str) -> str:
    """'horizontal', 'vertical' (positive upwards) or 'downwards' for a name in a file; empty when it is neither."""
    text = plain(word)
    if _VERTICAL.fullmatch(text):
        return "vertical"
    if _DOWNWARDS.fullmatch(text):
        return "downwards"
    degrees = _DEGREES.fullmatch(text)
    return "horizontal" if _HORIZONTAL.fullmatch(text) or (degrees and int(degrees[1]) <= 360) else ""


def component_in(name: str) -> str:
    """The component that the name of a column ends with: NS of `ground_NS` and `NS`, X of `base x`; else empty."""
    words = re.split(r"[\s_.:/]+", name.strip())
    last = words[-1]
    if len(words) > 1 and plain(words[-2]) in ("n", "e", "u") and _IN_NAMES.fullmatch(plain("".join(words[-2:]))):
        last = "".join(words[-2:])
    return last.upper() if _IN_NAMES.fullmatch(plain(last)) else ""
