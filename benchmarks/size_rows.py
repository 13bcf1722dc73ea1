"""The rows of the benchmark of size: what was measured beside its target."""

from __future__ import annotations

import numpy as np


def rows_of(all_: dict) -> list[dict]:
    rows = []
    chain = {int(n): own for n, own in all_.get("storeys", {}).items()}
    for count, own in chain.items():
        step, first = own["step_us"], own["first_s"]
        rows.append({
            "what": f"{count} Bouc–Wen storeys, Runge–Kutta 4: a step of a whole call",
            "measured": f"{step:.1f} µs; first call {first:.1f} s",
            "target": "≤ 30 µs, first call ≤ 4 s" if count == 200 else "",
            "met": (step <= 30 and first <= 4) if count == 200 else None,
            "note": f"first call {own['first_wall_s']:.1f} s by the clock",
        })  # fmt: skip
    if 5 in chain and 500 in chain:
        exponent = np.log(chain[500]["step_us"] / chain[5]["step_us"]) / np.log(100)
        rows.append({
            "what": "growth exponent from 5 to 500 storeys", "measured": f"{exponent:.2f}", "target": "≤ 1.1",
            "met": bool(exponent <= 1.1),
        })  # fmt: skip
    for part, limit in (("linear", {2000: 100.0}), ("sparse", {20_000: 2000.0})):
        for count, own in all_.get(part, {}).items():
            most = limit.get(int(count))
            told = ", ".join(f"{name} {100 * share:.2g} %" for name, share in own["shares"].items())
            rows.append({
                "what": f"{own['size']} linear degrees of freedom ({part}), 10 outputs: a step, modes known",
                "measured": f"{own['step_us']:.1f} µs in {own['modes']} modes",
                "target": "" if most is None else f"≤ {most:g} µs" + (", ≤ 4 GiB" if part == "sparse" else ""),
                "met": None if most is None else bool(own["step_us"] <= most and own["memory_gib"] <= 4),
                "note": f"first call with modes and compilation {own['first_s']:.1f} s, {own['memory_gib']:.2f} GiB"
                + (f"; stated error {told}" if told else "; exact"),
            })  # fmt: skip
    return rows


def rows_of_parts(all_: dict) -> list[dict]:
    rows = []
    for own in all_.get("frame", {}).values():
        other = own["opensees_step_us"]
        beside = "" if other is None else f"; OpenSees {other:.0f} µs, roof {own['apart']:.1g} apart"
        rows.append({
            "what": f"plane frame, {own['size']} degrees of freedom, {own['rows']} hinges: a step, modes known",
            "measured": f"{own['step_us']:.0f} µs{beside}", "target": "≤ 1000 µs, ahead of OpenSees",
            "met": bool(own["step_us"] <= 1000 and (other is None or own["step_us"] < other)),
            "note": f"{own['yielded']} hinges yield; first call with modes and compilation {own['first_s']:.1f} s, "
            f"{own['memory_gib']:.2f} GiB",
        })  # fmt: skip
    for own in all_.get("fit", {}).values():
        rows.append({
            "what": f"that frame, 20 s at 200 Hz, 16 accelerometers: 20 moduli fitted in {own['modes']} modes",
            "measured": f"{own['fit_s']:.0f} s", "target": "≤ 300 s",
            "met": bool(own["fit_s"] <= 300 and own["converged"]),
            "note": f"{own['yielded']} hinges yield; {own['iterations']} steps, converged: {own['converged']}; median "
            f"error {100 * own['error']:.2g} %, {100 * own['within_2_deviations']:.0f} % within two deviations; "
            f"{own['memory_gib']:.2f} GiB",
        })  # fmt: skip
    fits = {int(n): own for n, own in all_.get("unknowns", {}).items()}
    for count, own in fits.items():
        ratio = own["fit_s"] / fits[20]["fit_s"] if 20 in fits else np.nan
        rows.append({
            "what": f"200 linear storeys, 20 s at 200 Hz, 16 accelerometers: fit of {count} unknowns with a prior",
            "measured": f"{own['fit_s']:.0f} s" + ("" if count == 20 else f", {ratio:.1f} times the time of 20"),
            "target": "" if count == 20 else "≤ 3 times",
            "met": None if count == 20 else bool(ratio <= 3 and own["converged"]),
            "note": f"by {own['gradients']}, {own['iterations']} steps, converged: {own['converged']}; median "
            f"error {100 * own['error']:.2g} %, {100 * own['within_2_deviations']:.0f} % within two deviations; "
            f"{own['memory_gib']:.2f} GiB" + (f"; {own['machine']}" if "machine" in own else ""),
        })  # fmt: skip
    needs = {int(n): own for n, own in all_.get("memory", {}).items()}
    if needs:
        short, long = min(needs), max(needs)
        for name in ("gradient", "jacobian"):
            told = {n: own[f"{name}_gib"] - own["before_gib"] for n, own in needs.items()}
            words = "gradient by the adjoint" if name == "gradient" else "Jacobian"
            exponent = np.log(max(told[long], 1e-3) / max(told[short], 1e-3)) / np.log(long / short)
            rows.append({
                "what": f"200 unknowns: memory for the {words}, records of {', '.join(map(str, needs))} samples",
                "measured": ", ".join(f"{own:.2f}" for own in told.values()) + " GiB", "target": "linear in the length",
                "met": bool(exponent <= 1.1), "note": f"growth exponent {exponent:.2f}",
            })  # fmt: skip
    return rows


def rows_of_steps(all_: dict) -> list[dict]:
    rows = []
    for count, own in all_.get("implicit", {}).items():
        full = f"; full matrices {own['full_us']:.0f} µs, {own['apart']:.1g} apart" if "full_us" in own else ""
        rows.append({
            "what": f"{count} bilinear storeys that yield, Newmark: a step",
            "measured": f"{own['auto_us']:.1f} µs{full}", "target": "", "met": None, "note": own["told"],
        })  # fmt: skip
    return rows
