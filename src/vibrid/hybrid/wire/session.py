"""One test on a device server: trials, commits, requests, and the reasons to stop."""

from __future__ import annotations

import math
from time import perf_counter

import numpy as np

from vibrid.core.errors import VibridError
from vibrid.hybrid.interlock import Interlock, Trip
from vibrid.hybrid.substructure import Substructure
from vibrid.hybrid.timing import Times
from vibrid.hybrid.wire.ending import Ending
from vibrid.hybrid.wire.links import Gone, Link, Silent
from vibrid.hybrid.wire.protocol import TRIPS, Action, MessageLayout, Reply, Request, WireProblem
from vibrid.hybrid.wire.record import CommitRows
from vibrid.hybrid.wire.repeats import Repeats
from vibrid.hybrid.wire.watchdog import Watchdog

AFTER_STOP = ("answer", "close")
REPORTED = 20
"""Ignored or refused messages that are logged one by one; after that every thousandth."""


class Session:
    """Serves one client until the test ends.

    A trial with the displacements and time of the one before is the same trial, as in OpenFresco: OpenSees sends it two
    or three times per step, the last time with velocities for which it requests no force. The device is moved from its
    committed state, so a trial may be repeated with another motion.

    Arguments
        interlock: of the device; checks every trial before it is made, and every force.
        damping: "in force": the device's damping is part of its force and of no matrix. "apart": the damping matrix is
            sent, and `C v` left out of the force because OpenSees adds it; integrators of the KR-α family then use C.
        after_stop: once a test is stopped for safety, "answer" every request with NaN so that the client can finish
            (OpenSees would wait for ever), or "close" the connection.
        idle: seconds without a message after which the client is disconnected, once it has sent one.
        watchdog: what happens when the client is silent or has gone after it has moved the device.
        rows: the record; may be None. One row per commit, and the row that stopped the test.
    """

    def __init__(self, link: Link, layout: MessageLayout, specimen: Substructure, interlock: Interlock, *, idle=120.0,
                 watchdog: Watchdog | None = None, damping="in force", after_stop="answer",
                 rows: CommitRows | None = None, log=None):  # fmt: skip
        self.link, self.layout, self.specimen, self.interlock = link, layout, specimen, interlock
        self.idle, self.watchdog, self.after_stop = idle, watchdog or Watchdog(), after_stop
        self.rows, self.log = rows, log
        n = layout.count
        self._separate = specimen.damping() if damping == "apart" else np.zeros((n, n))
        self._request, self._reply = Request(layout), Reply(layout, n + 1)
        stiffness = specimen.stiffness()  # also for the tangent, which a test cannot measure
        matrices = {Action.STIFFNESS: stiffness, Action.TANGENT: stiffness, Action.MASS: specimen.mass()}
        self._matrices = {
            action: Reply(layout, n * n).of(*matrix.ravel(order="F"))
            for action, matrix in (matrices | {Action.DAMPING: self._separate}).items()
        }
        rows_of_device = np.asarray(specimen.deformation_rows, float)
        self._along, self._across = rows_of_device, np.linalg.pinv(rows_of_device.T)
        self._is_direct = rows_of_device.shape == (n, n) and bool((rows_of_device == np.eye(n)).all())
        self._repeats = Repeats(n) if link.may_repeat else None
        self._last: tuple = ()
        self._motion = np.zeros(1 + 3 * n)
        self._force = np.zeros(n)
        self._answers = Times()
        self.steps = self.trials = self._skipped = 0
        self._pending = self._received = False
        self.stopped: tuple[int, str] | None = None

    def run(self) -> Ending:
        """Serve until the client ends the test, disconnects, sends nothing or sends an invalid message."""
        well, reason = False, ""
        while not reason:
            try:
                self.link.receive(self._request.data)
                if not self._received:
                    self._received = True
                    self.link.set_patience(self.idle)
                well, reason = self._execute()
            except Gone as gone:
                reason = self._left(f"the client has gone ({gone})")
            except Silent:
                reason = self._left(f"the client sent nothing for {self.link.patience:g} s")
            except WireProblem as problem:
                if self._repeats is not None:
                    self._ignore(f"an invalid message: {problem}")
                else:
                    reason = self._left(f"the client sent an invalid message: {problem}")
            except KeyboardInterrupt:
                if self.stopped:
                    reason = "the operator left"
                else:
                    self.stop(6, "the operator stopped the test")
            if self.stopped and self.after_stop == "close":
                break
        if self.stopped:
            reason = f"stopped: {self.stopped[1]}"
        self._halt(reason)
        if self._skipped:
            self._warn(f"trials without a commit of the step before: {self._skipped}; datagrams may be lost")
        stopped, ignored = self.stopped is not None, self.link.ignored
        return Ending(reason, well, self.steps, self.trials, self._answers, stopped, ignored)

    def _execute(self) -> tuple[bool, str]:
        """Execute the received message; whether the test ended normally, and the reason if it ended."""
        action, motion = self._request.read()
        if action is Action.END:
            return self.stopped is None, "the client ended the test"
        if self._repeats is not None and self.stopped is None:
            verdict = self._repeats.judge(action, motion, self._last)
            if verdict.lost:
                self.stop(13, verdict.text)
            elif verdict.text:
                self._ignore(verdict.text)
                return False, ""
        if action is Action.TRIAL:
            self._trial(motion)
        elif action is Action.COMMIT:
            self._commit()
        else:
            self._answer(action)
        return False, ""

    def stop(self, code: int, reason: str) -> None:
        """Stop moving the device, for a reason; the first reason counts."""
        if self.stopped is None:
            self.stopped = (code, reason)
            self._halt(reason)
            self._force = np.full(self.layout.count, math.nan)
            self._warn(f"the test is stopped: {reason}")

    def _halt(self, reason: str) -> None:
        try:
            self.specimen.stop(reason)
        except Exception as problem:  # the client must be answered all the same
            self._warn(f"the device could not be stopped: {_named(problem)}")

    def _trial(self, asked: tuple[float, ...]) -> None:
        arrived = perf_counter()
        n = self.layout.count
        same = (asked[:n], asked[-1])
        if same == self._last or self.stopped:
            return
        self._last = same
        if self._move(np.array(asked), "the client commanded a motion that is refused: "):
            if self.trials == 0 and self.watchdog.silence is not None:
                self.link.set_patience(self.watchdog.silence)
            self.trials += 1
            self._answers.add(perf_counter() - arrived)

    def _move(self, motion: np.ndarray, refusal: str) -> bool:
        """Command one motion, if the interlock lets it pass, and measure; whether the test may go on."""
        n = self.layout.count
        x, v, a, time = motion[:n], motion[n : 2 * n], motion[2 * n : 3 * n], float(motion[-1])
        along = self._along
        commanded = self._of_device(along, x), self._of_device(along, v), self._of_device(along, a)
        trip = self.interlock.check_command(*commanded, time)
        if trip is not None:
            return self._trip(trip, refusal, motion, None)
        self._skipped += bool(self.steps) and self._pending and time > float(self._motion[-1])
        self._motion = motion
        try:
            force = np.asarray(self.specimen.trial(x, v, a, time), float)
            position = self.specimen.position if n == 1 else None
        except Exception as problem:  # a library of the laboratory may raise anything
            self.stop(7, f"the device failed: {_named(problem)}")
            return self._keep_stop(motion, None)
        trip = self.interlock.check_reading(self._of_device(self._across, force), position)
        if trip is not None:
            return self._trip(trip, "", motion, force)
        self._force, self._pending = force, True
        return True

    def _of_device(self, rows: np.ndarray, values: np.ndarray) -> list[float]:
        """Deformations of the device from displacements, or its forces from those of the degrees of freedom."""
        return (values if self._is_direct else rows @ values).tolist()

    def _trip(self, trip: Trip, words: str, motion: np.ndarray, force: np.ndarray | None) -> bool:
        self.stop(TRIPS[trip.kind], words + trip.text)
        return self._keep_stop(motion, force)

    def _keep_stop(self, motion: np.ndarray, force: np.ndarray | None) -> bool:
        """Record the command that was refused, or the force that stopped the test."""
        if self.rows is not None and self.stopped is not None:
            n = self.layout.count
            measured = force is not None
            try:
                values = motion[:n], motion[n : 2 * n], force, float(motion[-1])
                self.rows.add(*values, stop=self.stopped[0], measured=measured)
            except VibridError as problem:
                self._warn(str(problem))
        return False

    def _commit(self) -> None:
        if self.stopped or not self._pending:
            return
        try:
            self.specimen.commit()
        except Exception as problem:
            return self.stop(7, f"the device failed: {_named(problem)}")
        self.interlock.commit()
        self._pending = False
        self.steps += 1
        if self.rows is not None:
            n = self.layout.count
            try:
                self.rows.add(self._motion[:n], self._motion[n : 2 * n], self._force, float(self._motion[-1]))
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

    def _left(self, reason: str) -> str:
        """The client is silent or has gone: hold the device, or move it back to zero; returns the reason."""
        n = self.layout.count
        if self.stopped or not self.trials or self.watchdog.when_silent == "hold" or not self._motion[:n].any():
            return reason
        self._warn(f"{reason}: the device is moved back to zero at {self.watchdog.ramp_velocity:g} m/s")
        self._commit()
        begin = float(self._motion[-1])
        try:
            seconds = self.watchdog.ramp(self._ramp_step, self._motion[:n].copy(), begin, self.interlock.nominal)
        except KeyboardInterrupt:
            self.stop(6, "the operator stopped the device on its way back to zero")
            return reason
        return f"{reason}; the device was moved back to zero in {seconds:.3g} s"

    def _ramp_step(self, displacement, velocity, time: float) -> bool:
        motion = np.concatenate([displacement, velocity, np.zeros(self.layout.count), [time]])
        if self._move(motion, "on the way back to zero, "):
            self._commit()
        return self.stopped is None

    def _ignore(self, why: str) -> None:
        self.link.ignored += 1
        if self.link.ignored <= REPORTED or self.link.ignored % 1000 == 0:
            self._warn(f"ignored ({self.link.ignored} so far): {why}")

    def _warn(self, message: str) -> None:
        if self.log is not None:
            self.log.warning(message)


def _named(problem: Exception) -> str:
    return str(problem) if isinstance(problem, VibridError) else f"{type(problem).__name__}: {problem}"
