"""Ashrafi & Smyth (2007): deteriorating distributed elements with viscous damping, identified online.

The items of the paper are imported when `PAPER` is first used, so that its method (`as_published`) needs none of them.
"""


def __getattr__(name: str):
    if name == "PAPER":
        from vibrid.papers.masing.items import PAPER

        return PAPER
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
