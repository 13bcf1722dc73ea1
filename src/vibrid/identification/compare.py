"""Several methods on one problem: error or standard deviation, ratio to the bound, time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from vibrid.core.attached import attached
from vibrid.core.errors import InputError, VibridError
from vibrid.core.moved import renamed_arguments, renamed_attribute
from vibrid.core.progress import SILENT
from vibrid.core.shown import InNotebooks
from vibrid.identification.agreement import Agreement, agreements
from vibrid.identification.display import displayed
from vibrid.identification.identify import identify
from vibrid.identification.method import as_method
from vibrid.identification.result import Identification

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from vibrid.core.progress import Progress
    from vibrid.identification.method import Method
    from vibrid.identification.unknowns import Unknowns
    from vibrid.records.record import Record
    from vibrid.structures.base import Structure


@dataclass(frozen=True, eq=False)
class Comparison(InNotebooks):
    """Results of several methods on the same data; `refused` holds the messages of methods that refused the problem."""

    results: dict[str, Identification]
    refused: dict[str, str]
    true_values: np.ndarray | None = None
    truth = renamed_attribute("truth", "true_values")

    @property
    def names(self) -> tuple[str, ...]:
        return next(iter(self.results.values())).names if self.results else ()

    @property
    def estimates(self) -> np.ndarray:
        return np.array([r.estimate for r in self.results.values()])

    @property
    def deviations(self) -> np.ndarray:
        return np.array([r.deviation for r in self.results.values()])

    @property
    def bound(self) -> np.ndarray:
        """The Cramér–Rao bound, from the result that fits best."""
        best = min(
            self.results.values(), key=lambda r: float(np.mean([f.relative for f in r.fits])) if r.fits else np.inf
        )
        return best.limits.bound

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One row per method; `mean_error` needs true values. The ratio to the bound is of the error, else of σ."""
        rows = []
        for name, r in self.results.items():
            if self.true_values is not None:
                error = np.abs(r.estimate - self.true_values)
                size = np.where(self.true_values != 0, np.abs(self.true_values), 1.0)
                mean, ratio = float(np.mean(error / size)), float(np.sqrt(np.mean((error / self.bound) ** 2)))
            else:
                mean, ratio = float("nan"), float(np.nanmean(r.deviation / self.bound))
            rows.append(
                {
                    "method": name,
                    "mean_error": mean,
                    "mean_ratio_to_bound": ratio,
                    "seconds": r.seconds,
                    "fits": r.model_fits,
                    "warnings": list(r.warnings),
                }
            )
        return rows

    def __str__(self) -> str:
        ratio = "error/bound" if self.true_values is not None else "σ/bound"
        lines = [f"{'method':<24}{'mean error':>12}{ratio:>14}{'seconds':>10}  fits"]
        for r in self.rows:
            error = f"{100 * r['mean_error']:.4g} %" if np.isfinite(r["mean_error"]) else "–"
            fits = "yes" if r["fits"] else "no"
            lines.append(f"{r['method']:<24}{error:>12}{r['mean_ratio_to_bound']:>14.3g}{r['seconds']:>10.2f}  {fits}")
        lines += [f"{name}: {why}" for name, why in self.refused.items()]
        for i, name in enumerate(self.names):
            lines += ["", name]
            lines += [f"  {method:<22}{_estimate(r, i)}" for method, r in self.results.items()]
        return "\n".join([*lines, "", *map(str, self.agreement)] if len(self.results) > 1 else lines)

    __repr__ = __str__

    @property
    def agreement(self) -> list[Agreement]:
        """Which methods agree with which, parameter by parameter."""
        return agreements(self.results)

    def with_units(self, display_units: dict[str, str]) -> Comparison:
        """The same comparison, shown in these units (by the names of the parameters)."""
        results = {name: r.replace(display_units=display_units) for name, r in self.results.items()}
        return replace(self, results=results)

    @attached
    def plot(self) -> Figure:
        """Estimates of all methods with intervals, and the bound."""
        ...


def _estimate(fit: Identification, i: int) -> str:
    """An estimate with ± 2σ and its unit."""
    row = fit.table()[i]
    return row.get("display", displayed(row, row["unit"]))["text"]


@renamed_arguments(truth="true_values")
def compare(
    structure: Structure,
    data: Record | list[Record],
    unknown: Unknowns,
    methods: Method | str | Sequence[Method | str] | Mapping[str, Method | str],
    *,
    true_values: dict[str, float] | None = None,
    key: int = 0,
    progress: Progress = SILENT,
    **keywords: Any,
) -> Comparison:
    """Run several methods on the same problem.

    Arguments
        methods: the methods, or a dictionary of names and methods; each as for `identify`.
        true_values: true values by name, where they are known; the table then shows errors.
        keywords: as for `identify`.
    """
    named = {k: as_method(m) for k, m in methods.items()} if isinstance(methods, dict) else _named(methods)
    if not named:
        raise InputError("No method was given to compare; give some, e.g. ['trajectory', 'ukf'].")
    results, refused = {}, {}
    stopped = False
    for name, method in named.items():
        if stopped:
            refused[name] = "It was not run: the comparison was stopped before it."
            continue
        try:
            results[name] = identify(structure, data, unknown, method, key=key, progress=progress, **keywords)
            stopped = results[name].cut_short
        except VibridError as problem:
            refused[name] = str(problem)
        except KeyboardInterrupt:
            if not results:
                raise
            refused[name], stopped = "It was stopped before it had a result.", True
    true = None
    if true_values is not None and results:
        names = next(iter(results.values())).names
        missing = [n for n in names if n not in true_values]
        if missing:
            raise InputError(f"The true value of {', '.join(missing)} is not given; `true_values` needs one each.")
        true = np.array([true_values[n] for n in names], dtype=float)
    return Comparison(results, refused, true)


def _named(methods) -> dict[str, Any]:
    named: dict[str, Any] = {}
    for method in map(as_method, methods if isinstance(methods, list | tuple) else [methods]):
        name = type(method).__name__
        named[name if name not in named else f"{name} {len(named) + 1}"] = method
    return named
