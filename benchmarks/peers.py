"""The peers that `simulate.py` is timed against: SciPy, a loop compiled by hand with numba, and OpenSees."""

import ctypes
import importlib.util
from pathlib import Path

import numpy as np
from scipy.integrate import solve_ivp


def scipy_cubic_thermostat(masses, stiffness, cubic, initial, rate, ground, step, method, rtol, tied=False):
    """Displacement history of the cubic + thermostat building, its right-hand side as a good NumPy user writes it.

    `tied` fixes SciPy's steps to the samples and takes its steps as they come, without interpolation.
    """
    n = len(masses)
    time = np.arange(len(ground)) * step
    w, d, f, out = np.empty(n), np.empty(n), np.zeros(n + 1), np.empty(3 * n)

    def rhs(t, y):
        x, v, c = y[:n], y[n : 2 * n], y[2 * n :]
        d[0], w[0] = x[0], v[0]
        np.subtract(x[1:], x[:-1], out=d[1:])
        np.subtract(v[1:], v[:-1], out=w[1:])
        f[:n] = stiffness * d + c * w
        f[0] += cubic * d[0] ** 3
        out[:n] = v
        out[n : 2 * n] = (f[1:] - f[:-1]) / masses - np.interp(t, time, ground)
        out[2 * n :] = rate * w * w
        return out.copy()

    y0 = np.concatenate([np.zeros(2 * n), np.full(n, initial)])
    more = {"first_step": step, "max_step": step} if tied else {"t_eval": time}
    made = solve_ivp(rhs, (0.0, time[-1]), y0, method=method, rtol=rtol, atol=1e-3 * rtol, **more)
    return made.y[:n, : len(time)].T


def numba_cubic_thermostat():
    """Runge–Kutta 4 for the same building, written out and compiled by numba; fills x, v, a and c."""
    import numba

    @numba.njit
    def rates(x, v, c, ground, masses, stiffness, cubic, rate, f, a, dc):
        n = x.size
        for i in range(n):
            d = x[i] - (x[i - 1] if i else 0.0)
            w = v[i] - (v[i - 1] if i else 0.0)
            f[i] = stiffness[i] * d + cubic[i] * d * d * d + c[i] * w
            dc[i] = rate * w * w
        for i in range(n):
            a[i] = ((f[i + 1] if i + 1 < n else 0.0) - f[i]) / masses[i] - ground

    @numba.njit
    def run(masses, stiffness, cubic, initial, rate, ground, h):
        n, samples = masses.size, ground.size
        x_all, v_all = np.empty((samples, n)), np.empty((samples, n))
        a_all, c_all = np.empty((samples, n)), np.empty((samples, n))
        x, v, c, f = np.zeros(n), np.zeros(n), initial.copy(), np.zeros(n)
        a1, a2, a3, a4 = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
        d1, d2, d3, d4 = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
        x2, v2, v3, v4, c2 = np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n)
        rates(x, v, c, ground[0], masses, stiffness, cubic, rate, f, a1, d1)
        for s in range(samples):
            x_all[s], v_all[s], a_all[s], c_all[s] = x, v, a1, c
            if s + 1 == samples:
                break
            middle, end = 0.5 * (ground[s] + ground[s + 1]), ground[s + 1]
            for i in range(n):
                x2[i], v2[i], c2[i] = x[i] + 0.5 * h * v[i], v[i] + 0.5 * h * a1[i], c[i] + 0.5 * h * d1[i]
            rates(x2, v2, c2, middle, masses, stiffness, cubic, rate, f, a2, d2)
            for i in range(n):
                x2[i], v3[i], c2[i] = x[i] + 0.5 * h * v2[i], v[i] + 0.5 * h * a2[i], c[i] + 0.5 * h * d2[i]
            rates(x2, v3, c2, middle, masses, stiffness, cubic, rate, f, a3, d3)
            for i in range(n):
                x2[i], v4[i], c2[i] = x[i] + h * v3[i], v[i] + h * a3[i], c[i] + h * d3[i]
            rates(x2, v4, c2, end, masses, stiffness, cubic, rate, f, a4, d4)
            for i in range(n):
                x[i] += h / 6 * (v[i] + 2 * v2[i] + 2 * v3[i] + v4[i])
                v[i] += h / 6 * (a1[i] + 2 * a2[i] + 2 * a3[i] + a4[i])
                c[i] += h / 6 * (d1[i] + 2 * d2[i] + 2 * d3[i] + d4[i])
            rates(x, v, c, end, masses, stiffness, cubic, rate, f, a1, d1)
        return x_all, v_all, a_all, c_all

    return run


def load_opensees():
    """OpenSeesPy, whose wheel needs its own bundled libraries loaded first; None where it cannot run."""
    wheel = importlib.util.find_spec("openseespylinux")
    if wheel is None:
        return None
    folder = Path(wheel.submodule_search_locations[0]) / "lib"
    try:
        for name in ("libquadmath", "libgfortran", "libgomp", "libblas", "liblapack"):
            for path in folder.glob(f"{name}.so*"):  # which ones are bundled differs between versions
                ctypes.CDLL(str(path), ctypes.RTLD_GLOBAL)
        return importlib.import_module("openseespy.opensees")
    except (OSError, RuntimeError, ImportError):
        return None


def opensees_bouc_wen(ops, masses, stiffness, shape, damping, ground, step, explicit=False, post_yield_ratio=0.0):
    """Build the Bouc–Wen chain; the returned function is one `analyze` call over the whole motion.

    Implicit: Newmark with Newton. Explicit: KR-α with ρ∞ = 1, one linear solve a step.
    """
    ops.wipe()
    ops.model("basic", "-ndm", 1, "-ndf", 1)
    ops.node(0, 0.0)
    ops.fix(0, 1)
    for i, (m, k) in enumerate(zip(masses, stiffness, strict=True)):
        ops.node(i + 1, 0.0)
        ops.mass(i + 1, m)
        ops.uniaxialMaterial("BoucWen", 100 + i, post_yield_ratio, k, *shape, 1.0, 0.0, 0.0, 0.0)
        ops.uniaxialMaterial("Elastic", 200 + i, 0.0, damping)
        ops.uniaxialMaterial("Parallel", 300 + i, 100 + i, 200 + i)
        ops.element("zeroLength", i, i, i + 1, "-mat", 300 + i, "-dir", 1, "-doRayleigh", 0)
    ops.timeSeries("Path", 1, "-dt", step, "-values", *map(float, ground))
    ops.pattern("UniformExcitation", 1, 1, "-accel", 1)
    ops.constraints("Plain")
    ops.numberer("RCM")
    ops.system("BandGeneral")
    if explicit:
        ops.algorithm("Linear")
        ops.integrator("KRAlphaExplicit", 1.0)
    else:
        ops.test("NormUnbalance", 1e-8, 20)
        ops.algorithm("Newton")
        ops.integrator("Newmark", 0.5, 0.25)
    ops.analysis("Transient")
    return lambda: ops.analyze(len(ground) - 1, step)
