"""All checks on everything that a plugin registered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from vibrid.conformance import device, integrator, law, method, reader, structure
from vibrid.conformance.base import Checks
from vibrid.core.errors import VibridError
from vibrid.core.plugins import Plugin, module_of
from vibrid.core.registry import Registry

CHECKED: dict[str, tuple[Checks, Callable[..., Any], str]] = {
    "law": (law.CHECKS, law.LawExample, "a law, or (law, deformation in m)"),
    "method": (method.CHECKS, method.MethodExample, "a method, or (method, tolerance)"),
    "format": (reader.CHECKS, reader.ReaderExample, "a list of files of the format, as bytes"),
    "specimen": (device.CHECKS, device.DeviceExample, "a device, or (device, displacement in m)"),
    "structure": (structure.CHECKS, structure.StructureExample, "(structure, name of a place on it)"),
    "integrator": (integrator.CHECKS, integrator.IntegratorExample, "(integrator, order)"),
}
"""For each kind that has checks: the checks, the class of their examples, and what a plugin gives as an example."""


class _NoExample(Exception):
    """The example of a plugin cannot be used; its text is the message."""


@dataclass(frozen=True)
class CheckOutcome:
    """The result of one check; `problem` is empty where the requirement is met."""

    kind: str
    name: str
    check: str
    problem: str = ""

    def __str__(self) -> str:
        label = f"{self.kind} {self.name}: {self.check}"
        return f"FAIL  {label}: {self.problem}" if self.problem else f"ok    {label}"


def check_plugin(plugin: Plugin) -> Iterator[CheckOutcome]:
    """Every check on everything that a plugin file registered, and the file's own `check()`, one after another.

    The file gives an example of each by a function `examples()`: a mapping from registered names to the examples that
    `CHECKED` describes.
    """
    module = module_of(plugin)
    try:
        examples = dict(getattr(module, "examples", dict)())
    except Exception as problem:
        yield CheckOutcome("plugin", plugin.origin.short, "gives examples", _message(problem))
        return
    if not plugin.registered:
        yield CheckOutcome("plugin", plugin.origin.short, "registers something", "nothing was registered.")
    for kind, name in plugin.registered:
        yield from _check_one(kind, name, examples)
    if hasattr(module, "check"):
        yield CheckOutcome("plugin", plugin.origin.short, "its own check()", _attempt(module.check))


def _check_one(kind: str, name: str, examples: dict) -> Iterator[CheckOutcome]:
    if kind not in CHECKED:
        return
    checks, make, wanted = CHECKED[kind]
    try:
        if name not in examples:
            raise _NoExample(f"examples() gives none for '{name}'; it should be {wanted}.")
        example = _example(kind, name, examples[name], make)
    except Exception as problem:
        yield CheckOutcome(kind, name, "has an example", _message(problem))
        return
    for check in checks:
        try:
            if not check.applies(example):
                continue
        except Exception as problem:
            yield CheckOutcome(kind, name, check.words, _message(problem))
            continue
        yield CheckOutcome(kind, name, check.words, _attempt(check, example))


def _example(kind: str, name: str, given, make):
    """The example of a plugin in the form that the checks take."""
    if kind == "format":
        return make(name, [given] if isinstance(given, bytes) else list(given))
    example = make(*given) if isinstance(given, tuple) else make(given)
    thing = getattr(example, {"specimen": "device"}.get(kind, kind))
    if type(thing) is not Registry.every[kind][name]:
        raise _NoExample(f"the example of '{name}' is a {type(thing).__name__}, registered under another name.")
    return example


def _attempt(check: Callable[..., object], *arguments) -> str:
    """Why a check failed, in one line; nothing where it passed."""
    try:
        check(*arguments)
    except Exception as problem:
        return _message(problem)
    return ""


def _message(problem: Exception) -> str:
    """An exception in one line; its type is named where its text is not a message of a check or of vibrid."""
    text = " ".join(str(problem).split()) or "it failed."
    has_message = isinstance(problem, AssertionError | VibridError | _NoExample)
    return text if has_message else f"{type(problem).__name__}: {text}"
