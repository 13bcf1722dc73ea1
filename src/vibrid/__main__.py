"""`python -m vibrid` is the command `vibrid`."""

from vibrid.cli import main

main()
