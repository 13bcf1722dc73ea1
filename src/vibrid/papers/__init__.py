"""The proof: one module per published document; its experiments, tables and figures, the paper's value beside ours."""

from vibrid.papers.pages import reproduce
from vibrid.papers.paper import Check, Outcome, Paper, Run, load_paper

__all__ = ["Check", "Outcome", "Paper", "Run", "load_paper", "reproduce"]
