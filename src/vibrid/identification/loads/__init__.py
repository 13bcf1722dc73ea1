"""Unknown loads: the recursion, its smoother, the weight of the penalty, and the estimate."""
