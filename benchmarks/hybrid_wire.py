"""OpenSees across loopback: is a vibrid device behind a wire the same as in one process, and what does a step cost?

    python benchmarks/hybrid_wire.py [--out FILE.json]

Serves a spring and a LuGre damper (`vibrid hybrid serve`, a process of its own) over TCP and UDP to

- OpenSeesPy, whose two-storey frame is integrated by KRAlphaExplicit (skipped where OpenSeesPy cannot be imported),
- a plain client written from the text of the protocol, which makes the same moves,
- vibrid's own `RemoteSubstructure`,

and compares displacements with `vibrid.simulate` of the whole structure. Nothing can hang: every process has a limit.
The JSON goes to FILE, or to $OUT/hybrid_wire.json, or to benchmarks/results/hybrid_wire.json; the histories of OpenSees
in it are what `tests/hybrid/opensees_wire_results.json` keeps.
"""

import argparse
import contextlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent / "tests"
sys.path[:0] = [str(HERE.parent / "src"), str(TESTS), str(TESTS / "hybrid"), str(HERE)]

import opensees_wire as model  # noqa: E402
import plain_client  # noqa: E402
import table  # noqa: E402

import vibrid as vb  # noqa: E402
from vibrid.hybrid.wire import RemoteSubstructure  # noqa: E402

PATIENCE = 120.0
"""Seconds that any process may take."""
PROTOCOLS = ("tcp", "udp")
SAME, ROUND_TRIP = 1e-9, 150e-6


def frame(device: str, attached: bool = True) -> vb.Frame2D:
    """The frame of `opensees_wire` in vibrid, with its device."""
    laws = {"spring": vb.Linear(model.SPRING), "lugre": vb.LuGre(**model.LUGRE)}
    sections = np.array([model.COLUMN] * len(model.COLUMNS) + [model.BEAM] * len(model.BEAMS))
    return vb.Frame2D(
        nodes=model.NODES, elements=model.COLUMNS + model.BEAMS, modulus=model.MODULUS,
        area=sections[:, 0], inertia=sections[:, 1], density=0.0, supports={0: "fixed", 1: "fixed"},
        masses=[vb.PointMass(model.MASS, at=i, rotary=model.ROTARY) for i in range(2, 6)],
        damping=vb.Rayleigh(*model.RAYLEIGH),
        attachments=[vb.Attachment(laws[device], at=f"{model.PLACE}.x")] if attached else (),
    )  # fmt: skip


def in_one_process(device: str) -> np.ndarray:
    """Displacements of both floors by vibrid alone."""
    structure = frame(device)
    ground = vb.Record(model.motion(), [vb.Channel("ground", "ground_acceleration")], step=model.STEP)
    response = vb.simulate(structure, ground, integrator=vb.KRAlpha(model.DISSIPATION, weigh="displacement"))
    return response.displacement @ np.array([structure.row("2.x"), structure.row("4.x")]).T


@contextlib.contextmanager
def served(device: str, protocol: str):
    """A server process; yields its port."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "specimen.toml"
        file.write_text(model.specimen_file(device))
        serve = ["-m", "vibrid.cli", "hybrid", "serve", str(file), "--port", "0", "--protocol", protocol]
        paths = os.pathsep.join(filter(None, [str(HERE.parent / "src"), os.environ.get("PYTHONPATH")]))
        environment = os.environ | {"PYTHONPATH": paths, "JAX_PLATFORMS": "cpu"}
        server = subprocess.Popen(
            [sys.executable, *serve], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        try:
            line = server.stdout.readline()
            if "://" not in line:
                raise RuntimeError(f"the server did not start: {line}{server.stderr.read()}")
            yield int(line.rsplit(":", 1)[1])
            with contextlib.suppress(subprocess.TimeoutExpired):  # where no client came, it still waits
                print("   ", server.communicate(timeout=10)[0].strip())
        finally:
            server.kill()
            server.communicate()


def by_opensees(device: str, protocol: str) -> dict:
    """What OpenSees makes of it; a message where it cannot."""
    with served(device, protocol) as port:
        command = [sys.executable, str(TESTS / "hybrid" / "opensees_wire.py"), protocol, str(port)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            return {"problem": f"OpenSees did not end within {PATIENCE:g} s"}
    if done.returncode:
        return {"problem": (done.stderr or done.stdout).strip()[-500:]}
    return json.loads(done.stdout.splitlines()[-1])


def by_plain_client(device: str, protocol: str) -> dict:
    """The same by the plain client, with the matrices of the frame without its device."""
    bare = frame(device, attached=False).model()
    m, c, k = (np.asarray(a) for a in bare.initial_matrices())
    structure = frame(device)
    at = int(np.flatnonzero(structure.row(f"{model.PLACE}.x"))[0])
    inertia = m @ np.sum([structure.row(f"{i}.x") for i in range(2, 6)], axis=0)
    with served(device, protocol) as port:
        client = plain_client.PlainClient(protocol, port, timeout=PATIENCE)
        x, taken = plain_client.run(client, m, c, k, inertia, model.motion(), at, model.STEP, model.DISSIPATION)
        client.close()
    rows = x @ np.array([structure.row("2.x"), structure.row("4.x")]).T
    return {"displacement": rows.tolist(), "seconds": taken.tolist()}


def by_remote_substructure(device: str, protocol: str) -> dict:
    """Seconds of trial, force and commit by vibrid's own client."""
    with served(device, protocol) as port:
        wire = RemoteSubstructure("127.0.0.1", port, 1, protocol, timeout=PATIENCE)
        taken, rest = [], np.zeros(1)
        for i in range(model.STEPS):
            t = (i + 1) * model.STEP
            x, v = np.array([0.01 * np.sin(t)]), np.array([0.01 * np.cos(t)])
            began = time.perf_counter()
            wire.trial(x, v, rest, t)
            wire.commit()
            taken.append(time.perf_counter() - began)
        wire.stop("done")
    return {"seconds": taken}


def local_step() -> tuple[float | None, str]:
    """Median seconds of a step of OpenSees with a spring of its own; or why there is none."""
    command = [sys.executable, str(TESTS / "hybrid" / "opensees_wire.py"), "none", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        return None, done.stderr.strip().splitlines()[-1][:200]
    return float(np.median(json.loads(done.stdout.splitlines()[-1])["seconds"])), ""


def quantiles(seconds) -> dict:
    values = np.asarray(seconds)[10:]
    return {name: float(np.quantile(values, q)) for name, q in (("median", 0.5), ("p99", 0.99), ("worst", 1.0))}


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--out", type=Path, help="JSON file to write")
    out = arguments.parse_args().out
    if out is None and os.environ.get("OUT"):
        out = Path(os.environ["OUT"]) / "hybrid_wire.json"
    rows, histories, times = [], {}, {}
    alone, missing = local_step()
    if missing:
        rows.append({"what": "OpenSees", "measured": "not run", "target": "", "met": None, "note": missing})
    for device in model.DEVICES:
        truth = in_one_process(device)
        size = np.abs(truth).max()
        for protocol in PROTOCOLS:
            for name, drive in (
                ("OpenSees", by_opensees), ("plain client", by_plain_client),
                ("RemoteSubstructure", by_remote_substructure),
            ):  # fmt: skip
                if missing and name == "OpenSees":
                    continue
                what = f"{device} behind {protocol.upper()}, {name}"
                print(what, flush=True)
                made = drive(device, protocol)
                if "problem" in made:
                    rows.append({"what": what, "measured": "not run", "target": "", "met": None, "note": made["problem"]})
                    continue
                if "displacement" in made:
                    gap = float(np.abs(np.array(made["displacement"]) - truth).max() / size)
                    row = {"what": f"{what}: displacement from one process", "measured": f"{gap:.1e}", "target": "1e-9"}
                    rows.append(row | {"met": gap <= SAME, "details": {"gap": gap, "largest": size}})
                took = quantiles(made["seconds"])
                times[what] = took
                row = {"what": f"{what}: a step", "measured": f"{took['median'] * 1e6:.0f} µs", "target": "150 µs"}
                note = f"p99 {took['p99'] * 1e6:.0f} µs, worst {took['worst'] * 1e6:.0f} µs"
                if name == "OpenSees":
                    histories[f"{device} {protocol}"] = made["displacement"][::10]
                    note += f"; {alone * 1e6:.0f} µs of it without a wire" if alone else ""
                rows.append(row | {"met": took["median"] < ROUND_TRIP, "note": note, "details": took})
                print(f"    {rows[-1]['measured']}, {note}", flush=True)
    machine = f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    if out is None:
        title = "OpenSees across loopback"
        table.save("hybrid_wire", title, "python benchmarks/hybrid_wire.py", machine, rows)
    else:
        out.parent.mkdir(parents=True, exist_ok=True)
        made = {"machine": machine, "python": platform.python_version(), "rows": rows, "times": times}
        out.write_text(json.dumps(made | {"opensees_step_without_wire": alone, "histories": histories}, indent=1))
        print(table.markdown({"title": "hybrid_wire", "command": " ".join(sys.argv), "date": "", **made}))


if __name__ == "__main__":
    main()
