"""Files of vibrid's own: projects, results, states and samples of online runs, device models.

For each kind: small valid files, the function that reads one, and a way to damage the content of its container without
breaking the checksums.
"""

from __future__ import annotations

import io
import re
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from faults.mutation import mutate

ROOT = Path(__file__).resolve().parents[2]
DEVICE = """
[structure]
kind = "device"
law = {law = "bouc-wen", stiffness = 4.0, beta = 1.0, gamma = 1.0}
[[sensors]]
quantity = "element_force"
place = "device"
channel = "f"
[excitation]
channels = [{column = "x", quantity = "imposed_displacement"}]
[[unknown]]
path = "law.stiffness"
[method]
name = "online-masing"
window = 40
stride = 4
"""


class Kind(NamedTuple):
    """valid: contents; read: reads the file at a path; inside: damages the content behind checksums, or None;
    suffix: of its name.
    """

    valid: Callable[[], list[bytes]]
    read: Callable[[Path], object]
    inside: Callable[[bytes, np.random.Generator], bytes] | None
    suffix: str


# -- projects -------------------------------------------------------------------------------------------------------


def _projects() -> list[bytes]:
    return [path.read_bytes() for path in sorted((ROOT / "examples").glob("*.toml"))]


def _read_project(path: Path):
    from vibrid.project import load_project

    project = load_project(path)
    if project.excitation_table is not None and project.excitation_table.synthetic is None:  # which is computed
        project.excitation()


_VALUES = ["0", "-1", "1", "nan", "inf", "-inf", "1e308", "1e-308", "999999999", "1e9", "0.5", "[]", "{}", "true"]
_VALUES += ['"x"', '"12 kN"', '"1e400 m"', "[1, 2]", "[[1, 2], [3]]", '""', "1979-05-27", "-9223372036854775808"]


def _inside_project(content: bytes, generator: np.random.Generator) -> bytes:
    """One to three values of a valid project replaced by others that TOML can hold."""
    text = content.decode()
    for _ in range(int(generator.integers(1, 4))):
        places = [m.span(1) for m in re.finditer(r"[=\[,]\s*([-+.\w]+|\"[^\"\n]*\")", text)]
        first, last = places[int(generator.integers(len(places)))]
        text = text[:first] + _VALUES[int(generator.integers(len(_VALUES)))] + text[last:]
    return text.encode()


# -- results --------------------------------------------------------------------------------------------------------


def _results() -> list[bytes]:
    return [path.read_bytes() for path in sorted((ROOT / "tests" / "identification" / "files").glob("format-*.h5"))]


def _read_result(path: Path):
    import vibrid as vb

    return str(vb.load_identification(path))


def _inside_result(content: bytes, generator: np.random.Generator) -> bytes:
    """The same container with a damaged text, or with an array of another shape or kind."""
    import h5py

    image = io.BytesIO(content)
    with h5py.File(image, "a") as file:
        if generator.random() < 0.7:
            text = file["text"][()]
            del file["text"]
            file["text"] = mutate(text, [text], generator).decode("utf-8", "replace").replace("\0", "")
        else:
            names: list[str] = []
            file.visititems(lambda name, item: names.append(name) if isinstance(item, h5py.Dataset) else None)
            name = names[int(generator.integers(len(names)))]
            shape = tuple(generator.integers(0, 5, int(generator.integers(0, 5))))
            values = generator.choice([0.0, 1.0, -1.0, np.nan, np.inf, 1e300, 1e-320], shape)
            del file[name]
            if generator.random() < 0.8:
                file[name] = values.astype(generator.choice(["f8", "f4", "i4", "u1"])) if shape else 1.0
    return image.getvalue()


# -- files of arrays ------------------------------------------------------------------------------------------------


def _inside_arrays(content: bytes, generator: np.random.Generator) -> bytes:
    """The same container with damaged notes, or with an array of another shape or kind."""
    with np.load(io.BytesIO(content)) as file:
        arrays = {name: file[name] for name in file.files}
    names = sorted(arrays)
    text = "note" if "note" in arrays else "facts"
    if generator.random() < 0.6:
        raw = arrays[text].tobytes() if text == "note" else str(arrays[text]).encode()
        raw = mutate(raw, [raw], generator)
        arrays[text] = np.frombuffer(raw, np.uint8) if text == "note" else np.array(raw.decode("utf-8", "replace"))
    else:
        name = names[int(generator.integers(len(names)))]
        shape = tuple(generator.integers(0, 4, int(generator.integers(0, 4))))
        arrays[name] = np.zeros(shape, generator.choice(["f8", "f4", "i8", "u1"]))
    image = io.BytesIO()
    np.savez(image, **arrays)
    return image.getvalue()


@cache
def _session():
    """A live run of a device, as `vibrid online` sets it up."""
    from vibrid.commands.online_channels import columns_of
    from vibrid.commands.online_run import OnlineSession
    from vibrid.commands.online_sources import Refusals, live_source
    from vibrid.project import load_project

    folder = Path(tempfile.mkdtemp())
    (folder / "p.toml").write_text(DEVICE)
    t = 0.04 * np.arange(60)
    rows = "".join(f"{a:.2f},{np.sin(a):.6f},{3 * np.sin(a):.6f}\n" for a in t)
    (folder / "test.csv").write_text("time [s],x,f\n" + rows)
    loaded = load_project(folder / "p.toml")
    columns = columns_of(loaded)

    def session(state: Path):
        source = live_source(str(folder / "test.csv"), loaded, columns, None, "full", 1.0, Refusals())
        return OnlineSession(loaded, columns, source, loaded.method, 0, None, state, 10)

    return session


def _states() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "state.npz"
        _session()(path).run()
        return [path.read_bytes()]


def _read_state(path: Path):
    _session()(path).resume()


def _samples() -> list[bytes]:
    from vibrid.records.streams import Arrival, ArrivalFile

    with tempfile.TemporaryDirectory() as folder:
        file = ArrivalFile(Path(folder) / "s", bytes(16), 2, print)
        for n in range(30):
            file.append(Arrival(n, 0.1 * n, (1.0, float(n))))
        return [file.path.read_bytes()]


def _read_samples(path: Path):
    from vibrid.records.streams import read_arrivals

    return read_arrivals(path, 2)


def _models() -> list[bytes]:
    import jax

    from vibrid.hybrid.learned.answers import Direct
    from vibrid.hybrid.learned.features import MotionFeatures
    from vibrid.hybrid.learned.files import SavedModel, save_model
    from vibrid.hybrid.learned.model import DeviceModel
    from vibrid.hybrid.learned.network import DeviceNetwork

    features, answer = MotionFeatures(0.02, 0.5, (0.001, 0.004)), Direct()
    inputs = DeviceModel.own_inputs(features)
    network = DeviceNetwork.make(jax.random.key(0), 2, inputs, answer.outputs, branch=4, joined=(4,))
    with tempfile.TemporaryDirectory() as folder:
        model = SavedModel(DeviceModel(features, network, answer, (1e4, 0.02), 100.0))
        return [save_model(Path(folder) / "m.npz", model).read_bytes()]


def _read_model(path: Path):
    from vibrid.hybrid.learned.files import load_model

    return load_model(path)


KINDS: dict[str, Kind] = {
    "project": Kind(_projects, _read_project, _inside_project, ".toml"),
    "result": Kind(_results, _read_result, _inside_result, ".h5"),
    "state of an online run": Kind(_states, _read_state, _inside_arrays, ".npz"),
    "samples of an online run": Kind(_samples, _read_samples, None, ".samples"),
    "device model": Kind(_models, _read_model, _inside_arrays, ".npz"),
}
