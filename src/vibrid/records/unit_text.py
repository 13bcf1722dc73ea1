"""The text of a unit, `kN*s/m`, `cm/sec/sec`, `N/(m s^3)`, `m s-2`: symbols of the vocabulary and their powers.

One pass over the characters, so that no text can take long. Symbols are joined by `*`, `·`, `.`, a space or a hyphen
(products) and `/` (quotients, from left to right); a power is a whole number from -9 to 9 after `^`, `**`, as a
superscript or directly behind the symbol. The only number besides powers is 1, as in `1/s`.
"""

from __future__ import annotations

import difflib
from typing import NamedTuple

from vibrid.core.errors import InputError
from vibrid.records.unit_vocabulary import UNITS, KnownUnit, look_up

LONGEST, LARGEST_POWER = 60, 9
_EXAMPLES = "write for example m/s^2, g, cm/s^2, mm, kN or kip."
_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+", strict=True))
_SAME = str.maketrans(
    {
        **dict.fromkeys("\u00a0\u202f\u2009\u2007\u3000\t", " "),
        **dict.fromkeys("·⋅∙×", "·"),
        "−": "-",
        "μ": "µ",
        "º": "°",
    }
)
_WORD = frozenset("_'%°Ωε℃℉µ")


class Power(NamedTuple):
    """A unit of the vocabulary and its power."""

    unit: KnownUnit
    power: int


def factors_of(text: str) -> list[Power]:
    """The units and powers that a text is the product of; InputError with what to write where it is none."""
    if len(text) > LONGEST:
        raise InputError(f"'{text[:LONGEST]}…' is not a unit: it is longer than {LONGEST} characters.")
    plain = " ".join(text.translate(_SAME).split())
    if plain in ("", "-", "1"):
        return []
    unit = UNITS.get(plain.replace(" ", "_"))  # deg C
    return [Power(unit, 1)] if unit is not None else _Scanner(text, plain).run()


class _Group:
    """An open parenthesis: where its units begin in the list, the sign of their powers, and whether / occurred."""

    def __init__(self, begin: int, sign: int):
        self.begin, self.sign, self.divided = begin, sign, False


class _Scanner:
    """One pass over a text."""

    def __init__(self, given: str, text: str):
        self.given, self.text, self.at = given, text, 0
        self.units: list[Power] = []
        self.groups = [_Group(0, 1)]

    def refusal(self, why: str) -> InputError:
        return InputError(f"'{self.given}' is not a unit that is known here: {why}")

    def run(self) -> list[Power]:
        sign, operator, expected = 1, "", True  # the sign of the next power; whether a symbol must follow
        while self.at < len(self.text):
            character = self.text[self.at]
            if character == " ":
                operator = operator or " "
                self.at += 1
            elif character in "/*·.-":
                if expected:
                    raise self.refusal(f"a symbol is missing before '{character}'; {_EXAMPLES}")
                self.at += 1
                operator, expected = character, True
                sign = -1 if character == "/" else 1
                self.groups[-1].divided |= character == "/"
            elif character == ")":
                self._close(expected)
                operator, sign = "", 1
            else:
                if not expected and not operator:
                    raise self.refusal(f"an operator is missing before '{self.text[self.at :]}'; {_EXAMPLES}")
                self._refuse_two_ways(operator)
                if character == "(":
                    self.groups.append(_Group(len(self.units), sign))
                    self.at += 1
                    sign, operator, expected = 1, "", True
                    continue
                self._symbol(sign)
                sign, operator, expected = 1, "", False
        if expected or len(self.groups) > 1:
            raise self.refusal(f"it is not complete; {_EXAMPLES}")
        return self.units

    def _refuse_two_ways(self, operator: str) -> None:
        """`N/m s` is N s/m to some and N/(m s) to others; with * the order is that of a calculation."""
        if operator in (" ", "·", ".", "-") and operator and self.groups[-1].divided:
            raise self.refusal("it can be read in two ways; write N/(m*s), or N*s/m.")

    def _close(self, expected: bool) -> None:
        if expected or len(self.groups) == 1:
            raise self.refusal(f"its parentheses do not match; {_EXAMPLES}")
        self.at += 1
        group = self.groups.pop()
        power = self._power() * group.sign
        self.units[group.begin :] = [Power(unit, power * own) for unit, own in self.units[group.begin :]]
        if any(abs(unit.power) > LARGEST_POWER for unit in self.units[group.begin :]):
            raise self._too_large()

    def _symbol(self, sign: int) -> None:
        begin = self.at
        if self.text[begin] == "1" and not self.text[begin + 1 : begin + 2].isdigit():
            self.at += 1
            return
        while self.at < len(self.text) and (self.text[self.at].isalpha() or self.text[self.at] in _WORD):
            self.at += 1
        word = self.text[begin : self.at]
        if not word:
            raise self.refusal(f"'{self.text[begin]}' cannot stand there; {_EXAMPLES}")
        unit, advice = look_up(word)
        if unit is None:
            raise self._unknown(word, advice)
        if self.text.startswith(".", self.at) and not self.text[self.at + 1 : self.at + 2].isalpha():
            self.at += 1  # of an abbreviation: in., sec.
        self.units.append(Power(unit, sign * self._power()))

    def _unknown(self, word: str, advice: str) -> InputError:
        if advice:
            return InputError(f"'{self.given}' is not a unit with one meaning: write {advice}.")
        close = difflib.get_close_matches(word, UNITS, n=1, cutoff=0.6)
        which = "" if word == self.given else f"'{word}' is unknown; "
        return self.refusal(f"{which}did you mean '{close[0]}'?" if close else f"{which}{_EXAMPLES}")

    def _power(self) -> int:
        """The power at this place, 1 where there is none."""
        text, at = self.text, self.at
        marked = text.startswith(("^", "**"), at)
        if marked:
            at += 2 if text.startswith("**", at) else 1
            while text.startswith(" ", at):
                at += 1
        digits = ""
        while at < len(text) and (text[at] in "0123456789+-" or text[at] in _SUPERSCRIPTS):
            mark = _SUPERSCRIPTS.get(text[at], text[at])
            following = text[at + 1 : at + 2]
            if mark in "+-" and (digits or not (following.isdigit() or following in _SUPERSCRIPTS)):
                break
            digits += mark
            at += 1
        if not digits:
            if marked:
                raise self.refusal("a whole number is missing after the sign of a power.")
            return 1
        self.at = at
        value = int(digits) if len(digits) < 4 else LARGEST_POWER + 1
        if abs(value) > LARGEST_POWER or text.startswith(("^", "**"), at):
            raise self._too_large()
        return value

    def _too_large(self) -> InputError:
        return self.refusal(f"a power is a whole number from -{LARGEST_POWER} to {LARGEST_POWER}.")
