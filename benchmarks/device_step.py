"""One step of a device network: as C on a real-time target, as an ONNX graph, and inside the real-time loop.

    python benchmarks/device_step.py

The passive network, which is the recommended one, the resonant one and the paper's, with random weights (their values
do not change the time). Steps of the C file are timed inside a C program, compiled with `-O3 -march=native` and nothing
else; the C is compared with the model over an hour of samples, the ONNX graph over 10⁵. In the loop the time is that
between the reply of the tested device and the next command to it: network, compensator, integrator and a two-storey
shear building, computed by C and by JAX. Results go to `benchmarks/results/`, the table to `benchmarks/README.md`.
"""

import argparse
import os
import platform
import subprocess
import tempfile
import time
from pathlib import Path

import equinox as eqx
import jax
import numpy as np
from table import save

from vibrid.core.loops import compile_whole_loops
from vibrid.papers.ocpnn.as_published import PUBLISHED

STEPS, ONNX_STEPS, REPEATS = 3600 * 256, 100_000, 5
FIRST = 10_000
"""Steps of a loop over which two programs are compared: later, last bits have grown (untrained network, device with
play). Where they grow as much in these steps, as with the untrained passive network, the row is not judged."""
HARNESS = """
#define _POSIX_C_SOURCE 200809L
#include "device.h"
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(int argc, char **argv) {
    (void)argc;
    const int steps = atoi(argv[1]), inputs = atoi(argv[2]);
    double *u = malloc(sizeof(double) * (size_t)steps * (size_t)inputs);
    FILE *in = fopen(argv[3], "rb"), *out = fopen(argv[4], "wb");
    if (fread(u, sizeof(double) * (size_t)inputs, (size_t)steps, in) != (size_t)steps) return 1;
    static device_state state;
    device_start(&state);
    for (int i = 0; i < steps; i++) {
        struct timespec a, b;
        double row[3];
        clock_gettime(CLOCK_MONOTONIC, &a);
        row[2] = device_step(&state, u + (size_t)i * (size_t)inputs, row);
        clock_gettime(CLOCK_MONOTONIC, &b);
        row[1] = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
        fwrite(row, sizeof row, 1, out);
    }
    fclose(in);
    fclose(out);
    free(u);
    return 0;
}
"""


def row(what, measured, target="", met=None, note="", **details) -> dict:
    return {"what": what, "measured": measured, "target": target, "met": met, "note": note, "details": details}


def history() -> np.ndarray:
    """(steps, 9) inputs: motion, capacities, measurements of the tested device and first force, as in a test."""
    rng, t = np.random.default_rng(0), np.arange(STEPS) / 256.0
    x = 0.01 * np.sin(2 * np.pi * 1.3 * t) * np.sin(2 * np.pi * 0.05 * t)
    v = np.gradient(x, 1 / 256.0)
    force = 1.5e4 * np.tanh(v / 0.02)
    companion = [force + 300 * rng.standard_normal(STEPS), x, 120 + 30 * np.tanh(v / 0.1), 120 - 30 * np.tanh(v / 0.1)]
    return np.column_stack([x, v, np.full((STEPS, 2), 1.8e4), *companion, np.zeros(STEPS)])


def models(u: np.ndarray) -> dict:
    from vibrid.hybrid.learned.histories import DeviceTest
    from vibrid.hybrid.learned.recipes import Recipe

    test = DeviceTest("", u[:, 0], u[:, 1], u[:, 4], u[:, 4:8], (1.8e4, 1.8e4))
    recipes = {
        "resonant network": Recipe(network="resonant"),
        "passive network": Recipe(),
        "network of the paper": PUBLISHED["data-driven"].replace(rate=256.0),
    }
    return {name: recipe.maker([test])(jax.random.key(1)) for name, recipe in recipes.items()}


def expected(model, u) -> np.ndarray:
    from vibrid.hybrid.learned.model import DeviceSample, Setting

    def one(state, now):
        state, force = model.step(state, DeviceSample(now[0], now[1], now[4:8]), Setting(now[2:4], now[8]))
        return state, force

    return np.asarray(jax.jit(lambda u: jax.lax.scan(one, model.start(), u)[1])(u), float)


def in_c(model, u, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Forces, and the seconds of every step in each of `REPEATS` runs: (repeats, steps)."""
    from vibrid.hybrid.learned.deploy import write_model
    from vibrid.hybrid.learned.files import SavedModel
    from vibrid.hybrid.learned.guard import Fault
    from vibrid.networks.export.compiled import compiler

    write_model(SavedModel(model), folder / "device.c")
    (folder / "main.c").write_text(HARNESS)
    made = [compiler(), "-O3", "-march=native", "device.c", "main.c", "-o", "run", "-lm"]
    subprocess.run(made, cwd=folder, check=True)
    np.ascontiguousarray(u).tofile(folder / "in.bin")
    times = []
    for _ in range(REPEATS):
        subprocess.run(["./run", str(len(u)), str(u.shape[1]), "in.bin", "out.bin"], cwd=folder, check=True)
        found = np.fromfile(folder / "out.bin").reshape(-1, 3)
        times.append(found[:, 1])
    if (found[:, 2].astype(int) & ~Fault.FORCE).any():
        raise SystemExit("The C flags samples that are in order.")
    return found[:, 0], np.array(times)


def in_onnx(model, u, folder: Path) -> tuple[np.ndarray, float]:
    """Forces, and the median seconds of a step."""
    import onnxruntime

    from vibrid.hybrid.learned.deploy import traced_model, write_model
    from vibrid.hybrid.learned.files import SavedModel

    (file,) = write_model(SavedModel(model), folder / "device.onnx").files
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])
    traced = traced_model(model)
    names = [f"state_{i}_{name}" for i, name in enumerate(traced.state_names)]
    after = [name.replace("state_", "next_", 1) for name in names]
    state, forces, times = dict(zip(names, traced.start, strict=True)), [], []
    for now in u:
        began = time.perf_counter()
        outputs, *states = session.run(["outputs", *after], {"inputs": now, **state})
        times.append(time.perf_counter() - began)
        state = dict(zip(names, states, strict=True))
        forces.append(outputs[0])
    return np.array(forces), float(np.median(times))


def in_the_loop(model, in_c: bool) -> tuple[np.ndarray, np.ndarray, str]:
    """µs between a reply of the tested device and the next command, the model's forces, and what computed them."""
    import vibrid as vb
    from vibrid.hybrid import DeviceSubstructure
    from vibrid.hybrid.learned.files import SavedModel

    class Timed(DeviceSubstructure):
        replied, times = 0.0, ()

        def trial(self, *given):
            now = time.perf_counter()
            if self.replied:
                self.times.append(now - self.replied)
            reading = super().trial(*given)
            self.replied = time.perf_counter()
            return reading

    outside = Timed(vb.hybrid.BandedFrictionDamper(18e3), 1 / 1024)
    outside.times = []
    building = vb.ShearBuilding(masses=[8.9e3, 9.1e3], storeys=[vb.Linear(9e6, 3e4)] * 2)
    tested = vb.hybrid.Experimental(outside, at=0, name="first", count=4, compensator=vb.hybrid.Inverse(0.018))
    device = SavedModel(model).device(1024.0, 1.8e4)
    test = vb.hybrid.HybridTest(
        building, [tested], [vb.hybrid.Modelled(device, at=1, to=0, name="second", count=4, companion="first")]
    )
    result = test.run(vb.synthetic_motion(1, duration=20.0, rate=1024.0, pga=3.0), in_c=in_c)
    return 1e6 * np.array(outside.times)[100:], result.devices["second.force"], result.computed_by


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--machine", default=f"{os.cpu_count()} {platform.machine()} cores")
    parser.add_argument("--name", default="device_step")
    chosen = parser.parse_args()
    compile_whole_loops()
    u, rows, first_median = history(), [], None
    for name, model in models(u).items():
        true = expected(model, u)
        size = 1.8e4
        with tempfile.TemporaryDirectory() as made:
            forces, times = in_c(model, u, Path(made))
            median, later, lates = (1e6 * np.quantile(times, q, axis=1) for q in (0.5, 0.99, 0.999))
            median, late = np.median(median), np.median(lates)
            apart = np.abs(forces - true).max() / size
            first_median, most = first_median or median, 12 if name == "passive network" else 10
            note = f"p99 {np.median(later):.1f} µs; {median / first_median:.1f} × the resonant network in this run"
            rows.append(row(f"{name}: C step, median", f"{median:.1f} µs", f"≤ {most} µs", bool(median <= most), note))
            listed = ", ".join(f"{one:.1f}" for one in sorted(lates))
            rows.append(row(f"{name}: C step, p99.9", f"{late:.1f} µs", "≤ 50 µs", bool(late <= 50),
                            f"the middle one of {REPEATS} runs: {listed} µs"))  # fmt: skip
            rows.append(row(f"{name}: C against the model, one hour", f"{apart:.1e} of the capacity", "≤ 1e-5",
                            bool(apart <= 1e-5)))  # fmt: skip
            forces, typical = in_onnx(model, u[:ONNX_STEPS], Path(made))
            apart = np.abs(forces - true[:ONNX_STEPS]).max() / size
            note = f"a step through onnxruntime from Python {1e6 * typical:.0f} µs"
            rows.append(row(f"{name}: ONNX against the model, 10⁵ steps", f"{apart:.1e} of the capacity", "≤ 1e-5",
                            bool(apart <= 1e-5), note))  # fmt: skip
        times, forces, how = in_the_loop(model, in_c=True)
        slower, plain, _ = in_the_loop(model, in_c=False)
        _, moved, _ = in_the_loop(eqx.tree_at(lambda m: m.network.bias, model, replace_fn=lambda b: b + 1e-7), False)
        note = (f"p99 {np.quantile(times, 0.99):.0f} µs, p99.9 {np.quantile(times, 0.999):.0f} µs, computed by {how}; "
                f"by JAX {np.median(slower):.0f} µs, p99.9 {np.quantile(slower, 0.999):.0f} µs")  # fmt: skip
        rows.append(row(f"{name}: modelled side of a step in the loop, median", f"{np.median(times):.0f} µs",
                        "≤ 150 µs (aim)", bool(np.median(times) <= 150), note))  # fmt: skip
        apart, by_nothing = (np.abs(other - plain) / size for other in (forces, moved))
        note = (f"after 20 s {apart.max():.0e}; a weight 1e-7 larger moves JAX's own forces by "
                f"{by_nothing[:FIRST].max():.0e}, after 20 s {by_nothing.max():.0e}")  # fmt: skip
        apart, telling = apart[:FIRST].max(), by_nothing[:FIRST].max() <= 1e-5
        rows.append(row(f"{name}: forces in the loop, {how} against JAX, {FIRST} steps", f"{apart:.1e} of the capacity",
                        "≤ 1e-5", bool(apart <= 1e-5) if telling else None, note))  # fmt: skip
    save(chosen.name, "Device networks", "python benchmarks/device_step.py", chosen.machine, rows)


if __name__ == "__main__":
    main()
