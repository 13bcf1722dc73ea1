"""Loads whose histories are to be found: the recursion, its smoother, the weight of the penalty, and the answer."""
