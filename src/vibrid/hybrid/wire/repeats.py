"""Repeated, late and lost datagrams of a client without numbers, such as OpenSees: recognised by their content.

OpenSees sends every message from one buffer, so a commit or a request of a force holds the motion of the last trial.
From this follows what can be recognised: a trial that was sent before is a repeated one, a commit of another motion
than the last trial a late one, and a request of a force for another motion shows that the trial was lost.
What cannot be recognised: a repeated request, for which the client receives two answers, and a lost commit of a client
that sends no motion with it.
"""

from __future__ import annotations

from typing import NamedTuple

from vibrid.hybrid.wire.protocol import Action

REMEMBERED = 4096
"""Trials that are remembered."""


class Verdict(NamedTuple):
    """What a message is: to be executed (no text), to be ignored, or a sign that another one was lost."""

    text: str = ""
    lost: bool = False


EXECUTE = Verdict()


class Repeats:
    """Judges the messages of a client with `count` degrees of freedom."""

    def __init__(self, count: int):
        self.count = count
        self._trials: dict[tuple[float, ...], None] = {}

    def judge(self, action: Action, motion: tuple[float, ...], last: tuple) -> Verdict:
        """`last`: displacements and time of the last trial, empty before the first."""
        now = (motion[: self.count], motion[-1])
        if action is Action.TRIAL:
            if now == last:  # OpenSees sends the same trial two or three times
                self._remember(motion)
                return EXECUTE
            if motion in self._trials:
                if last and motion[-1] < last[1]:
                    return Verdict(f"the trial at {motion[-1]:g} s came again")
                return Verdict(
                    f"the trial at {motion[-1]:g} s came again after another one at the same time; whether the client "
                    "sent it again or the network did cannot be seen. Use TCP, or an integrator without iterations and "
                    "a client that sends the time",
                    lost=True,
                )
            self._remember(motion)
            return EXECUTE
        if now == last or not any(motion):  # a client may send no motion with other messages
            return EXECUTE
        if action is Action.COMMIT:
            return Verdict(f"a commit of the motion at {motion[-1]:g} s, which is not that of the last trial")
        if action is Action.FORCE:
            return Verdict(f"the client asks for the force at {motion[-1]:g} s, and that trial did not arrive", True)
        return EXECUTE

    def _remember(self, motion: tuple[float, ...]) -> None:
        self._trials[motion] = None
        if len(self._trials) > REMEMBERED:
            del self._trials[next(iter(self._trials))]
