"""Answers from options, or from questions at a terminal."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import typer

from vibrid.commands.trust import at_terminal
from vibrid.core.errors import InputError


def answer(given: object, option: str, question: str, default: str | None, check: Callable[[str], Any]) -> Any:
    """What an option says, checked; without it the answer at a terminal, where a wrong one is asked for again.

    Without a terminal, a sentence that names the option.
    """
    if given is not None:
        return check(str(given))
    while at_terminal():
        try:
            return check(str(typer.prompt(question, default=default, err=True)).strip())
        except InputError as problem:
            typer.echo(str(problem), err=True)
    raise InputError(f"Give {option}: {question[0].lower()}{question[1:]}.")


def whole_number(what: str, low: int, high: int) -> Callable[[str], int]:
    """A check of an answer: a whole number in a range."""

    def check(text: str) -> int:
        if not text.isdigit() or not low <= int(text) <= high:
            raise InputError(f"The {what} is a whole number from {low} to {high}, not '{text}'.")
        return int(text)

    return check


def positive_number(what: str) -> Callable[[str], float]:
    """A check of an answer: a positive number."""

    def check(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = math.nan
        if not 0 < number < math.inf:
            raise InputError(f"The {what} is a positive number, not '{text}'.")
        return number

    return check


def quantity(option: str, unit: str) -> Callable[[str], str]:
    """A check of an answer: a text with a positive number and a unit of the same kind as `unit`."""

    def check(text: str) -> str:
        from vibrid.project.quantities import in_si

        if in_si(text, unit) <= 0:
            raise InputError(f"{option}: '{text}' should be positive.")
        return text

    return check
