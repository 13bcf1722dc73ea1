"""The books of a running script: every command, and answers to the questions that need no analysis."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from vibrid.bridge.assembly import assemble_model
from vibrid.bridge.reader import describe_commands
from vibrid.bridge.recording import ENVIRONMENT, NeedsAnalysis, Recording, ScriptCommand, flat

_QUESTIONS = frozenset(["getTime", "nodeCoord", "getNodeTags", "getEleTags", "getNDM", "getNDF", "version"])


class Bookkeeper:
    """Takes the commands of a running script and answers the questions that need no analysis."""

    def __init__(self) -> None:
        self.commands: list[ScriptCommand] = []
        self.answers: list[str] = []
        self.time: float | None = 0.0

    def take(self, name: str, arguments: Iterable[Any], file: str, line: int) -> Any:
        """Record one command and return what the script may use of its answer."""
        given = tuple(flat(arguments))
        command = ScriptCommand(name, given, file, line)
        if name not in ENVIRONMENT and name not in _QUESTIONS:
            self.commands.append(command)
        question = getattr(self, f"_{name}", None)
        return question(command) if question is not None else None

    # -- answers -------------------------------------------------------------------------------------------------

    def _wipe(self, command: ScriptCommand) -> None:
        self.time = 0.0

    def _analyze(self, command: ScriptCommand) -> int:
        steps = int(command.arguments[0]) if command.arguments else 1
        if self.time is not None:
            if len(command.arguments) > 1:
                self.time += steps * float(command.arguments[1])
            else:
                rule = self._last("integrator")
                kind, step, *_ = (*(() if rule is None else rule.arguments), "", "")
                by_load = kind == "LoadControl" and not isinstance(step, str)
                self.time = self.time + steps * float(step) if by_load else None
        return 0

    def _loadConst(self, command: ScriptCommand) -> None:
        if "-time" in command.arguments:
            self.time = float(command.arguments[command.arguments.index("-time") + 1])

    def _setTime(self, command: ScriptCommand) -> None:
        self.time = float(command.arguments[0])

    def _getTime(self, command: ScriptCommand) -> float:
        if self.time is None:
            raise NeedsAnalysis(command)
        return self.time

    def _eigen(self, command: ScriptCommand) -> list[float]:
        """The lowest eigenvalues, of the stiffness before any load."""
        count = int(next(v for v in reversed(command.arguments) if not isinstance(v, str)))
        recorded = [c for c in self.commands if c.name != "eigen"]
        values = assemble_model(describe_commands(Recording(command.file, tuple(recorded)))).eigenvalues()
        text = f"{command.where}: eigen was answered from the stiffness before any load"
        self.answers.append(text)
        return [float(v) for v in values[:count]]

    def _nodeCoord(self, command: ScriptCommand) -> Any:
        tag, *axis = command.arguments
        nodes = [c for c in self.commands if c.name == "node" and c.arguments[0] == tag]
        size = int(self._model_option("-ndm", 2))
        at = [float(v) for v in nodes[-1].arguments[1 : 1 + size]]
        return at[int(axis[0]) - 1] if axis else at

    def _getNodeTags(self, command: ScriptCommand) -> list[int]:
        return [int(c.arguments[0]) for c in self.commands if c.name == "node"]

    def _getEleTags(self, command: ScriptCommand) -> list[int]:
        return [int(c.arguments[1]) for c in self.commands if c.name == "element"]

    def _getNDM(self, command: ScriptCommand) -> int:
        return int(self._model_option("-ndm", 2))

    def _getNDF(self, command: ScriptCommand) -> int:
        return int(self._model_option("-ndf", 3))

    def _version(self, command: ScriptCommand) -> str:
        return "3.7.1"

    def _last(self, name: str) -> ScriptCommand | None:
        return next((c for c in reversed(self.commands) if c.name == name), None)

    def _model_option(self, option: str, default: int) -> int:
        model = self._last("model")
        if model is None or option not in model.arguments:
            return default
        return model.arguments[model.arguments.index(option) + 1]
