"""The picture at the top of the page of public benchmarks, drawn from the results in its folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from vibrid.core.files import write_bytes
from vibrid.papers.public.benchmark import load_benchmark

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NAME = "scores.png"


def draw_scores(folder: Path) -> bool:
    """Draw the scores of the Bouc–Wen benchmark beside the published ones, and the compensators of the control problem;
    False where there are neither yet."""
    worst, errors = _bouc_wen(folder), _compensators(folder)
    if not worst and not errors:
        return False
    import matplotlib.pyplot as plt

    from vibrid.report.save import small_png

    count = bool(worst) + bool(errors)
    figure, every = plt.subplots(count, 1, figsize=(7.5, 2.4 * count), layout="constrained", squeeze=False)
    axes = list(every[:, 0])
    if worst:
        _draw_bouc_wen(axes.pop(0), worst)
    if errors:
        _draw_compensators(axes.pop(0), errors)
    for ax in every[:, 0]:
        ax.spines[["top", "right"]].set_visible(False)
    write_bytes(folder / NAME, small_png(figure))
    plt.close(figure)
    return True


def _facts(file: Path) -> dict:
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}


def _bouc_wen(folder: Path) -> dict[str, float]:
    """Our scores in the multisine test, m."""
    worst = {}
    for entry, label in (("public-files", "law given"), ("chosen-law", "law chosen by held-out likelihood")):
        checks = _facts(folder / "bouc-wen" / f"entry-{entry}.json").get("checks", [])
        found = [c["measured"] for c in checks if "multisine, public file" in c["what"]]
        if found:
            worst[f"vibrid, {label}"] = float(found[0].split()[0])
    return worst


def _compensators(folder: Path) -> dict[str, tuple[float, float]]:
    """J2 and J4 of every compensator in its worst case, %."""
    found: dict[str, tuple[float, float]] = {}
    for row in _facts(folder / "rths" / "entry-compensators.json").get("rows", []):
        before = found.get(row["compensator"], (0.0, 0.0))
        found[row["compensator"]] = (max(before[0], row["J2"]), max(before[1], row["J4"]))
    return found


def _draw_bouc_wen(ax: Axes, worst: dict[str, float]) -> None:
    theirs = {s.method.removesuffix(", multisine"): s.value for s in load_benchmark("bouc-wen").published}
    scores = dict(sorted((theirs | worst).items(), key=lambda item: -item[1]))
    colours = ["tab:blue" if name in worst else "0.65" for name in scores]
    bars = ax.barh(list(scores), list(scores.values()), color=colours)
    ax.bar_label(bars, [f"{value:.2g}" for value in scores.values()], padding=3)
    ax.set(xscale="log", xlim=(1e-7, 2e-4), xlabel="rms error of the free-run displacement, m")
    ax.set_title("Hysteretic Bouc–Wen benchmark, multisine test")


def _draw_compensators(ax: Axes, errors: dict[str, tuple[float, float]]) -> None:
    names = sorted(errors, key=lambda name: -errors[name][0])
    for number, (label, colour) in enumerate((("J2, tracking", "tab:blue"), ("J4, first floor", "tab:orange"))):
        values = [errors[name][number] for name in names]
        bars = ax.barh([i + 0.2 - 0.4 * number for i in range(len(names))], values, 0.38, color=colour, label=label)
        ax.bar_label(bars, [f"{value:.2g}" for value in values], padding=3, fontsize=7)
    ax.set_yticks(range(len(names)), names)
    ax.set(xscale="log", xlabel="rms error, %, worst of four cases and three motions")
    steps = [1, 2, 5, 10, 20, 50, 100]
    ax.set_xticks(steps, map(str, steps))
    ax.set_xticks([], minor=True)
    ax.set_xlim(1, 100)
    ax.legend(fontsize=7)
    ax.set_title("Control problem for real-time hybrid simulation")
