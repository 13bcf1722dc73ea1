"""Faults of channels that a fit shows: a wrong unit, an opposite sign, a delay, another meaning of acceleration.

Each fault is a hypothesis about the readings. It is tested by fitting the corrected readings again (`refit`), so that
the parameters, which a wrong channel pulls away, can come back; it is accepted where it explains most of the misfit.
A factor and a delay are read from a fit without the channel, which the fault cannot have pulled.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from vibrid.core.findings import WRONG, Finding
from vibrid.identification.checks.refit import Correction, Corrections, Refit, exchanged, refit
from vibrid.identification.checks.signals import late, plain, scaled
from vibrid.identification.checks.words import times, unit_hint
from vibrid.identification.problem import Problem, predict

MOST_CHANNELS = 6
"""The worst channels that are looked at one by one."""

MOST_PAIRS = 6
MOST_FAULTS = 4
_CLEARLY, _MOSTLY = 20.0, 0.75
_GROSS = 2.5  # a factor between reading and prediction that no first guess explains
_FROM_AFAR = 40  # iterations from the first guess
_REFINED = 4  # times that a factor and a delay are read again
_AS_LATE = 0.25  # samples; a smaller delay is not reported
_SAME_SIZE = 0.01  # change of a factor below which it is none
EXCHANGED = "exchanged"


@dataclass(frozen=True)
class Hypothesis:
    """An assumption about some channels: how their readings are corrected, and how it is told."""

    name: str
    corrections: dict[int, Correction]
    without: int | None = None  # a channel whose factor and delay are to be read from a fit without it
    exchanged: tuple[int, ...] = ()  # two channels

    @property
    def channels(self) -> list[int]:
        return [*self.exchanged, *self.corrections]


def instrument_faults(fit: Refit, start: np.ndarray) -> tuple[list[Finding], Refit]:
    """The faults that explain why a model does not fit, the most important first, and the fit without them.

    `start` is φ of the first guess.
    """
    findings: list[Finding] = []
    problem, best, corrections = fit.problem, fit, {}
    for _ in range(MOST_FAULTS):
        if best.model_fits:
            break
        likely = _likeliest(problem, best, _hypotheses(problem, best, corrections, start), corrections, start)
        if likely is None:
            break
        hypothesis, after = likely
        corrections |= hypothesis.corrections
        findings += _told(problem, best, after, hypothesis)
        best = after
        if hypothesis.exchanged:
            break
    return findings, best


def exchanged_channels(fit: Refit, start: np.ndarray) -> list[Finding]:
    """Two channels whose exchange explains why a model does not fit: no small law beside a storey is then its cause."""
    if fit.model_fits:
        return []
    likely = _likeliest(fit.problem, fit, _exchanges(fit.problem, fit, start), {}, start)
    return [] if likely is None else _told(fit.problem, fit, likely[1], likely[0])


def _likeliest(problem: Problem, fit: Refit, hypotheses: Iterable[Hypothesis], present: Corrections, start: np.ndarray):
    """The hypothesis that makes the readings most likely, and the fit with it; None where none is accepted."""
    tried = [_tested(problem, fit, hypothesis, present, start) for hypothesis in hypotheses]
    accepted = [(hypothesis, after) for hypothesis, after in tried if _accepted(problem, fit, after, hypothesis)]
    return min(accepted, key=lambda pair: pair[1].unlikelihood, default=None)


# -- the hypotheses ----------------------------------------------------------------------------------------------------


def _hypotheses(problem: Problem, fit: Refit, present: Corrections, start: np.ndarray) -> Iterator[Hypothesis]:
    sizes = _by_size(problem, start, present)
    if sizes:
        yield Hypothesis("size", sizes)
    yield from (h for h in meanings(problem) if not set(h.corrections) & set(present))
    if not present:
        yield from _exchanges(problem, fit, start)
    worst = np.argsort([-f.relative for f in fit.fits])
    for channel in [int(c) for c in worst if int(c) not in present][:MOST_CHANNELS]:
        if len(problem.sensors) > 1:
            yield Hypothesis("channel", {}, channel)
        else:
            yield from (Hypothesis("channel", {channel: c}) for c in _seen(fit, channel))
    if len(problem.sensors) > 1 and not present:
        shifts = [late(fit.pairs(c), None).delay for c in range(len(problem.sensors))]
        common = float(np.median(shifts))
        if np.ptp(shifts) < 3 * problem.data[0].step and common:
            yield Hypothesis("excitation", {c: Correction(delay=common) for c in range(len(problem.sensors))})


def _exchanges(problem: Problem, fit: Refit, start: np.ndarray) -> list[Hypothesis]:
    """Exchanges of two channels that are each more like the prediction of the other, at the first guess or the fit."""
    kinds = [sensor.quantity for sensor in problem.sensors]
    measured = np.concatenate([np.asarray(d.readings) * np.asarray(d.present) for d in problem.data])
    guessed = np.concatenate([np.asarray(predict(problem, jnp.asarray(start), i)) for i in range(len(problem.data))])
    gains: dict[tuple[int, int], float] = {}
    for predicted in (guessed, np.concatenate(fit.predictions)):
        with np.errstate(invalid="ignore"):
            alike = np.corrcoef(measured.T, predicted.T)[: len(kinds), len(kinds) :]
        for b in range(len(kinds)):
            for a in (a for a in range(b) if kinds[a] == kinds[b]):
                gain = float(alike[a, b] + alike[b, a] - alike[a, a] - alike[b, b])
                gains[a, b] = max(gain, gains.get((a, b), 0.0))
    likely = sorted((pair for pair, gain in gains.items() if gain > 0.0), key=lambda pair: -gains[pair])
    return [Hypothesis(EXCHANGED, {}, exchanged=pair) for pair in likely[:MOST_PAIRS]]


def _by_size(problem: Problem, start: np.ndarray, present: Corrections) -> dict[int, Correction]:
    """Channels whose size differs from the prediction at the first guess by about the factor of a unit."""
    predicted = [np.asarray(predict(problem, jnp.asarray(start), i)) for i in range(len(problem.data))]
    moving = np.sqrt(np.mean([np.var(y, axis=0) for y in predicted], axis=0))
    ratio = problem.signal_size() / np.where(moving > 0, moving, np.nan)
    found = {}
    for channel, factor in enumerate(ratio):
        gross = np.isfinite(factor) and not 1 / _GROSS < factor < _GROSS
        if gross and channel not in present:
            found[channel] = Correction(gain=float(factor))
    return found


def meanings(problem: Problem) -> Iterator[Hypothesis]:
    """Accelerometers given as relative to the ground that measure absolute acceleration, and the reverse."""
    structure = problem.experiment.structure
    for given, sign in (("acceleration", 1.0), ("absolute_acceleration", -1.0)):
        channels = [c for c, s in enumerate(problem.sensors) if s.quantity == given and not float(s.delay)]
        corrections = {}
        for c in channels:
            sensor, added = problem.sensors[c], []
            for d in problem.data:
                loads = structure.driven_along(d.loads)
                moved = [structure.carried(sensor.place, p) if q == "ground_acceleration" else 0.0 for q, p in loads]
                added.append(sign * float(sensor.gain) * np.asarray(d.drive.samples) @ np.asarray(moved, float))
            if any(np.any(part) for part in added):
                corrections[c] = Correction(added=tuple(added))
        if corrections:
            yield Hypothesis(given, corrections)
        if 1 < len(corrections) <= MOST_CHANNELS:
            yield from (Hypothesis(given, {c: correction}) for c, correction in corrections.items())


def _seen(fit: Refit, channel: int) -> list[Correction]:
    """Corrections of one channel that its prediction suggests, the simplest first: a factor, a delay, both."""
    pairs = fit.pairs(channel)
    before = plain(pairs).misfit
    found = []
    for match in (scaled(pairs), late(pairs), late(pairs, None)):
        worth = match.misfit < 0.9 * before if np.isfinite(before) else False
        if worth and match.gain:
            found.append(Correction(match.gain, match.delay))
    return found


# -- testing one -------------------------------------------------------------------------------------------------------


def _tested(problem: Problem, fit: Refit, hypothesis: Hypothesis, present: Corrections, start: np.ndarray):
    """The hypothesis with refined corrections, and the fit of the readings corrected by it."""
    far = max(f.relative for f in fit.fits) > 0.5
    free = start if far else fit.free
    if hypothesis.exchanged:
        return hypothesis, refit(exchanged(problem, *hypothesis.exchanged), start, present, iterations=_FROM_AFAR)
    if hypothesis.without is None:
        return _refined(problem, hypothesis, present, free)
    apart = refit(problem, free, present, hypothesis.without)
    options = []
    for correction in _seen(apart, hypothesis.without):
        named = Hypothesis("channel", {hypothesis.without: correction})
        options.append(_refined(problem, named, present, apart.free))
        if options[-1][1].model_fits:
            break
    if not options:
        return hypothesis, fit
    return min(options, key=lambda pair: pair[1].unlikelihood)


def _refined(problem: Problem, hypothesis: Hypothesis, present: Corrections, free: np.ndarray):
    """Fit with the corrections, and read factors and delays again from what is left.

    The unknowns take over a part of a delay, so what is left of it shrinks only by a share: the secant rule finds the
    delay that leaves nothing.
    """
    corrections = dict(hypothesis.corrections)
    after = refit(problem, free, {**present, **corrections})
    if hypothesis.name not in ("channel", "size", "excitation"):
        return hypothesis, after
    before: dict[int, tuple[float, float]] = {}
    for _ in range(_REFINED):
        found = {c: _left_over(after, c, correction) for c, correction in corrections.items()}
        if hypothesis.name == "excitation":
            common = float(np.median([delay for _, delay in found.values()]))
            found = dict.fromkeys(found, (1.0, common))
        if all(abs(np.log(g)) < 1e-3 and abs(d) < 1e-2 * problem.data[0].step for g, d in found.values()):
            break
        for c, (gain, left) in found.items():
            here = corrections[c].delay
            step = left
            if c in before and before[c][1] != left:
                step = float(
                    np.clip(left * (here - before[c][0]) / (before[c][1] - left), -5 * abs(left), 5 * abs(left))
                )
            before[c] = (here, left)
            corrections[c] = corrections[c].then(gain, step)
        after = refit(problem, after.free, {**present, **corrections})
    return Hypothesis(hypothesis.name, corrections), after


def _left_over(fit: Refit, channel: int, correction: Correction) -> tuple[float, float]:
    """Factor (positive) and delay that remain in a channel after its correction."""
    pairs = fit.pairs(channel)
    match = scaled(pairs) if not correction.delay else late(pairs, 1.0 if correction.gain == 1.0 else None)
    worth = np.isfinite(match.misfit) and match.misfit < 0.9999 * plain(pairs).misfit and match.gain > 0
    return (match.gain, match.delay) if worth else (1.0, 0.0)


def _accepted(problem: Problem, before: Refit, after: Refit, hypothesis: Hypothesis) -> bool:
    """Whether a hypothesis explains the misfit of its channels and makes the readings far more likely."""
    if not hypothesis.channels or after.unlikelihood > before.unlikelihood - _CLEARLY:
        return False
    if not hypothesis.exchanged and all(_is_nothing(c) for c in hypothesis.corrections.values()):
        return False  # a descent that went on, no fault
    share = _explained(before, after, hypothesis)
    if hypothesis.name in ("channel", "size", "excitation"):
        first = next(iter(hypothesis.corrections.values()))
        small = abs(first.delay) < _AS_LATE * problem.data[0].step
        named = hypothesis.name == "size" or _named(problem, hypothesis)
        if small and not named:  # a factor that no unit explains: only where nothing else is wrong
            return after.model_fits and share > 0.2
    return share > _MOSTLY or (after.model_fits and share > 0.2)


def _is_nothing(correction: Correction) -> bool:
    """Whether a correction changes next to nothing."""
    return abs(correction.gain - 1.0) < _SAME_SIZE and not correction.delay and correction.added is None


def _named(problem: Problem, hypothesis: Hypothesis) -> bool:
    """Whether the factor of every channel is that of a unit, or −1."""
    pairs = hypothesis.corrections.items()
    return all(
        unit_hint(c.gain, problem.sensors[i].quantity, 0.1) or (c.gain < 0 and 0.8 < -c.gain < 1.25) for i, c in pairs
    )


def _explained(before: Refit, after: Refit, hypothesis: Hypothesis) -> float:
    """Share of the misfit of the channels concerned that a hypothesis explains."""
    chosen = hypothesis.channels
    return float(1.0 - np.mean((after.deviations[chosen] / before.deviations[chosen]) ** 2))


# -- telling -----------------------------------------------------------------------------------------------------------


def _told(problem: Problem, before: Refit, after: Refit, hypothesis: Hypothesis) -> list[Finding]:
    share = _explained(before, after, hypothesis)
    labels = [problem.sensors[c].label for c in hypothesis.channels]
    was, now = (max(fit.fits[c].relative for c in hypothesis.channels) for fit in (before, after))
    effect = f"With this corrected the misfit is {100 * now:.2g} % instead of {100 * was:.3g} %."
    numbers = {"misfit_before": was, "misfit_after": now}
    if hypothesis.exchanged:
        sentence = f"Channels '{labels[0]}' and '{labels[1]}' are exchanged: change their names or places. {effect}"
        return [Finding(EXCHANGED, WRONG, sentence, ", ".join(labels), share, numbers)]
    if hypothesis.name in ("acceleration", "absolute_acceleration"):
        return [_meaning(hypothesis.name, labels, effect, share, numbers)]
    corrections = list(hypothesis.corrections.items())
    if len(corrections) > 1 and len(corrections) == len(problem.sensors):
        together = _excitation(problem, dict(corrections), effect, share, numbers)
        if together is not None:
            return [together]
    findings = []
    for channel, correction in corrections:
        sensor = problem.sensors[channel]
        sentence, name = _one_channel(sensor.label, sensor.quantity, correction, problem.data[0].step)
        own = {**numbers, "gain": correction.gain, "delay": correction.delay}
        findings.append(Finding(name, WRONG, f"{sentence} {effect}", sensor.label, share, own))
    return findings


def _meaning(given: str, labels: list[str], effect: str, share: float, numbers: dict[str, float]) -> Finding:
    other = "absolute_acceleration" if given == "acceleration" else "acceleration"
    words = {"acceleration": "relative to the ground", "absolute_acceleration": "absolute"}
    one = len(labels) == 1
    sentence = (
        f"{', '.join(labels)} {'is' if one else 'are'} given as '{given}' ({words[given]}), and the readings fit "
        f"'{other}' ({words[other]}) far better: give the sensor{'' if one else 's'} the quantity '{other}'. {effect}"
    )
    return Finding("meaning", WRONG, sentence, ", ".join(labels), share, numbers)


def _excitation(problem: Problem, corrections: Corrections, effect: str, share: float, numbers: dict[str, float]):
    """One sentence where all channels have the same fault: then it is that of the excitation."""
    gains = np.array([c.gain for c in corrections.values()])
    delays = np.array([c.delay for c in corrections.values()])
    step = problem.data[0].step
    gain, delay = float(np.median(gains)), float(np.median(delays))
    if np.any(np.abs(gains / gain - 1) > 0.1) or np.ptp(delays) > step:
        return None
    own = {**numbers, "gain": gain, "delay": delay}
    if abs(delay) > _AS_LATE * step:
        sentence = (
            f"All channels are {_lateness(delay)} against the excitation: check the clocks, or shift the excitation."
        )
        return Finding("delay", WRONG, f"{sentence} {effect}", "", share, own)
    quantity = problem.data[0].loads[0][0] if problem.data[0].loads else ""
    quantities = {problem.sensors[c].quantity for c in corrections}
    hints = [f"are the channels {unit_hint(gain, quantities.pop())}" if len(quantities) == 1 else ""]
    hints.append(f"is the excitation {unit_hint(1.0 / gain, quantity)}")
    said = " Or ".join(hint for hint in hints if hint.endswith("?")) or "check the unit of the excitation."
    sentence = f"All channels are {times(gain)} against the excitation: {said}"
    return Finding("unit", WRONG, f"{sentence} {effect}", "", share, own)


def _lateness(delay: float) -> str:
    return f"{'late' if delay > 0 else 'early'} by {1e3 * abs(delay):.1f} ms"


def _one_channel(label: str, quantity: str, correction: Correction, step: float) -> tuple[str, str]:
    """The sentence about one channel, and the name of its fault."""
    gain, parts, name = correction.gain, [], ""
    size = abs(gain)
    if gain < 0:
        parts.append("has the opposite sign")
        name = "sign"
    alone = correction.delay != 0.0 and abs(gain - 1.0) < 0.01
    if abs(correction.delay) > _AS_LATE * step or alone:
        parts.append(f"is {_lateness(correction.delay)}")
        name = "delay"
    hint = unit_hint(gain, quantity)
    if hint or not 0.95 < size < 1.05:
        parts.append(f"is {times(gain)}" + (f": {hint}" if hint else ""))
        name = "unit" if hint else name or "gain"
    cures = {
        "sign": "turn it round, or give the sensor gain = -1.",
        "delay": "shift it, or name its delay as unknown.",
        "unit": "Give the unit of this channel.",
        "gain": "check its calibration, or name its gain as unknown.",
    }
    text = f"Channel '{label}' " + " and ".join(parts or ["does not fit"])
    end = "" if text.endswith("?") else ": " if name != "unit" else "."
    name = name or "gain"
    return f"{text}{end or ' '}{cures[name]}", name
