"""The picture of the table of black boxes: errors at the amplitude of the training and at twice it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_boxes(rows: list[dict], parts: list[str]) -> Figure:
    """Median of the seeds as a mark, the worst as the end of a line; errors above 100 % stand at the edge, hollow."""
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7.5, 0.7 + 0.55 * len(rows)), layout="constrained")
    for number, part in enumerate(parts):
        for place, row in enumerate(rows):
            middle, worst = (min(row[f"{part}, {kind}"], 100.0) for kind in ("median", "worst"))
            height = place + 0.18 * (number - 0.5 * (len(parts) - 1))
            colour = f"C{number}"
            ax.plot([middle, worst], [height, height], color=colour, lw=1.5)
            beyond = row[f"{part}, median"] > 100.0
            label = part if place == 0 else None
            ax.plot(middle, height, "o", color=colour, mfc="none" if beyond else None, ms=5, label=label)
            if beyond and number == 0:
                ax.annotate("diverged", (100.0, place), (-8, 0), textcoords="offset points", ha="right", va="center")
    ax.set(xscale="log", xlim=(None, 110.0), xlabel="free-run error, % of the rms of the displacement (at most 100)")
    ax.set_yticks(range(len(rows)), [row["method"] for row in rows])
    ax.invert_yaxis()
    figure.legend(fontsize=7, loc="outside upper center", ncols=len(parts))
    ax.spines[["top", "right"]].set_visible(False)
    return figure
