"""The proof: one module per published document; its experiments, tables and figures, the paper's value beside ours.

The room is a plugin of the package's own (`vibrid.plugins` in pyproject.toml): importing it makes the papers known by
name, and imports none of them. A method that lives in a paper is announced here too, `announce("method",
name, "module:Class")`, so that the command line finds it by its name and nobody else pays for it.
"""

from vibrid.core.registry import announce
from vibrid.papers.pages import reproduce
from vibrid.papers.paper import PAPERS, Check, Outcome, Paper, Run, load_paper
from vibrid.papers.verdict import Claim

for _name in ("joint", "masing", "ocpnn", "pidynnet", "siva"):
    PAPERS.announce(_name, f"vibrid.papers.{_name}:PAPER")
announce("method", "pidynnet-as-published", "vibrid.papers.pidynnet.as_published:PIDynNetAsPublished")
announce("method", "siva-as-published", "vibrid.papers.siva.as_published:SIVAAsPublished")

__all__ = ["PAPERS", "Check", "Claim", "Outcome", "Paper", "Run", "load_paper", "reproduce"]
