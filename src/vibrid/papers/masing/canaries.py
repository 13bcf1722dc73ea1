"""Numbers that are cheap to compute again: one identification on the synthetic motion, without noise."""

from __future__ import annotations

from vibrid.identification import OnlineRecall
from vibrid.papers.masing.cases import KOBE, data_of, device, errors, identify_many
from vibrid.papers.paper import Run


def one_record(run: Run) -> dict[str, tuple[float, float]]:
    """`OnlineRecall` on 40 s of the synthetic motion of Kobe, whose true force comes from 20000 sliders."""
    ends, _, _ = identify_many(OnlineRecall(), device(KOBE.guess), data_of(run, KOBE, 0.0, 1, real=False))
    return {"study-table-1-synthetic|1|OnlineRecall": (float(errors(ends, KOBE.truth)[0]), 0.01)}
