"""What every room shares: sentences for errors, names, paths, registries, progress and precision."""
