"""López, Herzlieb & Moore (2025): SIVA on the nonlinear cantilever.

The items of the paper are imported when `PAPER` is first used, so that its method (`as_published`) needs none of them.
"""


def __getattr__(name: str):
    if name == "PAPER":
        from vibrid.papers.siva.items import PAPER

        return PAPER
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
