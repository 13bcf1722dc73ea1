"""The page of the wire: its specimen file can be served, and its controller can be moved."""

import re
from pathlib import Path

import numpy as np
from wire_helpers import serving

from vibrid.hybrid import RemoteSubstructure, Watchdog
from vibrid.project.specimen import load_specimen, specimen_file

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "hybrid-wire.md").read_text(encoding="utf-8")
SAFETY = (ROOT / "docs" / "safety.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_specimen_files_of_page_and_examples(tmp_path):
    text = next(code for language, code in BLOCKS if language == "toml")
    (tmp_path / "damper.toml").write_text(text, encoding="utf-8")
    for path in (tmp_path / "damper.toml", *(ROOT / "examples" / "specimens").glob("*.toml")):
        made = load_specimen(path)
        assert made.limits.displacement == 0.06 and made.listener().port == 8090
        assert made.listener(port=0, protocol="udp").protocol == "udp"
        assert made.title == "friction damper"


def test_every_field_is_in_the_page():
    for table in ("serve", "limits"):
        for name in specimen_file().model_fields[table].annotation.model_fields:
            assert f"`{name}`" in PAGE, name


def test_the_examples_of_the_page_of_safety(tmp_path, capsys):
    code = dict(re.findall(r"^```(\w+)\n(.*?)^```$", SAFETY, re.MULTILINE | re.DOTALL))
    exec(compile(code["python"], "safety.md", "exec"), {})
    assert "'damper' left its limits at" in capsys.readouterr().out
    tables = "".join(re.findall(r"^```toml\n(.*?)^```$", SAFETY, re.MULTILINE | re.DOTALL))
    (tmp_path / "damper.toml").write_text('device = {kind = "law", law = {law = "linear", stiffness = 1.0}}\n' + tables)
    made = load_specimen(tmp_path / "damper.toml")
    assert made.limits.energy == 5e3 and made.watchdog == Watchdog(5.0, "ramp", 5e-3)
    for name in specimen_file().model_fields["limits"].annotation.model_fields:
        assert f"| `{name}` |" in SAFETY, name


def test_the_controller_of_the_page():
    names = {}
    code = next(code for language, code in BLOCKS if language == "python" and "MyController" in code)
    exec(compile(code, "hybrid-wire.md", "exec"), names)
    device = names["MyController"](names["Bench"]())
    with serving(device, limits=names["limits"]) as served:
        remote = RemoteSubstructure("127.0.0.1", served.port)
        assert remote.stiffness()[0, 0] == 20e6
        assert remote.trial(np.array([0.002]), np.zeros(1), np.zeros(1), 0.01)[0] == 40e3
        remote.commit()
        remote.stop("done")
        assert served.end().steps == 1
    assert device.controller.held and device.signals[0] == 1e5
