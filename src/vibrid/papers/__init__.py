"""The proof: one module per published document; its experiments, tables and figures, the paper's value beside ours.

The package is a plugin of vibrid's own (`vibrid.plugins` in pyproject.toml): importing it makes the papers known by
name, and imports none of them. Methods as published live with their papers and are announced here too, so that they
are found by name and imported when they are used. Their registry is asked for by its kind, because its own package
imports JAX.
"""

from vibrid.core.registry import Registry
from vibrid.papers.pages import reproduce
from vibrid.papers.paper import PAPERS, Check, Outcome, Paper, Run, load_paper
from vibrid.papers.verdict import Claim

for _name in ("joint", "masing", "ocpnn", "pidynnet", "siva"):
    PAPERS.announce(_name, f"vibrid.papers.{_name}:PAPER")
_METHODS = Registry.of("method")
_METHODS.announce("joint-as-published", "vibrid.papers.joint.as_published:JointAsPublished")
_METHODS.announce("masing-as-published", "vibrid.papers.masing.as_published:MasingAsPublished")
_METHODS.announce("pidynnet-as-published", "vibrid.papers.pidynnet.as_published:PIDynNetAsPublished")
_METHODS.announce("siva-as-published", "vibrid.papers.siva.as_published:SIVAAsPublished")

__all__ = ["PAPERS", "Check", "Claim", "Outcome", "Paper", "Run", "load_paper", "reproduce"]
