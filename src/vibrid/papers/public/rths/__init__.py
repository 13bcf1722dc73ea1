"""The benchmark control problem for real-time hybrid simulation (Silva et al. 2020)."""
