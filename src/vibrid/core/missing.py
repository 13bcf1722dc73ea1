"""Stand-ins for names in a file that are not registered here: the numbers can be read, computing is refused.

A result that was computed with a law of a plugin can be opened without the plugin. A stand-in with the same fields
takes the law's place in the structure, so that every path stays valid.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any, ClassVar

from vibrid.core.errors import Refusal

_KEPT = {"replace"}
"""Methods that a stand-in keeps: they need only its numbers."""


class Missing:
    """Base of all stand-ins. `kind`, `registered` and `source` state what is missing, and which plugin has it."""

    kind: ClassVar[str] = ""
    registered: ClassVar[str] = ""
    source: ClassVar[str] = ""

    @classmethod
    def message(cls) -> str:
        """What is missing, and what to do."""
        return (
            f"The {cls.kind} '{cls.registered}' of the plugin {cls.source} is not known here, so nothing can be "
            "computed with it: load the plugin (install it, or name its file with --plugin), and read the file again."
        )


def stand_in(kind: str, name: str, source: str, base: type, fields: dict[str, Any]) -> Any:
    """An object of the class `base` with the given fields, every method of which refuses."""

    def refuse(self, *_, **__):
        raise Refusal(type(self).message())

    methods = [m for m in dir(base) if not m.startswith("_") and m not in _KEPT and callable(getattr(base, m))]
    namespace = {"__annotations__": dict.fromkeys(fields, Any), "__module__": __name__, "__doc__": Missing.__doc__}
    namespace |= {"kind": kind, "registered": name, "source": source} | dict.fromkeys(
        set(methods) - set(fields), refuse
    )
    title = "".join(word.title() for word in re.findall(r"\w+", name)) or "Missing"
    return type(base)(title, (Missing, base), namespace)(**fields)


def missing_in(tree: Any) -> Iterator[Missing]:
    """The stand-ins inside a structure or a similar object."""
    if isinstance(tree, Missing):
        yield tree
    if dataclasses.is_dataclass(tree):
        for f in dataclasses.fields(tree):
            yield from missing_in(getattr(tree, f.name))
    elif isinstance(tree, list | tuple):
        for part in tree:
            yield from missing_in(part)


def refuse_missing(*trees: Any) -> None:
    """Refuse to compute with stand-ins, naming the first."""
    for missing in missing_in(trees):
        raise Refusal(missing.message())
