"""What laws, methods, readers, devices, structures and integrators promise, tried: one file for each kind.

The project's own tests and `vibrid plugins check FILE` run the same checks.
"""
