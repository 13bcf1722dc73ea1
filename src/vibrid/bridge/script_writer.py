"""The commands of a script that is written, with tags that count up."""

from __future__ import annotations

from typing import Any

from vibrid.bridge.law_materials import material_of
from vibrid.bridge.script_text import Entry
from vibrid.laws.base import Law


class ScriptWriter:
    """Collects commands; tags of materials and elements count up."""

    def __init__(self) -> None:
        self.entries: list[Entry | str] = []
        self.materials = 0
        self.elements = 0

    def add(self, name: str, *arguments: Any) -> None:
        self.entries.append((name, tuple(_plain(a) for a in arguments)))

    def say(self, text: str) -> None:
        self.entries.append(f"# {text}" if text else "")

    def material(self, law: Law, path: str) -> int:
        """Define the material that a law of force over deformation is; its tag."""

        def define(kind: str, values: list[Any], note: str) -> int:
            if note:
                self.say(note)
            return self.define(kind, *values)

        return material_of(law, path).written(define)

    def define(self, kind: str, *values: Any) -> int:
        self.materials += 1
        self.add("uniaxialMaterial", kind, self.materials, *values)
        return self.materials

    def element(self, kind: str, *values: Any) -> int:
        self.elements += 1
        self.add("element", kind, self.elements, *values)
        return self.elements


def _plain(value: Any) -> Any:
    return value if isinstance(value, str | int) else float(value)
