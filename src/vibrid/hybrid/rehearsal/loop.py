"""The linearised loop of a hybrid test: critical delays and poles.

At rest the structure and its devices are linear, and a device that follows its target by the transfer function H gives

    (M s² + C s + K + Σ (k + c s) H(s) r rᵀ) φ = 0,

r the deformation of the device per displacement, k and c its initial stiffness and damping. H is that of the actuator
with its compensator; 1 for a device that is moved exactly, e^{−sτ} for a delay τ (Horiuchi, Inoue, Konno & Namita
1999). A device that yields or slips has less than its initial stiffness: the linearised loop is that of small motions.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy

from vibrid.core.errors import Refusal, unknown_name
from vibrid.hybrid.coordinator import HybridTest
from vibrid.hybrid.parts import Experimental, Modelled
from vibrid.laws.base import simplified
from vibrid.structures.model import Model

Transfer = Callable[[Any], Any]
"""Motion / target at complex frequencies, one or many."""


@dataclass(frozen=True)
class Pole:
    """A mode of the loop, of the structure with its devices: frequency (Hz, structure's time) and damping ratio."""

    frequency: float
    damping: float
    """damping ratio in the loop; negative if the mode grows"""
    damping_exact: float
    """damping ratio if all devices are moved exactly"""


@dataclass(frozen=True)
class Crossing:
    """The delay (s, laboratory time) at which a loop becomes unstable, and the frequency (Hz) of the growing motion."""

    delay: float
    frequency: float


NEVER = Crossing(np.inf, np.nan)


@dataclass(frozen=True, eq=False)
class LinearLoop:
    """The matrices of a hybrid test at rest, and the transfer function of each device."""

    names: tuple[str, ...]
    mass: np.ndarray  # (n, n) of the structure without devices
    damping: np.ndarray
    stiffness: np.ndarray
    rows: np.ndarray  # (parts, n)
    slopes: np.ndarray  # (parts, 2) N/m and N s/m of all devices of a part, at the scale of the structure
    transfers: tuple[Transfer, ...]  # of laboratory time
    time: float  # structure / laboratory
    highest: float  # rad/s: half the rate of the commands, structure's time

    def impedance(self, s, share: float = 1.0, without: int | None = None) -> np.ndarray:
        """(…, n, n), the matrix of the loop at `s` (…); `share` of each transfer function, 0 for exact motion."""
        s = np.asarray(s, complex)[..., None, None]
        total = self.mass * s * s + self.damping * s + self.stiffness
        for i, (row, (k, c)) in enumerate(zip(self.rows, self.slopes, strict=True)):
            if i != without:
                h = 1.0 + share * (self.transfers[i](s * self.time) - 1.0) if share else 1.0
                total = total + (k + c * s) * h * np.outer(row, row)
        return total

    def open_loop(self, i: int, s) -> np.ndarray:
        """(…), force of device `i` in the loop, opened there, at `s` (…): 1 + this is zero at the poles."""
        row, (k, c) = self.rows[i], self.slopes[i]
        s = np.asarray(s, complex)
        flexibility = np.linalg.solve(self.impedance(s, without=i), row[:, None])[..., 0] @ row
        return (k + c * s) * self.transfers[i](s * self.time) * flexibility

    def margin(self, name: str) -> Crossing:
        """The further delay of a device at which the loop becomes unstable; infinite if none does.

        The loop is at the limit where the open loop, delayed, is −1 at some frequency. 0 if it is unstable already.
        """
        if self.unstable:
            return Crossing(0.0, np.nan)
        i = self._number(name)

        def size(omega: float) -> float:
            return float(np.log(np.abs(self.open_loop(i, 1j * omega))))

        grid = self._frequencies()
        sizes = np.log(np.abs(self.open_loop(i, 1j * grid)))
        crossings = [NEVER]
        for a, b, before, after in zip(grid[:-1], grid[1:], sizes[:-1], sizes[1:], strict=True):
            if before * after < 0:
                omega = scipy.optimize.brentq(size, a, b, xtol=1e-12 * b, rtol=1e-12)
                turn = (np.angle(self.open_loop(i, 1j * omega)) - np.pi) % (2 * np.pi)
                crossings.append(Crossing(float(turn / omega / self.time), float(omega / (2 * np.pi))))
        return min(crossings, key=lambda crossing: crossing.delay)

    def with_exact(self, name: str) -> LinearLoop:
        """The same loop with one device moved exactly."""
        i = self._number(name)
        transfers = list(self.transfers)
        transfers[i] = exact
        return dataclasses.replace(self, transfers=tuple(transfers))

    def critical_delay(self, name: str) -> Crossing:
        """The delay of one device, all others as they are, at which the loop becomes unstable."""
        return self.with_exact(name).margin(name)

    @property
    def unstable(self) -> int:
        """The number of unstable poles: how often det Z(iω)/det Z₀(iω) turns round the origin, Z₀ exact motion."""
        s = 1j * self._frequencies()
        ratio = np.divide(*(np.linalg.slogdet(self.impedance(s, share))[0] for share in (1.0, 0.0)))
        return max(0, round(-float(np.angle(ratio[1:] / ratio[:-1]).sum()) / np.pi))

    def poles(self) -> list[Pole]:
        """The modes of the structure with its devices, lowest first, followed from exact motion to the loop."""
        n = len(self.mass)
        k = np.real(self.impedance(0.0, 0.0))
        c = self.damping + np.einsum("pn,p,pm->nm", self.rows, self.slopes[:, 1], self.rows)
        inverse = np.linalg.inv(self.mass)
        state = np.block([[np.zeros((n, n)), np.eye(n)], [-inverse @ k, -inverse @ c]])
        values, vectors = np.linalg.eig(state)
        poles = []
        for s, vector in zip(values, vectors.T, strict=True):
            if s.imag > 0:
                moved = self._follow(s, vector[:n])
                numbers = abs(moved) / (2 * np.pi), -moved.real / abs(moved), -s.real / abs(s)
                poles.append(Pole(*map(float, numbers)))
        return sorted(poles, key=lambda pole: pole.frequency)

    def _follow(self, s: complex, shape: np.ndarray) -> complex:
        """Newton's method for the pole, from exact motion to the loop in small changes."""
        n = len(shape)
        left = shape.conj() / np.vdot(shape, shape)
        for share in np.linspace(0.0, 1.0, 21)[1:]:
            for _ in range(30):
                step = 1e-6 * abs(s)
                slope = (self.impedance(s + step, share) - self.impedance(s - step, share)) / (2 * step)
                matrix = self.impedance(s, share)
                system = np.block([[matrix, (slope @ shape)[:, None]], [left[None, :], np.zeros((1, 1))]])
                change = np.linalg.solve(system, -np.append(matrix @ shape, left @ shape - 1.0))
                shape, s = shape + change[:n], s + change[n]
                if abs(change[n]) < 1e-11 * abs(s):
                    break
        return s

    def _frequencies(self) -> np.ndarray:
        """rad/s: over the whole range, and closer near every resonance, with and without the devices."""
        resonances = []
        for stiffness in (self.stiffness, np.real(self.impedance(0.0, 0.0))):
            values = scipy.linalg.eigh(stiffness, self.mass, eigvals_only=True)
            resonances += list(np.sqrt(values[values > 0]))
        low = min(resonances, default=1.0)
        wide = np.geomspace(1e-2 * low, self.highest, 1500)
        near = np.concatenate([[-1.0], -np.geomspace(0.5, 1e-5, 60), [0.0], np.geomspace(1e-5, 0.5, 60)])[1:]
        close = [omega * (1.0 + near) for omega in resonances]
        grid = np.unique(np.concatenate([wide, *close]))
        return grid[(grid > 0) & (grid <= self.highest)]

    def _number(self, name: str) -> int:
        if name not in self.names:
            raise unknown_name("device", name, list(self.names))
        return self.names.index(name)


def exact(s):
    """The transfer function of a device that is moved exactly."""
    return 1.0


def linear_loop(test: HybridTest, loads=()) -> LinearLoop:
    """The linearised loop of a test whose devices are all computed."""
    built: Model = simplified(test.structure).built(loads)
    model = built if isinstance(built, Model) else built.model(loads)
    mass, damping, stiffness = (np.asarray(matrix) for matrix in model.initial_matrices())
    scale = test.scaling
    slopes = []
    for part in test.parts:
        if part.is_outside:
            raise Refusal(f"'{part.name}' is external: a rehearsal needs a virtual specimen in its place.")
        k, c = float(part.device.initial_stiffness()), float(part.device.initial_damping())
        whole = scale.force * float(part.count)
        slopes.append((whole * k / scale.length, whole * c * scale.time / scale.length))
    return LinearLoop(
        tuple(part.name for part in test.parts),
        mass,
        damping,
        stiffness,
        np.stack([part.row(test.structure) for part in test.parts]),
        np.array(slopes),
        tuple(transfer_of(part) for part in test.parts),
        scale.time,
        np.pi * test.rate / scale.time,
    )


def transfer_of(part: Experimental | Modelled) -> Transfer:
    """The transfer function from target to motion: compensator and actuator."""
    if isinstance(part, Modelled) or part.actuator is None:
        return exact
    links = [*([part.compensator] if part.compensator is not None else []), part.actuator.dynamics]

    def transfer(s):
        total = 1.0
        for link in links:
            value = link.transfer(s)
            if value is None:
                raise Refusal(f"{type(link).__name__} of '{part.name}' states no transfer function (`transfer(s)`).")
            total = total * value
        return total

    return transfer
