"""`vibrid identify --state`: a training that goes on where it was stopped."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vibrid.identification.result import Identification


def kept_in(state: Path | None, method: Any) -> Any:
    """The method with its training kept in a file, from which it goes on; a method without a training as it is."""
    if state is None or not hasattr(method, "checkpoint"):
        return method
    return dataclasses.replace(method, checkpoint=str(state))


def without_its_file(fit: Identification) -> Identification:
    """The result as that of a training that was kept nowhere: the file is no setting of the method."""
    return fit.replace(settings={name: value for name, value in fit.settings.items() if name != "checkpoint"})
