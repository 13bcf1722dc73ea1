"""`vibrid track --events`: earthquakes and trucks in a stream, identified with the structure of a project."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vibrid.identification.result import Identification
    from vibrid.monitor.event_stream import EventWatch


def event_watch(project: Path, limit: str | None, ratio: float, trust: bool) -> EventWatch:
    """How events are found and identified: with structure, sensors, unknowns and method of a project.

    Arguments
        limit: of the drift of a storey, with its unit ("15 mm").
        ratio: to the usual mean square that begins an event.
    """
    from vibrid.commands.trust import consent
    from vibrid.core.errors import InputError
    from vibrid.monitor.event_stream import EventWatch
    from vibrid.project import load_project
    from vibrid.project.quantities import Number
    from vibrid.records.events import Trigger

    loaded = load_project(project, trust=consent(project, trust))
    if not loaded.unknown:
        raise InputError(f"'{project}' names no unknowns: [[unknown]] says what is identified from an event.")
    try:
        drift = None if limit is None else Number("", "m", positive=True, unit_needed=True).in_si(limit)
    except InputError as problem:
        raise InputError(f"--drift-limit: {problem}") from None
    trigger = Trigger(on=ratio)

    def identify(file: Path) -> Identification:
        import vibrid as vb

        fit = vb.identify(
            loaded.structure,
            [loaded.read(file)],
            loaded.unknown,
            loaded.method,
            start=loaded.start,
            sensors=loaded.sensors,
            initial=loaded.initial or None,
            **loaded.simulation.fitting,
        )
        return fit.replace(files=(*loaded.files, *fit.files))

    return EventWatch(identify, trigger, drift)
