"""What every room shares: sentences for errors, names, paths, registries, progress and precision.

Importing it sets 64-bit numbers and the compile cache, before any room computes.
"""

from vibrid.core import precision

precision.configure()
