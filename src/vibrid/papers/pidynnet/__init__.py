"""Liu & Meidani (2023): networks of the response and of hidden states, trained on readings and equations.

The items of the paper are imported when `PAPER` is first used, so that its method (`as_published`) needs none of them.
"""


def __getattr__(name: str):
    if name == "PAPER":
        from vibrid.papers.pidynnet.items import PAPER

        return PAPER
    raise AttributeError(f"module '{__name__}' has no attribute '{name}'")
