"""The tables that describe a law, in every kind of file."""

from __future__ import annotations

from collections.abc import Collection

from vibrid.laws.base import LAWS, Law, Parallel
from vibrid.laws.commanded import Commanded
from vibrid.laws.distributions import DISTRIBUTIONS, YieldDistribution
from vibrid.project.maker import TableMaker
from vibrid.structures.damping import Damping


def maker_of_laws(named: Collection[str] | None = None) -> TableMaker:
    """A maker with the laws: simple ones, those that contain others, several in parallel, and any of these with a
    command.

    named: only those of these names that are known now; otherwise all, those of installed plugins too.
    """
    maker, laws = TableMaker(told_apart={Law: "law", Damping: "kind"}), LAWS.choices(named)
    maker.choices[YieldDistribution] = maker.choice("distribution", "kind", DISTRIBUTIONS.choices(named))
    maker.choices[Law] = maker.choice("law", "law", {n: c for n, c in laws.items() if not maker.holds(c, Law)})
    holders = {n: c for n, c in laws.items() if maker.holds(c, Law)}
    commanded = {n: c for n, c in holders.items() if isinstance(c, type) and issubclass(c, Commanded)}
    maker.choices[Law] = maker.choice("law", "law", {n: c for n, c in holders.items() if n not in commanded})
    maker.choices[Law] = maker.choice("law", "law", {n: Parallel for n in ["parallel"] if named is None or n in named})
    maker.choices[Law] = maker.choice("law", "law", commanded)
    return maker
