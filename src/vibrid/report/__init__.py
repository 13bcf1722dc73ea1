"""What to show a person: plots (functions that take and return axes) and the self-contained HTML report."""
