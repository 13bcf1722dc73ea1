"""The commands by name. Each is imported when it is called, so that `vibrid --help` waits for none of them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from vibrid.commands.options import JsonMayNameAFile

COMMANDS = {
    "demo": (
        "vibrid.commands.demo",
        "demo",
        "Shake a three-storey hysteretic building, measure it with noise, and identify its parameters.",
    ),
    "init": (
        "vibrid.commands.init",
        "init",
        "Write a commented project file for your own data; asks at a terminal for what the options do not say.",
    ),
    "simulate": (
        "vibrid.commands.simulate",
        "simulate",
        "Simulate a project: the response of its structure to its excitation, and the readings of its sensors.",
    ),
    "check": (
        "vibrid.commands.check",
        "check",
        "Say everything that is wrong or odd in a project and its measured files, before anything is fitted.",
    ),
    "identify": (
        "vibrid.commands.identify",
        "identify",
        "Identify the unknowns of a project from measured files, with their uncertainty.",
    ),
    "online": (
        "vibrid.commands.online",
        "online",
        "Identify while the test runs: reads samples, shows the parameters with ± 2σ, and saves its state.",
    ),
    "compare": (
        "vibrid.commands.identify",
        "compare",
        "Identify the same unknowns by several methods: estimates with intervals, which methods agree, "
        "distance to the Cramér–Rao bound, time.",
    ),
    "predict": (
        "vibrid.commands.predict",
        "predict",
        "Predict the response of an identified structure to another excitation; compared with the record's "
        "own readings where it has some.",
    ),
    "loads": (
        "vibrid.commands.loads",
        "loads",
        "Identify the unknown loads of a project whose structure is known; every load with its uncertainty band.",
    ),
    "import": ("vibrid.commands.bridge", "import_group", "Read a model of another program."),
    "export": ("vibrid.commands.bridge", "export_group", "Write a model for another program."),
    "cyclic": (
        "vibrid.commands.cyclic",
        "cyclic",
        "Fit a hysteretic law to cyclic tests: its parameters with intervals, and how it meets every cycle.",
    ),
    "modal": (
        "vibrid.commands.modal",
        "modal",
        "Find the modes of a structure in measurements: frequencies, damping ratios and shapes.",
    ),
    "track": (
        "vibrid.commands.track",
        "track",
        "Watch a structure: every window of the files in a folder becomes modes or parameters with bands, and "
        "a change raises an alarm.",
    ),
    "spectrum": ("vibrid.commands.records", "spectrum", "Compute response spectra of accelerations."),
    "record": ("vibrid.commands.records", "record", "Show, convert, plot and receive measured records."),
    "motions": ("vibrid.commands.motions", "motions", "Select, scale and synthesise ground motions."),
    "hybrid": ("vibrid.commands.hybrid", "hybrid", "Hybrid tests: part of a structure is computed, part is tested."),
    "study": ("vibrid.commands.study", "study", "Thousands of runs or fits of a project, in one dataset."),
    "studio": (
        "vibrid.commands.studio",
        "studio",
        "Open a local web page on which the whole job is done: bring data, describe, ask, run, look.",
    ),
    "reproduce": (
        "vibrid.commands.reproduce",
        "reproduce",
        "Reproduce tables, figures and studies of a paper; all of them when none is named.",
    ),
    "benchmark": (
        "vibrid.commands.benchmark",
        "benchmark",
        "Run our entries to a public benchmark and print their scores; without a name all benchmarks are listed.",
    ),
    "schema": (
        "vibrid.commands.schema",
        "schema",
        "Print the JSON schema of the project file, with every law, structure, integrator and method and its "
        "parameters, those of plugins included.",
    ),
    "new": (
        "vibrid.commands.new",
        "new",
        "Write a working file NAME.py for a law, method, reader, device, structure or integrator of your own.",
    ),
    "plugins": ("vibrid.commands.plugins", "plugins", "List plugins with their origin, and check a plugin file."),
    "doctor": (
        "vibrid.commands.doctor",
        "doctor",
        "Show which versions, computing devices and extras are installed, and where compiled programs are kept.",
    ),
}
"""Name: module, function or group in it, and the first sentence of its help."""

CLASSES = {"identify": JsonMayNameAFile}


class Commands(TyperGroup):
    """A group that shows the commands of `COMMANDS`, and imports the one that is called."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands.update({name: TyperCommand(name, help=line) for name, (*_, line) in COMMANDS.items()})

    def resolve_command(self, ctx, args):
        if args and args[0] in COMMANDS:
            self.commands[args[0]] = loaded(args[0])
        return super().resolve_command(ctx, args)


def loaded(name: str):
    """The command with its arguments and options."""
    module, function, _ = COMMANDS[name]
    found = getattr(import_module(module), function)
    holder = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    if isinstance(found, typer.Typer):
        holder.add_typer(found, name=name)
    else:
        holder.command(name, cls=CLASSES.get(name))(found)
    return get_group(holder).commands[name]
