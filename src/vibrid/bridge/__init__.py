"""Models of other programs: OpenSees scripts in and out."""

from typing import TYPE_CHECKING

from vibrid.bridge.imported import Imported, from_opensees

if TYPE_CHECKING:
    from vibrid.bridge.export import to_opensees

__all__ = ["Imported", "from_opensees", "to_opensees"]

if not TYPE_CHECKING:

    def __getattr__(name: str):
        """`to_opensees` at its first use: a child process that runs a script needs no structures."""
        if name == "to_opensees":
            from vibrid.bridge.export import to_opensees

            return to_opensees
        raise AttributeError(f"module 'vibrid.bridge' has no attribute '{name}'")
