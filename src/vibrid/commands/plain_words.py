"""Characters that a terminal, a pipe or a file cannot show, as plain words: σ is sigma, ± is +-."""

from __future__ import annotations

import codecs
import io
import sys
import unicodedata

ERRORS = "vibrid-plain-words"
ASCII = "vibrid-ascii"
"""ASCII whose other characters are words. Typer writes UTF-8 to a stream whose encoding is called ASCII."""

WORDS = {
    "±": "+-", "–": "-", "—": "-", "−": "-", "×": "x", "·": "*", "…": "...", "→": "->", "←": "<-", "≤": "<=",
    "≥": ">=", "≈": "~", "≠": "!=", "‖": "||", "°": " deg", "µ": "u", "√": "sqrt", "∞": "inf", "✓": "+", "é": "e",
    "‘": "'", "’": "'", "“": '"', "”": '"', "\N{NO-BREAK SPACE}": " ", "\N{NARROW NO-BREAK SPACE}": " ",
    "\N{THIN SPACE}": " ", "█": "#", "▁": ".", "•": "*", "‑": "-", "│": "|", "─": "-",
}  # fmt: skip


def plain(character: str) -> str:
    """One character in ASCII: its word or its closest sign, and `?` where there is none.

    Letters other than é are not replaced by similar ones, because they may belong to the name of a file.

    Example
        >>> "".join(map(plain, "σ₁ ± 2×10⁶"))
        'sigma1 +- 2x10^6'
    """
    if character.isascii():
        return character
    if character in WORDS:
        return WORDS[character]
    name = unicodedata.name(character, "")
    if name.startswith("GREEK "):
        word = name.split("LETTER ")[-1].split()[-1 if "FINAL" in name else 0].lower()
        return word.capitalize() if "CAPITAL" in name else word
    if name.startswith("SUBSCRIPT ") and character.isdigit():
        return str(unicodedata.digit(character))
    if name.startswith("SUPERSCRIPT ") and character.isdigit():
        return f"^{unicodedata.digit(character)}"
    if name.startswith("BRAILLE PATTERN"):  # the spinner of a progress display
        return "*"
    return "?"


def use_plain_words() -> None:
    """Standard output and standard error of this process never refuse a character."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            if codecs.lookup(stream.encoding or "ascii").name == "ascii":
                stream.reconfigure(encoding=ASCII)
            stream.reconfigure(errors=ERRORS)


def as_shown(text: str, stream) -> str:
    """The text as a stream will show it, to lay it out in columns."""
    return text if shows_everything(stream) else text.encode(stream.encoding, ERRORS).decode(stream.encoding)


def shows_everything(stream) -> bool:
    """Whether a stream holds every character; without an encoding of its own it does."""
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("_", "-").startswith("utf")


def _replace(problem: UnicodeError) -> tuple[str | bytes, int]:
    """The handler of characters that an encoding lacks: those that it has stay as they are."""
    if not isinstance(problem, UnicodeEncodeError):
        raise problem
    return "".join(map(plain, problem.object[problem.start : problem.end])), problem.end


class _AsciiEncoder(codecs.IncrementalEncoder):
    def encode(self, input: str, final: bool = False) -> bytes:
        return codecs.ascii_encode(input, ERRORS)[0]


class _AsciiDecoder(codecs.IncrementalDecoder):
    def decode(self, input, final: bool = False) -> str:
        return codecs.ascii_decode(input, "replace")[0]


def _codec(name: str) -> codecs.CodecInfo | None:
    if name.replace("_", "-") != ASCII:
        return None
    return codecs.CodecInfo(
        name=ASCII,
        encode=lambda text, errors=ERRORS: codecs.ascii_encode(text, ERRORS),
        decode=lambda data, errors="replace": codecs.ascii_decode(data, "replace"),
        incrementalencoder=_AsciiEncoder,
        incrementaldecoder=_AsciiDecoder,
    )


codecs.register_error(ERRORS, _replace)
codecs.register(_codec)
