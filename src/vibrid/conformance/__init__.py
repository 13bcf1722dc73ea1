"""Checks of the requirements on laws, methods, readers, devices, structures and integrators, one file per kind.

The project's own tests and `vibrid plugins check FILE` run the same checks.
"""
