"""Every command of the command line, found by walking through it."""

import typer.main

from vibrid.cli import app
from vibrid.commands import by_name
from vibrid.commands.by_name import loaded


def walk(command, path=()):
    """(words, command) of every command that does something: groups that only hold others are left out."""
    inside = getattr(command, "commands", None)
    if inside is None or getattr(command, "invoke_without_command", False):
        yield path, command
    for name, other in (inside or {}).items():
        yield from walk(other, (*path, name))


ROOT = typer.main.get_command(app)
COMMANDS = {words: command for name in by_name.COMMANDS for words, command in walk(loaded(name), (name,))}
