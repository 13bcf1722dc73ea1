"""The modes that `ModalFit` finds in records of ambient vibration."""

from __future__ import annotations

from collections.abc import Sequence

from vibrid.core.errors import Refusal
from vibrid.core.progress import SILENT, Progress
from vibrid.identification.problem_data import channel_of
from vibrid.modal.measured import MeasuredModes
from vibrid.modal.ssi import ssi
from vibrid.records.record import EXCITATIONS, Record
from vibrid.structures.sensors import Sensor


def placed(record: Record, sensors: Sequence[Sensor]) -> Record:
    """The channels of these sensors, with the quantity and the place of each, and those of the excitation."""
    labels = {channel_of(record, s): {"quantity": s.quantity, "location": s.place} for s in sensors}
    driving = [c.name for c in record.channels if c.quantity in EXCITATIONS and c.name not in labels]
    known = record.select([*driving, *labels])
    told = {name: (known.channel(name).quantity, known.channel(name).location) for name in labels}
    return known.relabel({name: change for name, change in labels.items() if told[name] != tuple(change.values())})


def modes_of_records(
    records: Sequence[Record], sensors: Sequence[Sensor] | None, highest: float | None, progress: Progress = SILENT
) -> MeasuredModes:
    """The modes of records of ambient vibration by `ssi`, at the places of their sensors."""
    for record in records:
        driven = [channel.name for channel in record.channels if channel.quantity in EXCITATIONS]
        if driven:
            raise Refusal(
                f"ModalFit finds modes in ambient vibration, and record '{record.name}' has a measured excitation "
                f"('{driven[0]}'): fit the record itself ('trajectory'), or find its modes as you see fit and give "
                "them as the data, identify(structure, ssi(record), unknown)."
            )
    known = list(records) if sensors is None else [placed(record, sensors) for record in records]
    return ssi(known, highest=highest, progress=progress)
