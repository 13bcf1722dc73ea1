"""What can be done with a record: every method returns a new record and says so in its history.

The mathematics stands in one small module per operation; the methods here only call it.
"""

from __future__ import annotations

from pathlib import Path


class Operations:
    """Mixed into `Record`."""

    def resample(self, rate: float):
        """The record at `rate` samples per second, anti-aliased (see `vibrid.records.resample`)."""
        from vibrid.records.resample import resample

        return resample(self, rate)

    def write_csv(self, path, **options) -> Path:
        """Write the record as CSV with `name [unit]` headings (see `vibrid.records.writers.write_csv`)."""
        from vibrid.records.writers import write_csv

        return write_csv(self, path, **options)
