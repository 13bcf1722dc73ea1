"""OpenSees across loopback: agreement of a served vibrid device with the same device in one process; cost of a step.

    python benchmarks/hybrid_wire.py [--out FILE.json]

Serves a spring and a LuGre damper (in a process of its own) over TCP and UDP to

- OpenSeesPy, whose two-storey frame is integrated by KRAlphaExplicit (skipped where OpenSeesPy cannot be imported),
- a plain client written from the text of the protocol, with the same steps,
- vibrid's own `RemoteSubstructure`,

and compares displacements with `vibrid.simulate` of the whole structure. Nothing can hang: every process has a limit.
The JSON goes to FILE, or to $OUT/hybrid_wire.json where OUT is set; else the table in `benchmarks/README.md` is made.
`--take FILE.json` imports the results of another machine: the histories of OpenSees into
`tests/hybrid/opensees_wire_results.json`, the table into the page.
"""

import argparse
import contextlib
import itertools
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent / "tests"
sys.path[:0] = [str(HERE.parent / "src"), str(TESTS), str(TESTS / "hybrid"), str(HERE)]

import opensees_wire as model  # noqa: E402
import plain_client  # noqa: E402
import table  # noqa: E402

import vibrid as vb  # noqa: E402
from vibrid.hybrid import (  # noqa: E402
    DeviceServer,
    DeviceSubstructure,
    LawDevice,
    Listener,
    RealTime,
    RemoteSubstructure,
    SafetyLimits,
)

PATIENCE = 180.0
"""Seconds that any process may take."""
PYTHON = os.environ.get("OPENSEES_PYTHON", sys.executable)
"""The Python that has OpenSeesPy, where it is another one."""
PROTOCOLS = ("tcp", "udp")
SAME, ROUND_TRIP = 1e-9, 150e-6
TITLE = "OpenSees across loopback"


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


def serve(device: str, protocol: str) -> None:
    """What the server process does: one test."""
    law = frame(device).attachments[0].law
    server = DeviceServer(
        lambda: DeviceSubstructure(LawDevice(law), model.STEP), Listener(port=0, protocol=protocol, idle=30.0),
        SafetyLimits(displacement=0.5, velocity=10.0, force=1e7, step=0.1), damping="apart",
    )  # fmt: skip
    print(server.port, flush=True)
    print(server.serve(), flush=True)


@contextlib.contextmanager
def served(device: str, protocol: str):
    """A server process; yields its port. It shares the priority of this process."""
    command = [sys.executable, __file__, "--serve", device, protocol]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = server.stdout.readline().strip()
        if not line.isdigit():
            raise RuntimeError(f"the server did not start: {line}{server.stderr.read()}")
        yield int(line)
        with contextlib.suppress(subprocess.TimeoutExpired):  # where no client came, it still waits
            print("   ", server.communicate(timeout=10)[0].strip())
    finally:
        server.kill()
        server.communicate()


def opensees(protocol: str, port: int) -> dict:
    """What OpenSees makes of it, in a process of its own; or the problem it had."""
    command = [PYTHON, str(TESTS / "hybrid" / "opensees_wire.py"), protocol, str(port)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        return {"problem": f"OpenSees did not end within {PATIENCE:g} s"}
    found = [line for line in done.stdout.splitlines() if line.startswith('{"displacement"')]
    return json.loads(found[0]) if found else {"problem": (done.stderr or done.stdout).strip()[-500:]}


def by_opensees(device: str, protocol: str) -> dict:
    """Displacements and times of OpenSees with the device behind a wire."""
    with served(device, protocol) as port:
        return opensees(protocol, port)


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
    made = opensees("none", 0)
    if "problem" not in made:
        return float(np.median(made["seconds"])), ""
    why = made["problem"].splitlines()[-1]
    return None, "OpenSeesPy cannot be imported on this machine" if "ImportError" in why else why[:200]


def quantiles(seconds) -> dict:
    values = np.asarray(seconds)[10:]
    return {name: float(np.quantile(values, q)) for name, q in (("median", 0.5), ("p99", 0.99), ("worst", 1.0))}


def _not_run(what: str, why: str) -> dict:
    return {"what": what, "measured": "not run", "target": "", "met": None, "note": why}


def measure(missing: str, alone: float | None) -> tuple[list[dict], dict, dict]:
    """Rows of the table, histories of OpenSees, and times of steps."""
    rows, histories, times = [], {}, {}
    if missing:
        rows.append(_not_run("OpenSees", missing))
    clients = {"OpenSees": by_opensees, "plain client": by_plain_client, "RemoteSubstructure": by_remote_substructure}
    for device, protocol, name in itertools.product(model.DEVICES, PROTOCOLS, clients):
        if missing and name == "OpenSees":
            continue
        what = f"{device} behind {protocol.upper()}, {name}"
        print(what, flush=True)
        made = clients[name](device, protocol)
        if "problem" in made:
            rows.append(_not_run(what, made["problem"]))
            continue
        if "displacement" in made:
            reference = in_one_process(device)
            gap = float(np.abs(np.array(made["displacement"]) - reference).max() / np.abs(reference).max())
            row = {"what": f"{what}: displacement from one process", "measured": f"{gap:.1e}", "target": "1e-9"}
            rows.append(row | {"met": gap <= SAME, "details": {"gap": gap}})
        took = times[what] = quantiles(made["seconds"])
        note = f"p99 {took['p99'] * 1e6:.0f} µs, worst {took['worst'] * 1e6:.0f} µs"
        row = {"what": f"{what}: a step", "measured": f"{took['median'] * 1e6:.0f} µs", "target": "150 µs"}
        row |= {"met": took["median"] < ROUND_TRIP, "details": took}
        if name == "OpenSees":
            histories[f"{device} {protocol}"] = made["displacement"][::10]
            note += f"; {alone * 1e6:.0f} µs of it without a wire; OpenSees {made['version']}"
            if made["machine"] != platform.machine():
                row |= {"target": "", "met": None}
                note += f", emulated ({made['machine']}), so the time is not meaningful"
        elif name == "plain client":
            row |= {"target": "", "met": None}
            note += "; six messages and two replies, as OpenSees has, by plain Python"
        rows.append(row | {"note": note})
        print(f"    {rows[-1]['measured']}, {note}", flush=True)
    return rows, histories, times


def take(file: Path) -> None:
    """What another machine measured, into the tests and the page."""
    made = json.loads(file.read_text())
    kept = {"machine": made["machine"], "python": made["python"], "histories": made["histories"]}
    (TESTS / "hybrid" / "opensees_wire_results.json").write_text(json.dumps(kept))
    table.save("hybrid_wire", TITLE, "python benchmarks/hybrid_wire.py", made["machine"], made["rows"])


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--out", type=Path, help="JSON file to write")
    arguments.add_argument("--priority", type=int, help="real-time priority of all processes, on a busy machine")
    arguments.add_argument("--take", type=Path, help="JSON file of another machine to take over")
    arguments.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    given = arguments.parse_args()
    if given.serve or given.take:
        return serve(*given.serve) if given.serve else take(given.take)
    settings = RealTime(given.priority)
    settings.apply()
    rows, histories, times = measure(*reversed(local_step()))
    machine = f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    if given.priority:
        machine += ", ".join(["", *(settings.notes or [f"real-time priority {given.priority}"])])
    out = given.out or (Path(os.environ["OUT"]) / "hybrid_wire.json" if os.environ.get("OUT") else None)
    if out is None:
        table.save("hybrid_wire", TITLE, "python benchmarks/hybrid_wire.py", machine, rows)
        return
    made = {"machine": machine, "python": platform.python_version(), "rows": rows, "times": times}
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(made | {"histories": histories}, indent=1))
    print(table.markdown({"title": "hybrid_wire", "command": " ".join(sys.argv), "date": "", **made}))
    print(f"wrote {out}")


if __name__ == "__main__":
    main()
