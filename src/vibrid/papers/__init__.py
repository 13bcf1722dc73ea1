"""Reproduced papers, one package each: experiments, tables and figures, with the paper's values beside ours.

This package is itself a plugin of vibrid (`vibrid.plugins` in pyproject.toml): importing it registers the papers
by name without importing them. Methods as published are kept with their papers and are registered here too; each is
imported at its first use. Their registry is looked up by its kind, because the package that defines it imports JAX.
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
_METHODS.announce("pidynnet-corrected", "vibrid.papers.pidynnet.corrected:PIDynNetCorrected")
_METHODS.announce("siva-as-published", "vibrid.papers.siva.as_published:SIVAAsPublished")

__all__ = ["PAPERS", "Check", "Claim", "Outcome", "Paper", "Run", "load_paper", "reproduce"]
