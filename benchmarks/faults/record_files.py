"""Small valid files for every reader of records, by the name of the reader."""

from __future__ import annotations

import io
import json
import struct
import tempfile
import zipfile
from pathlib import Path

import numpy as np


def _signal(count: int = 60) -> np.ndarray:
    t = np.arange(count) * 0.01
    return np.round(np.sin(9 * t) * np.exp(-t) + 0.1 * np.cos(31 * t), 6)


def _rows(values, width: int, form: str) -> str:
    lines = ["".join(form % v for v in values[i : i + width]) for i in range(0, len(values), width)]
    return "\n".join(lines) + "\n"


def _peer() -> list[bytes]:
    x = 0.1 * _signal()
    new = "PEER NGA STRONG MOTION DATABASE RECORD\nSomewhere, 1/2/1999, Station, 90\n"
    new += "ACCELERATION TIME SERIES IN UNITS OF G\nNPTS=     60, DT=   .0100 SEC\n" + _rows(x, 5, "%15.7E")
    old = "PEER STRONG MOTION DATABASE RECORD\nSomewhere\nVELOCITY TIME HISTORY IN UNITS OF CM/S\n"
    old += "60    0.0100    NPTS, DT\n"
    return [new.encode(), (old + _rows(x, 5, "%15.7E")).encode()]


def _csmip() -> list[bytes]:
    integers, reals = "    0" * 16 + "\n", "      .000" * 8 + "\n"
    files = []
    for volume in (1, 2):
        text = ""
        for channel in (1, 2):
            name = "Uncorrected Accelerogram Data" if volume == 1 else "CORRECTED ACCELEROGRAM"
            text += f"{name}  sample\nRcrd of\n(Origin)\n12345.XX   Start time:  7/06/19, 03:19:37.0 UTC\n"
            text += f"Station Id. XYZ\nSample Station    N\nChan  {channel}:  90 Deg   Location: Roof\n"
            text += integers + reals
            if volume == 1:
                text += " 60 Accelerogram points at 100 pts/sec in units of g.       Format: (8f9.6)\n"
                text += _rows(0.1 * _signal(), 8, "%9.6f")
            else:
                for word, unit in (("ACCEL", "CM/SEC/SEC"), ("VELOC", "CM/SEC"), ("DISPL", "CM")):
                    text += f" 60 POINTS OF {word} DATA EQUALLY SPACED AT  .010 SEC.  (UNITS: {unit})\n"
                    text += _rows(_signal(), 8, "%10.3f")
            text += f"/&  ----------  End of data for channel  {channel}  ----------\n"
        files.append(text.encode())
    return files


def _cosmos() -> list[bytes]:
    integers = np.full(100, -999)
    integers[[0, 1, 2, 49, 53]] = 2, 1, 4, 1, 90
    reals = np.full(100, -999.0)
    reals[[33, 34, 61]] = 0.01, 0.6, 10.0
    text = "Corrected acceleration  (Format v01.20 with 13 text lines)\nSomewhere earthquake\nLocation: Ground\n"
    text += " 100 Integer-header values follow on  10 lines, Format= (10I8)\n" + _rows(integers, 10, "%8d")
    text += " 100 Real-header values follow on  17 lines, Format= (6F13.6)\n" + _rows(reals, 6, "%13.6f")
    text += '   1 Comment line(s) follow, each starting with a "|":\n| nothing\n'
    text += "      60 acceleration pts, approx   1 secs, units=cm/sec2(04), Format=(8F10.5)\n"
    return [(text + _rows(_signal(), 8, "%10.5f") + "End-of-data for Chan  1 acceleration\n").encode()]


def _knet() -> list[bytes]:
    lines = [
        "Origin Time       2011/03/11 14:46:00",
        "Lat.              38.1",
        "Long.             142.8",
        "Depth. (km)       24",
        "Mag.              9.0",
        "Station Code      XYZ001",
        "Station Lat.      36.1",
        "Station Long.     140.1",
        "Station Height(m) 27",
        "Record Time       2011/03/11 14:47:21",
        "Sampling Freq(Hz) 100Hz",
        "Duration Time(s)  0.6",
        "Dir.              N-S",
        "Scale Factor      3920(gal)/6182761",
        "Max. Acc. (gal)   12.3",
        "Last Correction   2011/03/11 14:47:06",
        "Memo.             ",
    ]
    return [("\n".join(lines) + "\n" + _rows((1e4 * _signal()).astype(int), 8, "%9d")).encode()]


def _table(delimiter: str) -> str:
    return "".join(f"{0.01 * i:.2f}{delimiter}{v:.6f}{delimiter}{2 * v:.6f}\n" for i, v in enumerate(_signal()))


def _record():
    from vibrid.records import Channel, Record

    x = _signal()
    channels = (Channel("roof", "absolute_acceleration", location="5F"), Channel("force", "load"))
    return Record(np.column_stack([x, 3 * x]), channels, step=0.01, name="sample", history=("made here",))


def _csv() -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        own = _record().write_csv(Path(folder) / "own.csv").read_bytes()
    comma = "time [s],roof_acc [m/s^2],force (kN)\n" + _table(",")
    logger = "Site A\n\nDatum;Uhrzeit;A1;A2\n;;g;mm\n" + "".join(
        f"01.05.2024;12:00:{0.01 * i:05.2f};{v:.4f};#N/A\n".replace(".", ",").replace("01,05,", "01.05.")
        for i, v in enumerate(_signal())
    )
    return [own, comma.encode(), b"t;a [g];b\n" + _table(";").encode(), logger.encode()]


def _excel() -> list[bytes]:
    import openpyxl

    content = io.BytesIO()
    book = openpyxl.Workbook()
    for row in (["time", "roof", "jack"], ["s", "g", "kN"], *([0.01 * i, v, None] for i, v in enumerate(_signal()))):
        book.worksheets[0].append([float(cell) if isinstance(cell, np.floating) else cell for cell in row])
    book.save(content)
    return [content.getvalue()]


def _matlab() -> list[bytes]:
    import h5py
    from scipy.io import savemat

    x = _signal()
    arrays = {"t": 0.01 * np.arange(60), "x": x, "data": np.column_stack([x, x]), "s": {"force": x}, "Ts": 0.01}
    files = []
    for compressed in (False, True):
        stream = io.BytesIO()
        savemat(stream, arrays, do_compression=compressed)
        files.append(stream.getvalue())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.mat"
        with h5py.File(path, "w", userblock_size=512) as file:
            for name in ("t", "x"):
                file.create_dataset(name, data=arrays[name][None, :]).attrs["MATLAB_class"] = np.bytes_("double")
        content = bytearray(path.read_bytes())
    head = b"MATLAB 7.3 MAT-file, Platform: any, HDF5 schema 1.00 .".ljust(116) + b"\x00" * 8
    content[:128] = head + struct.pack("<H", 0x0200) + b"IM"
    return [*files, bytes(content)]


def _numpy() -> list[bytes]:
    x = _signal()
    files = []
    for save in (np.savez, np.savez_compressed):
        stream = io.BytesIO()
        save(stream, time=0.01 * np.arange(60), x=x.astype(np.float32), both=np.column_stack([x, x]))
        files.append(stream.getvalue())
    stream = io.BytesIO()
    np.save(stream, np.column_stack([0.01 * np.arange(60), x]))
    return [*files, stream.getvalue()]


def _json() -> list[bytes]:
    x = _signal().tolist()
    rows = [[0.01 * i, v] for i, v in enumerate(x)]
    return [
        json.dumps(v).encode()
        for v in (
            {"dt": 0.01, "roof": x, "roof unit": "g"},
            {"columns": ["time", "a"], "units": ["s", "g"], "data": rows},
            rows,
            [{"time": t, "a": v} for t, v in rows],
        )
    ]


def _hdf5() -> list[bytes]:
    import h5py

    with tempfile.TemporaryDirectory() as folder:
        own = _record().write_hdf5(Path(folder) / "own.h5").read_bytes()
        path = Path(folder) / "other.h5"
        with h5py.File(path, "w") as file:
            file["time"] = 0.01 * np.arange(60)
            file.create_dataset("test/force", data=_signal(), compression="gzip").attrs["units"] = "kN"
        return [own, path.read_bytes()]


def uff58(values: np.ndarray, binary: bool = False, step: float = 0.01) -> bytes:
    """A dataset 58 with one acceleration in m/s²."""
    axis = "{:10d}    0    0    0 {:<20s} {:<20s}".format
    head = [
        "roof",
        *["NONE"] * 4,
        f"{1:5d}{0:10d}{0:5d}{0:10d} {'NONE':>10s}{5:10d}{1:4d} {'NONE':>10s}{0:10d}{0:4d}",
        f"{4:10d}{len(values):10d}{1:10d}{0.0:13.5E}{step:13.5E}{0.0:13.5E}",
        axis(17, "time", "s"),
        axis(12, "acceleration", "m/s^2"),
        axis(0, "NONE", "NONE"),
        axis(0, "NONE", "NONE"),
    ]
    header = "\n".join(line.ljust(80) for line in head) + "\n"
    if not binary:
        return ("    -1\n    58\n" + header + _rows(values, 4, "%20.12E") + "    -1\n").encode()
    first = f"{58:6d}b{1:6d}{2:6d}{11:12d}{8 * len(values):12d}{0:6d}{0:6d}{0:12d}{0:12d}"
    return ("    -1\n" + first + "\n" + header).encode() + values.astype("<f8").tobytes() + b"\n    -1\n"


def _archive() -> list[bytes]:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, content in enumerate((*_csmip(), *_knet()), 1):
            archive.writestr(f"CHAN{number:02d}.V2", content)
        archive.writestr("readme.txt", "nothing")
    return [stream.getvalue()]


def _journal() -> list[bytes]:
    from vibrid.records.journal import Journal
    from vibrid.records.record import Channel

    with tempfile.TemporaryDirectory() as folder:
        channels = [Channel("x", "displacement"), Channel("f", "element_force")]
        journal = Journal(Path(folder) / "test", channels, "a test", 0.01)
        rows = np.column_stack([0.01 * np.arange(len(_signal())), _signal(), 2 * _signal()])
        for part in np.array_split(rows, 4):
            journal.write(part)
        journal.close()
        return [journal.path.read_bytes()]


def _miniseed() -> list[bytes]:
    """Two channels, one with a gap, in both versions."""
    import pymseed

    files = []
    for version, length in ((2, 512), (3, 4096)):
        made = pymseed.MS3TraceList()
        for channel, start in (("HNE", 0), ("HNE", 700_000_000), ("HNZ", 0)):
            made.add_data(
                sourceid=f"FDSN:XX_BRDG_00_{'_'.join(channel)}",
                data_samples=(1e4 * _signal()).astype(np.int32),
                sample_type="i",
                sample_rate=100.0,
                starttime=1_714_564_800_000_000_000 + start,
            )
        files.append(b"".join(bytes(r) for r in made.generate(max_record_length=length, format_version=version)))
    return files


def _sac(order: str, version: int) -> bytes:
    x, reals, whole = _signal(), np.full(70, -12345.0), np.full(40, -12345)
    reals[[0, 5]] = 0.01, 0.5
    whole[:6] = 2024, 122, 12, 0, 0, 250
    whole[[6, 9, 15, 35]] = version, len(x), 1, 1
    words = [b"-12345  "] * 24
    words[0], words[20], words[21] = b"BRDG    ", b"HNZ     ", b"XX      "
    body = struct.pack(f"{order}70f40i", *reals, *whole) + b"".join(words) + x.astype(order + "f4").tobytes()
    return body + (struct.pack(f"{order}22d", 0.01, 0.5, *[-12345.0] * 20) if version == 7 else b"")


def _tdms() -> list[bytes]:
    import nptdms

    about = {"wf_increment": 0.01, "wf_start_time": np.datetime64("2024-05-01T12:00", "us"), "unit_string": "g"}
    stream = io.BytesIO()
    with nptdms.TdmsWriter(stream) as file:
        file.write_segment([nptdms.ChannelObject("day", name, _signal(), about) for name in ("roof", "pier")])
    return [stream.getvalue()]


def valid_files() -> dict[str, list[bytes]]:
    """Small valid files for every reader, by its name."""
    return {
        "PEER": _peer(),
        "CSMIP": _csmip(),
        "COSMOS": _cosmos(),
        "K-NET": _knet(),
        "columns": [_table(" ").encode(), _table(",").encode()],
        "CSV": _csv(),
        "Excel": _excel(),
        "MATLAB": _matlab(),
        "NumPy": _numpy(),
        "JSON": _json(),
        "HDF5": _hdf5(),
        "UFF 58": [uff58(_signal()), uff58(_signal(), binary=True)],
        "zip archive": _archive(),
        "journal": _journal(),
        "miniSEED": _miniseed(),
        "SAC": [_sac("<", 6), _sac(">", 6), _sac("<", 7)],
        "TDMS": _tdms(),
    }
