"""The process behind the page: what it shows of a project at once is computed here, beside the server.

One request is a line of JSON on standard input, {"what", "project", …}; the answer is a line on standard output,
{"answer"} or {"problem"}. The libraries are loaded once, and programs stay compiled between requests.
"""

from __future__ import annotations

import json
import math
import os
import sys
import warnings
from pathlib import Path
from typing import Any

from vibrid.core.errors import InputError, VibridError, unknown_name


class Desk:
    """Answers requests; keeps the last project, and what was measured, while its file does not change."""

    def __init__(self):
        self._kept: tuple[Any, Any] = (None, None)
        self._driven: tuple[Any, Any] = (None, None)

    def answer(self, request: dict[str, Any]) -> Any:
        """The answer to a request."""
        what = request.get("what")
        known = {
            "describe": self.describe, "simulate": self.simulate, "forecast": self.forecast, "place": self.place,
            "schema": self.schema, "methods": self.methods, "predict": self.predict,
        }  # fmt: skip
        if what not in known:
            raise unknown_name("question", str(what), known)
        return known[what](request)

    # -- the project ---------------------------------------------------------------------------------------------

    def _project(self, request: dict[str, Any]):
        from vibrid.project import load_project

        path = Path(request["project"])
        state = path.stat()
        key = (str(path), state.st_mtime_ns, state.st_size)
        if self._kept[0] != key:
            self._kept = (key, load_project(path))
        return self._kept[1]

    def describe(self, request: dict[str, Any]) -> dict[str, Any]:
        """What a project says: parameters, a sketch, modes, sensors, unknowns."""
        from vibrid.project.problems import ProjectProblem
        from vibrid.studio.describing import description

        try:
            project = self._project(request)
        except ProjectProblem as problem:
            return {"problems": str(problem).replace(f"{problem.path}", "").splitlines()}
        return {"problems": [], **description(project)}

    def simulate(self, request: dict[str, Any]) -> dict[str, Any]:
        """The readings of the sensors with some parameters changed; beside the measured ones, where they are asked for.

        Traces are packed; sample i is at start + i step.
        """
        import vibrid as vb
        from vibrid.identification.problem_data import channel_of
        from vibrid.studio.predicting import packed_trace

        project, values = self._project(request), request.get("values") or {}
        if self._driven[0] != self._kept[0]:
            self._driven = (self._kept[0], _driven(project))
        measured, drive, sensors = self._driven[1]
        structure = project.structure
        if values:
            structure = structure.replace({str(k): float(v) for k, v in values.items()})
        start = project.initial[0] if project.initial else None
        response = vb.simulate(structure, drive, start=start, **project.simulation.arguments)
        traces = []
        for sensor, channel, made in zip(sensors, sensors.channels(), response.readings(sensors).T, strict=True):
            trace = {"label": sensor.label, "unit": channel.unit, "place": str(sensor.place)}
            trace |= {"computed": packed_trace(made), "peak": float(abs(made).max())}
            if measured is not None and request.get("measured", True):
                trace["measured"] = packed_trace(measured[channel_of(measured, sensor)])
            traces.append(trace)
        name = None if measured is None else measured.name
        return {"traces": traces, "measured": name, "start": float(drive.time[0]), "step": float(drive.step)}

    def predict(self, request: dict[str, Any]) -> dict[str, Any]:
        """What the results of runs predict for a record, over each other."""
        from vibrid.studio.predicting import predictions, read_motion

        record, words = read_motion(self._project(request), Path(request["record"]), str(request.get("drive") or ""))
        results = {str(run): Path(path) for run, path in request["results"].items()}
        return {**predictions(results, record), "read": words}

    def forecast(self, request: dict[str, Any]) -> dict[str, Any]:
        """The content of `vibrid check`: findings, and what can be expected of a fit."""
        from vibrid.commands.check import about
        from vibrid.identification.display import factor_of
        from vibrid.project.check import check_files

        found = check_files(Path(request["project"]), [])
        rows = []
        for row in found.forecast.table() if found.forecast else []:
            unit = str(found.display_units.get(row["name"], row["unit"]))
            factor = factor_of(unit, row["unit"]) or 1.0
            rows.append(
                {
                    "name": row["name"],
                    "unit": unit,
                    "first_guess": _number(row["first_guess"] / factor),
                    "expected": _number(2 * row["expected_standard_deviation"] / factor),
                    "relative": _number(row["relative"]),
                    "identifiable": row["identifiable"],
                }
            )
        folder = f"{Path(request['project']).parent}{os.sep}"
        return {
            "verdict": ("clean", "odd", "wrong")[found.exit_code],
            "findings": [{"verdict": f.verdict, "sentence": f.sentence.replace(folder, "")} for f in found.findings],
            "expected": rows,
            "takes": about(found.forecast.seconds) if found.forecast else "",
        }

    def place(self, request: dict[str, Any]) -> dict[str, Any]:
        """Accelerometers where they tell most of the unknowns, beside those that are there."""
        import numpy as np

        import vibrid as vb
        from vibrid.identification.sensor_placement import place_sensors
        from vibrid.studio.sketch import sketch

        project = self._project(request)
        if not project.unknown:
            raise InputError("Tick what is unknown first: sensors are placed to find it.")
        records = project.records()[:1]
        drive = records[0] if records else project.excitation()
        standing = tuple(project.sensors or ())
        taken = [project.structure.row(str(s.place)) for s in standing if s.quantity == "absolute_acceleration"]
        free = [
            str(p)
            for p in project.structure.places()  # "roof" and the number of the last floor are one place
            if not any(np.array_equal(project.structure.row(str(p)), row) for row in taken)
        ]
        candidates = [vb.Sensor("absolute_acceleration", p) for p in free]
        if not candidates:
            raise InputError("Every place has an accelerometer already.")
        count = min(max(1, int(request.get("count", 1))), len(candidates))
        found = place_sensors(
            project.structure, candidates, count, excitation=drive, unknown=project.unknown, standing=standing
        )
        bounds = zip(found.limits.names, found.limits.relative_bound, strict=True)
        return {
            "marks": sketch(project.structure, found.sensors)["sensors"],
            "sensors": [{"place": str(s.place), "quantity": s.quantity} for s in found.sensors],
            "bounds": [{"name": name, "relative": _number(bound)} for name, bound in bounds],
        }

    def schema(self, request: dict[str, Any]) -> dict[str, Any]:
        """The laws, structures and dampings that a project can name, with their parameters: from the JSON schema."""
        from vibrid.project import json_schema

        tables = json_schema()["$defs"]
        kinds: dict[str, list[dict[str, Any]]] = {"law": [], "structure": [], "damping": [], "method": []}
        for title, table in tables.items():
            for kind, entries in kinds.items():
                keys = table.get("properties", {})
                name = keys.get("law" if kind == "law" else "name" if kind == "method" else "kind", {}).get("const")
                if name is not None and title.endswith(f"{kind.title()}Table"):
                    required = set(table.get("required", ()))
                    parameters = [
                        {
                            "name": key,
                            "meaning": about.get("description", ""),
                            "unit": about.get("unit", ""),
                            "required": key in required,
                            "plain": _is_plain(about),
                        }
                        for key, about in keys.items()
                        if key not in ("law", "kind", "name", "count")
                    ]
                    entries.append({"name": name, "words": table.get("description", ""), "parameters": parameters})
        return kinds

    def methods(self, request: dict[str, Any]) -> dict[str, Any]:
        """The methods that can solve the problem, those that cannot with the reason, and the one suggested."""
        import vibrid as vb
        from vibrid.identification.method import refuse_impossible
        from vibrid.identification.problem import make_problem

        project = self._project(request)
        records, able, unable = project.records(), [], {}
        if not records:
            raise InputError("Name a measured file first: methods are judged by what is measured.")
        problem = make_problem(
            project.structure, records, project.unknown, sensors=project.sensors,
            initial=project.initial or None, **project.simulation.arguments,
        )  # fmt: skip
        for name in vb.identification.METHODS:
            if "as-published" in name or name == "pidynnet-corrected":
                continue
            try:
                refuse_impossible(problem, vb.identification.METHODS[name]())
                able.append(name)
            except VibridError as reason:
                unable[name] = str(reason)
            except (TypeError, ValueError) as reason:  # a method whose settings the user must give
                unable[name] = str(reason)
        return {"able": able, "unable": unable, **_suggestion(problem, able)}


def _driven(project: Any) -> tuple[Any, Any, Any]:
    """The measured record, what moves the structure, and the sensors of a project."""
    import vibrid as vb

    if not project.sensors:
        raise InputError("The project names no sensors: give a channel a place, or add a [[sensors]] table.")
    records = project.records()[:1]
    measured = records[0] if records else None
    drive = project.excitation() if measured is None else measured
    return measured, drive, vb.Sensors(project.sensors).noiseless()


def _suggestion(problem, able: list[str]) -> dict[str, str]:
    """The method for an ordinary job on this problem, and why."""
    if problem.unknown_loads:
        return {"suggested": "joint", "why": "Loads are unknown: it finds them together with the parameters."}
    if "trajectory" in able:
        why = "It fits the whole motion with few sensors and gives the smallest uncertainty that the data allow."
        return {"suggested": "trajectory", "why": why}
    return {
        "suggested": able[0] if able else "",
        "why": "The trajectory fit cannot solve this problem." if able else "",
    }


def _is_plain(about: dict[str, Any]) -> bool:
    """Whether a key takes one number, with or without a unit."""
    return any(choice.get("type") == "number" for choice in about.get("anyOf", [about]))


def _number(value: Any) -> float | None:
    value = float(value)
    return value if math.isfinite(value) else None


def main() -> None:
    """The process: requests until standard input ends."""
    output = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print goes elsewhere
    warnings.simplefilter("ignore")
    desk = Desk()
    import vibrid.project  # noqa: F401  (JAX is loaded before anybody asks)

    output.write(json.dumps({"answer": "ready"}) + "\n")
    output.flush()
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = {"answer": desk.answer(request)}
        except VibridError as problem:
            folder = f"{Path(request.get('project', '')).parent}{os.sep}"
            answer = {"problem": str(problem).replace(folder, "")}
        except Exception as problem:
            answer = {"problem": f"Unexpected error in vibrid ({type(problem).__name__}: {problem})."}
        output.write(json.dumps(answer, allow_nan=False) + "\n")
        output.flush()


if __name__ == "__main__":
    main()
