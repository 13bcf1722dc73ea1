"""One test on a device server: trials, commits, requests, and the reasons to stop."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from time import perf_counter

import numpy as np

from vibrid.core.errors import VibridError
from vibrid.hybrid.limits import SafetyLimits
from vibrid.hybrid.substructure import Substructure
from vibrid.hybrid.timing import Times
from vibrid.hybrid.wire.links import Gone, Silent
from vibrid.hybrid.wire.protocol import Action, MessageLayout, Reply, Request, WireProblem

AFTER_STOP = ("answer", "close")


@dataclass(frozen=True)
class Ending:
    """How a test ended: the reason, whether normally, the number of committed steps, and the response times."""

    reason: str
    well: bool
    steps: int = 0
    trials: int = 0
    answers: Times = field(default_factory=Times)
    """Seconds from the arrival of a trial to the force of the device."""

    def __str__(self) -> str:
        if not self.steps:
            return f"{self.reason}; no step was committed."
        return f"{self.reason}; {self.steps} steps, {self.trials} trials, answers in {self.answers}."


class Session:
    """Serves one client until the test ends.

    A trial with the displacements and time of the one before is the same trial, as in OpenFresco: OpenSees sends it two
    or three times per step, the last time with velocities for which it requests no force. The device is moved from its
    committed state, so a trial may be repeated with another motion.

    Arguments
        damping: "in force": the device's damping is part of its force and of no matrix. "apart": the damping matrix is
            sent, and `C v` left out of the force because OpenSees adds it; integrators of the KR-α family then use C.
        after_stop: once a test is stopped for safety, "answer" every request with NaN so that the client can finish
            (OpenSees would wait for ever), or "close" the connection.
        idle: seconds without a message after which the client is disconnected, once it has sent one.
        recorder: records one row per commit; may be None.
    """

    def __init__(self, link, layout: MessageLayout, specimen: Substructure, limits: SafetyLimits, *, idle=120.0,
                 damping="in force", after_stop="answer", recorder=None, log=None):  # fmt: skip
        self.link, self.layout, self.specimen, self.limits = link, layout, specimen, limits
        self.idle, self.after_stop, self.recorder, self.log = idle, after_stop, recorder, log
        n = layout.count
        self._separate = specimen.damping() if damping == "apart" else np.zeros((n, n))
        self._request, self._reply = Request(layout), Reply(layout, n + 1)
        stiffness = specimen.stiffness()  # also for the tangent, which a test cannot measure
        matrices = {Action.STIFFNESS: stiffness, Action.TANGENT: stiffness, Action.MASS: specimen.mass()}
        self._matrices = {
            action: Reply(layout, n * n).of(*matrix.ravel(order="F"))
            for action, matrix in (matrices | {Action.DAMPING: self._separate}).items()
        }
        self._last: tuple = ()
        self._motion = np.zeros(1 + 3 * n)
        self._force = np.zeros(n)
        self._answers = Times()
        self.steps = self.trials = self._skipped = 0
        self._pending = self._heard = False
        self.stopped: tuple[int, str] | None = None

    def run(self) -> Ending:
        """Serve until the client ends the test, disconnects, sends nothing or sends an invalid message."""
        well, reason = False, ""
        while not reason:
            try:
                self.link.receive(self._request.data)
                if not self._heard:
                    self._heard = True
                    self.link.set_patience(self.idle)
                action, motion = self._request.read()
                if action is Action.TRIAL:
                    self._trial(motion)
                elif action is Action.COMMIT:
                    self._commit()
                elif action is Action.END:
                    well, reason = self.stopped is None, "the client ended the test"
                else:
                    self._answer(action)
            except Gone as gone:
                reason = f"the client has gone ({gone})"
            except Silent:
                reason = f"the client sent nothing for {self.link.patience:g} s"
            except WireProblem as problem:
                reason = f"the client sent an invalid message: {problem}"
            except KeyboardInterrupt:
                if self.stopped:
                    reason = "the operator left"
                else:
                    self.stop(6, "the operator stopped the test")
            if self.stopped and self.after_stop == "close":
                break
        if self.stopped:
            reason = f"stopped: {self.stopped[1]}"
        self.specimen.stop(reason)
        if self._skipped:
            self._warn(f"trials without a commit of the step before: {self._skipped}; datagrams may be lost")
        return Ending(reason, well, self.steps, self.trials, self._answers)

    def stop(self, code: int, reason: str) -> None:
        """Stop moving the device, for a reason; the first reason counts."""
        if self.stopped is None:
            self.stopped = (code, reason)
            self.specimen.stop(reason)
            self._force = np.full(self.layout.count, math.nan)
            self._warn(f"the test is stopped: {reason}")

    def _trial(self, asked: tuple[float, ...]) -> None:
        arrived = perf_counter()
        n = self.layout.count
        same = (asked[:n], asked[-1])
        if same == self._last or self.stopped:
            return
        self._last = same
        displacement, velocity, acceleration, time = asked[:n], asked[n : 2 * n], asked[2 * n : 3 * n], asked[-1]
        beyond = self.limits.motion_beyond(displacement, velocity)
        if beyond is None and not all(map(math.isfinite, (*acceleration, time))):
            beyond = "acceleration or time is not a finite number"
        if beyond is not None:
            kind = 5 if "finite" in beyond else 1 if beyond.startswith("displacement") else 2
            return self.stop(kind, f"the client commanded a motion that is refused: {beyond}")
        self._skipped += bool(self.steps) and self._pending and time > float(self._motion[-1])
        self._motion = np.array(asked)
        try:
            force = self.specimen.trial(self._motion[:n], self._motion[n : 2 * n], self._motion[2 * n : 3 * n], time)
        except VibridError as problem:
            return self.stop(7, f"the device failed: {problem}")
        beyond = self.limits.force_beyond(np.asarray(force).tolist())
        if beyond is not None:
            kind = 4 if "finite" in beyond else 3
            return self.stop(kind, f"the measured {beyond}")
        self._force, self._pending = force, True
        self.trials += 1
        self._answers.add(perf_counter() - arrived)

    def _commit(self) -> None:
        if self.stopped or not self._pending:
            return
        self.specimen.commit()
        self._pending = False
        self.steps += 1
        if self.recorder is not None:
            n = self.layout.count
            row = np.concatenate([self._motion[: 2 * n], self._force, self.specimen.signals])
            try:
                self.recorder.add(self._motion[-1], row)
            except VibridError as problem:
                self.stop(8, str(problem))

    def _answer(self, action: Action) -> None:
        if self.stopped is not None:
            self.link.send(self._reply.of(*[math.nan] * self.layout.count, self.stopped[0]))
        elif action is Action.FORCE:
            force = self._force
            if self._separate.any():
                n = self.layout.count
                force = force - self._separate @ self._motion[n : 2 * n]
            self.link.send(self._reply.of(*force, 0.0))
        else:
            self.link.send(self._matrices[action])

    def _warn(self, message: str) -> None:
        if self.log is not None:
            self.log.warning(message)
