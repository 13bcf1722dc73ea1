"""The fits of a study on screen: what each method made of every unknown."""

from __future__ import annotations

import typer

_SPLIT = ("law", "sensors", "method_name", "noise")
"""Dimensions of a study of fits that are told apart in its table."""


def fitted(data) -> list[dict]:
    """One row for every unknown, law, set of sensors, method and noise: estimates over everything else."""
    import numpy as np

    if "estimate" not in data:
        return []
    split = [dim for dim in _SPLIT if dim in data.dims]
    rows = []
    for at in np.ndindex(*(data.sizes[dim] for dim in split)):
        chosen = data.isel(dict(zip(split, at, strict=True)))
        labels = {dim: chosen[dim].values.item() for dim in split}
        for name in data.unknown.values:
            one = chosen.sel(unknown=name)
            values = one.estimate.values
            known = np.isfinite(values)
            if not known.any():
                continue
            low, middle, high = (float(v) for v in np.percentile(values[known], [16, 50, 84]))
            row = {**labels, "name": str(name), "unit": str(one.unit.values), "fits": int(known.sum())}
            row |= {"percentile_16": low, "median": middle, "percentile_84": high}
            rows.append(row | _covered(one, known))
    return rows


def _covered(one, known) -> dict:
    """The share of intervals that contain the true value, where both are known."""
    import numpy as np

    if "true_value" not in one or "interval" not in one:
        return {}
    low, high, true = one.interval.sel(end="low").values, one.interval.sel(end="high").values, one.true_value.values
    there = known & np.isfinite(low) & np.isfinite(true)
    share = float(((low <= true) & (true <= high))[there].mean()) if there.any() else None
    return {"confidence": float(one.interval.attrs["confidence"]), "contain_true_value": share}


def print_fits(title: str, content: dict) -> None:
    """The table of a study of fits."""
    from vibrid.commands import output

    rows = content["estimates"]
    split = [dim for dim in _SPLIT if rows and dim in rows[0]]
    numbers = ["fits", "16 %", "median", "84 %"]
    true = any(row.get("contain_true_value") is not None for row in rows)
    shown = []
    for row in rows:
        cells = [row["name"], *(str(row[dim]) for dim in split), str(row["fits"])]
        cells += [f"{row[key]:.4g}" for key in ("percentile_16", "median", "percentile_84")]
        share = row.get("contain_true_value")
        cells += ["-" if share is None else f"{100 * share:.0f} %"] if true else []
        shown.append([*cells, row["unit"] or "-"])
    words = [f"{100 * rows[0]['confidence']:g} % hold"] if true else []
    heads = ["unknown", *(dim.removesuffix("_name") for dim in split), *numbers, *words, "unit"]
    output.print_table(title, heads, shown, right=(*numbers, *words))
    shape = " × ".join(f"{size} {name.removesuffix('_name')}" for name, size in content["dimensions"].items())
    ended = ", ".join(f"{count} {name}" for name, count in content["outcomes"].items() if count)
    typer.echo(f"{shape}: {ended}")
    typer.echo(f"dataset {content['out']}/results.zarr")
