"""A comparison of methods in the terminal: tables, and every interval drawn with characters."""

from __future__ import annotations

import numpy as np
import typer

from vibrid.commands.output import print_table

_WIDTH = 31


def print_comparison(comparison) -> None:
    """Time and fit of every method, the estimates with their 95 % intervals, and which methods agree."""
    true = comparison.true_values is not None
    ratio = "error/bound" if true else "σ/bound"
    rows = []
    for r in comparison.rows:
        error = [f"{100 * r['mean_error']:.4g} %"] if true else []
        fits = "yes" if r["fits"] else "no"
        rows.append([r["method"], *error, f"{r['mean_ratio_to_bound']:.3g}", f"{r['seconds']:.2f} s", fits])
    headings = ["method", *(["mean error"] if true else []), ratio, "time", "fits"]
    if rows:
        print_table("Methods", headings, rows, right=headings[1:-1])
        _print_estimates(comparison)
    if len(comparison.results) > 1:
        _print_agreement(comparison)
    for name, why in comparison.refused.items():
        typer.echo(f"{name} has no result: {why}")
    for name, fit in comparison.results.items():
        if not fit.model_fits:
            typer.echo(f"{name}: {fit.verdict}")


def _print_estimates(comparison) -> None:
    tables = {name: fit.table() for name, fit in comparison.results.items()}
    rows = []
    for i, name in enumerate(comparison.names):
        shown = [table[i].get("display", table[i]) for table in tables.values()]
        ends = np.array([[s["estimate"], *s["interval_95"]] for s in shown], dtype=float)
        for k, (method, s) in enumerate(zip(tables, shown, strict=True)):
            rows.append([name if k == 0 else "", method, _text(s), s["unit"], interval_line(ends[k], ends)])
    headings = ["parameter", "method", "estimate ± 2σ", "unit", "95 % intervals, one scale for each parameter"]
    print_table("Estimates", headings, rows)


def _text(shown) -> str:
    from vibrid.core.digits import with_uncertainty

    value, band = with_uncertainty(shown["estimate"], 2 * shown["standard_deviation"])
    return f"{value} ± {band}" if band else value


def interval_line(row: np.ndarray, every: np.ndarray, width: int = _WIDTH) -> str:
    """An estimate and its interval as characters, between the least and the greatest end of all of them.

    Example
        >>> interval_line(np.array([2.0, 1.0, 3.0]), np.array([[2.0, 1.0, 3.0], [4.0, 3.0, 5.0]]), 9)
        '|-o-|    '
    """
    low, high = np.nanmin(every), np.nanmax(every)
    if not high > low:
        return "o".center(width)
    place = [None if not np.isfinite(v) else round((v - low) / (high - low) * (width - 1)) for v in row]
    line = [" "] * width
    middle, first, last = place
    if first is not None and last is not None:
        line[first : last + 1] = "-" * (last + 1 - first)
        line[first] = line[last] = "|"
    if middle is not None:
        line[middle] = "o"
    return "".join(line)


def _print_agreement(comparison) -> None:
    """A square table: on how many parameters two methods agree, then what they differ in."""
    names, total = list(comparison.results), len(comparison.names)
    pairs = {(a.first, a.second): a for a in comparison.agreement}
    rows = []
    for first in names:
        cells = []
        for second in names:
            pair = pairs.get((first, second)) or pairs.get((second, first))
            cells.append("" if pair is None else "all" if len(pair.agree) == total else f"{len(pair.agree)} of {total}")
        rows.append([first, *cells])
    print_table("Parameters on which two methods agree (difference below 2σ)", ["", *names], rows)
    for pair in pairs.values():
        if pair.differ or pair.unknown:
            typer.echo(f"{pair}")
