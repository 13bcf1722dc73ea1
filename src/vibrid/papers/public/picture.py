"""The picture at the top of the page of public benchmarks, drawn from the results in its folder."""

from __future__ import annotations

import json
from pathlib import Path

from vibrid.core.files import write_bytes
from vibrid.papers.public.benchmark import load_benchmark

NAME = "scores.png"


def draw_scores(folder: Path) -> bool:
    """Draw the scores of the Bouc–Wen benchmark beside the published ones; False where there are none yet."""
    worst = {}
    for entry, label in (("public-files", "law given"), ("chosen-law", "law chosen by held-out likelihood")):
        file = folder / "bouc-wen" / f"entry-{entry}.json"
        if file.exists():
            checks = json.loads(file.read_text(encoding="utf-8"))["checks"]
            found = [c["measured"] for c in checks if "multisine, public file" in c["what"]]
            worst[f"vibrid, {label}"] = float(found[0].split()[0])
    if not worst:
        return False
    import matplotlib.pyplot as plt

    from vibrid.report.save import small_png

    theirs = {s.method.removesuffix(", multisine"): s.value for s in load_benchmark("bouc-wen").published}
    scores = dict(sorted((theirs | worst).items(), key=lambda item: -item[1]))
    figure, ax = plt.subplots(figsize=(7.5, 2.4), layout="constrained")
    colours = ["tab:blue" if name in worst else "0.65" for name in scores]
    bars = ax.barh(list(scores), list(scores.values()), color=colours)
    ax.bar_label(bars, [f"{value:.2g}" for value in scores.values()], padding=3)
    ax.set(xscale="log", xlim=(1e-7, 2e-4), xlabel="rms error of the free-run displacement, m")
    ax.set_title("Hysteretic Bouc–Wen benchmark, multisine test")
    ax.spines[["top", "right"]].set_visible(False)
    write_bytes(folder / NAME, small_png(figure))
    plt.close(figure)
    return True
