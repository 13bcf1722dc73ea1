"""Results where people work: what a notebook shows, and tables for pandas and xarray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vibrid.core.attached import attached

if TYPE_CHECKING:
    import pandas
    import xarray


class InNotebooks:
    """Base of what a notebook shows as a picture and a table, and of what becomes a table of another library."""

    @attached
    def _repr_html_(self) -> str:
        """What a notebook shows: a picture and a table."""
        ...

    @attached
    def to_pandas(self) -> pandas.DataFrame:
        """The numbers as a table of pandas, in SI units; `attrs` has the units. Needs the extra `notebook`."""
        ...

    @attached
    def to_xarray(self) -> xarray.Dataset:
        """The numbers as a dataset of xarray, in SI units, each with its unit. Needs the extra `notebook`."""
        ...

    @classmethod
    @attached
    def from_pandas(cls, frame: pandas.DataFrame) -> Any:
        """The way back, where a table holds all; refused with what to do instead elsewhere."""
        ...

    @classmethod
    @attached
    def from_xarray(cls, dataset: xarray.Dataset) -> Any:
        """The way back, where a dataset holds all; refused with what to do instead elsewhere."""
        ...


def few(values: Any, most: int = 6) -> str:
    """A list of numbers that fits on a line.

    Example
        >>> few([1.0] * 3), few(range(10))
        ('[1, 1, 1]', '[0, 1, 2, …, 9] (10 values)')
    """
    values = list(values)
    shown = [f"{v:.6g}" if isinstance(v, float | int) else f"{v}" for v in values]
    if len(values) <= most:
        return f"[{', '.join(shown)}]"
    return f"[{', '.join(shown[:3])}, …, {shown[-1]}] ({len(values)} values)"
