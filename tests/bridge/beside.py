"""What OpenSees answers when recorded commands are passed on to it, kept in `beside.json`.

    python tests/bridge/beside.py       where vibrid and OpenSeesPy are

Tests on other machines take these answers in place of its process.
"""

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
MODELS, ANSWERS = FOLDER / "models", FOLDER / "beside.json"
CRACKED = ("pier_fibres.py", "column_fibres.tcl", "p_delta_fibres.py", "p_delta.tcl")
"""Their eigenvalues in `references.json` are those under the permanent loads."""
ASKED = [
    ("braced_partly.py", "rest"),
    ("plan_yielding.py", "rest"),
    ("pier_fibres.py", "loaded"),
    ("wall.py", "rest"),
    *((name, "rest") for name in CRACKED),
]


def answer(name: str, state: str) -> dict:
    """As `vibrid.bridge.opensees_beside` asks for it."""
    from vibrid.bridge import opensees_beside
    from vibrid.bridge.reader import models_of
    from vibrid.bridge.scripts import record_script

    (recording,) = models_of(record_script(MODELS / name))
    return opensees_beside.answer_of(recording, MODELS, 60.0, state)


if __name__ == "__main__":
    made = {f"{name} {state}": answer(name, state) for name, state in ASKED}
    ANSWERS.write_text(json.dumps(made, indent=0) + "\n")
