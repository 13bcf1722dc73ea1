"""Thin commands: each reads its arguments, calls the library and prints. Heavy imports stay inside the functions."""
