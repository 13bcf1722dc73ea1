"""A traced step as an FMU: FMI 2.0, co-simulation, with its C sources and a library for this machine.

The standard: FMI 2.0.5, fmi-standard.org. `fmi2.c` holds its functions; the step itself is the C of `c_code`.
"""

from __future__ import annotations

import hashlib
import io
import platform
import re
import sys
import tempfile
import uuid
import zipfile
from pathlib import Path
from xml.etree import ElementTree as xml

from vibrid.core.errors import FileProblem, InputError, Refusal
from vibrid.core.files import write_bytes
from vibrid.core.traced import Traced
from vibrid.core.version import __version__
from vibrid.networks.export.c_code import c_texts
from vibrid.networks.export.compiled import build, compiler
from vibrid.networks.export.interface import Interface, Port

FLAGS = ("-O3", "-fPIC", "-shared", "-fvisibility=hidden")
"""For any machine with this system and processor: not `-march=native`."""
_UNITS = {"m": {"m": 1}, "m/s": {"m": 1, "s": -1}, "N": {"kg": 1, "m": 1, "s": -2}}
_FOLDERS = {"linux": ("linux64", ".so"), "darwin": ("darwin64", ".dylib"), "win32": ("win64", ".dll")}
"""FMI 2.0 has one name for all processors of 64 bits."""


def write_fmu(traced: Traced, path: Path | str, interface: Interface, *, rate: float) -> tuple[Path, str]:
    """Write an FMU (ending in .fmu), and say for which machines it holds a library ("" for sources alone).

    Arguments
        traced: the step, from `trace`; inputs and outputs of 64 bits.
        interface: of the step. Inputs, outputs, flags and limits are the FMU's variables.
        rate: Hz, steps per second: communication steps are multiples of 1/rate.
    """
    path = Path(path)
    if path.suffix != ".fmu":
        raise InputError(f"An FMU ends in .fmu; '{path.name}' does not.")
    if traced.input.dtype != float or traced.output.dtype != float or not interface.flags:
        raise InputError("A step in an FMU needs inputs and outputs of 64 bits, and flags.")
    name = _identifier(path.stem)
    source, header = c_texts(traced, interface, "device", "device.h")
    guid = "{" + str(uuid.UUID(bytes=hashlib.sha256(f"{name}{source}{header}".encode()).digest()[:16])) + "}"
    sources = {
        "device.c": source,
        "device.h": header,
        "fmu_model.h": _model_header(interface, guid, rate),
        "fmi2.c": Path(__file__).with_name("fmi2.c").read_text(encoding="utf-8"),
    }
    files = {"modelDescription.xml": _description(interface, name, guid, rate)}
    files |= {f"sources/{file}": text.encode() for file, text in sources.items()}
    built = _library(sources, name)
    if built is not None:
        files[built[0]] = built[1]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, content in files.items():
            archive.writestr(zipfile.ZipInfo(file, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return write_bytes(path, packed.getvalue()), "" if built is None else f"{platform.system()} {platform.machine()}"


def _identifier(stem: str) -> str:
    """A name of C from that of a file."""
    name = re.sub(r"\W", "_", stem, flags=re.ASCII)
    return name if re.match(r"[A-Za-z]", name) else f"device_{name}"


def _library(sources: dict[str, str], name: str) -> tuple[str, bytes] | None:
    """The place and the bytes of the library for this machine; None without a C compiler."""
    command = compiler()
    if command is None or sys.platform not in _FOLDERS or sys.maxsize < 2**32:
        return None
    folder, ending = _FOLDERS[sys.platform]
    with tempfile.TemporaryDirectory(prefix="vibrid-") as made:
        try:
            for file, text in sources.items():
                write_bytes(Path(made) / file, text.encode())
            library = Path(made) / f"{name}{ending}"
            build(command, [Path(made) / file for file in sources if file.endswith(".c")], library, FLAGS)
            return f"binaries/{folder}/{library.name}", library.read_bytes()
        except (OSError, FileProblem) as problem:
            raise Refusal(f"The library of the FMU cannot be made here ({problem}).") from None


def _model_header(interface: Interface, guid: str, rate: float) -> str:
    listed = lambda ports: ", ".join(repr(float(port.value)) for port in ports) or "0"  # noqa: E731
    return "\n".join(
        [
            '#include "device.h"',
            f'#define FMU_GUID "{guid}"',
            f"#define FMU_RATE {float(rate)!r}",
            f"#define FMU_INPUTS {len(interface.inputs)}",
            f"#define FMU_OUTPUTS {len(interface.outputs)}",
            f"#define FMU_LIMITS {len(interface.limits)}",
            f"static const double fmu_first[] = {{{listed(interface.inputs)}}};",
            f"static const double fmu_limits[] = {{{listed(interface.limits)}}};",
            "typedef device_state fmu_state;",
            "#define fmu_start device_start",
            "#define fmu_step device_step",
            "",
        ]
    )


def _description(interface: Interface, name: str, guid: str, rate: float) -> bytes:
    """modelDescription.xml: every variable, its unit and meaning."""
    root = xml.Element(
        "fmiModelDescription", fmiVersion="2.0", modelName=name, guid=guid, description=interface.note,
        generationTool=f"vibrid {__version__}", variableNamingConvention="flat",
    )  # fmt: skip
    simulated = xml.SubElement(
        root, "CoSimulation", modelIdentifier=name, canNotUseMemoryManagementFunctions="true",
        canGetAndSetFMUstate="true", canSerializeFMUstate="true",
    )  # fmt: skip
    files = xml.SubElement(simulated, "SourceFiles")
    for file in ("device.c", "fmi2.c"):
        xml.SubElement(files, "File", name=file)
    every = [*interface.inputs, *interface.outputs, *interface.limits]
    units = sorted({port.unit for port in every if port.unit})
    if units:
        defined = xml.SubElement(root, "UnitDefinitions")
        for unit in units:
            base = {key: str(power) for key, power in _UNITS[unit].items()}
            xml.SubElement(xml.SubElement(defined, "Unit", name=unit), "BaseUnit", base)
    logged = xml.SubElement(root, "LogCategories")
    xml.SubElement(logged, "Category", name="logStatusError")
    xml.SubElement(root, "DefaultExperiment", startTime="0", stepSize=repr(1.0 / rate))
    variables = xml.SubElement(root, "ModelVariables")
    roles = [("input", "continuous", "")] * len(interface.inputs)
    roles += [("output", "continuous", "exact")] * len(interface.outputs)
    roles += [("local", "constant", "exact")] * len(interface.limits)
    for i, (port, role) in enumerate(zip(every, roles, strict=True)):
        _variable(variables, port, i, *role)
    bits = "; ".join(f"{bit.value}: {bit.meaning}" for bit in interface.flags)
    flags = xml.SubElement(
        variables, "ScalarVariable", name="flags", valueReference="0", causality="output", variability="discrete",
        initial="exact", description=bits,
    )  # fmt: skip
    xml.SubElement(flags, "Integer", start="0")
    outputs = xml.SubElement(xml.SubElement(root, "ModelStructure"), "Outputs")
    first = len(interface.inputs) + 1
    for index in [*range(first, first + len(interface.outputs)), len(every) + 1]:
        xml.SubElement(outputs, "Unknown", index=str(index), dependencies="")
    xml.indent(root)
    return xml.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _variable(variables: xml.Element, port: Port, reference: int, role: str, kind: str, initial: str) -> None:
    given = {"name": port.name, "valueReference": str(reference), "causality": role, "variability": kind}
    given |= {"initial": initial} if initial else {}
    given |= {"description": port.meaning} if port.meaning else {}
    unit = {"unit": port.unit} if port.unit else {}
    xml.SubElement(
        xml.SubElement(variables, "ScalarVariable", given), "Real", {"start": repr(float(port.value)), **unit}
    )
