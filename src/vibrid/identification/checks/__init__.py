"""Checks of a result: cheap tests that name the cause of a misfit, one file each."""
