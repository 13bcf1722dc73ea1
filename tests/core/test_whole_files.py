"""A file appears complete or not at all: after any failure the old one stays and no other file is left."""

import errno
import os
import subprocess
import sys
import threading

import h5py
import numpy as np
import pytest

from vibrid.core import files
from vibrid.core.errors import FileProblem


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a").write_bytes(b"before")
    return tmp_path


def write_all(path):
    """Every kind of whole file, to one place after the other."""
    yield lambda: files.write_bytes(path, b"after")
    yield lambda: files.write_text(path, "after")
    yield lambda: files.write_arrays(path, x=np.arange(3))
    yield lambda: _hdf5(path)


def _hdf5(path):
    with files.whole_hdf5(path) as file:
        file["x"] = np.arange(3)


@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "the disk is full"),
        (errno.EACCES, "no permission"),
        (errno.EROFS, "can only be read"),
        (errno.EFBIG, "ulimit -f"),
        (errno.EIO, "Input/output error"),
    ],
)
def test_what_the_disk_refuses_at_any_stage_leaves_the_old_file(folder, monkeypatch, call, number, words):
    def refuse(*_, **__):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files.os, call, refuse)
    for write in write_all(folder / "a"):
        with pytest.raises(FileProblem, match=words) as told:
            write()
        assert "it cannot be written" in str(told.value) and str(folder / "a") in str(told.value)
        assert [p.name for p in folder.iterdir()] == ["a"] and (folder / "a").read_bytes() == b"before"


def test_a_disk_that_cannot_be_asked_to_keep_is_no_failure(folder, monkeypatch):
    def unable(_):
        raise OSError(errno.EINVAL, "Invalid argument")

    monkeypatch.setattr(files.os, "fsync", unable)
    assert files.write_text(folder / "a", "after").read_text() == "after"


def test_places_where_no_file_can_be(folder):
    (folder / "sub").mkdir()
    for path, words in (
        (folder / "sub", "there is a folder of this name"),
        (folder / "no" / "x.csv", "there is no folder"),
        (folder / "a" / "x.csv", "a file stands where a folder should be"),
        (folder / ("x" * 300), "too long"),
    ):
        with pytest.raises(FileProblem, match=words):
            files.write_text(path, "after")
    with pytest.raises(FileProblem, match=r"the folder cannot be made: a file stands"):
        files.make_folder(folder / "a" / "b")
    assert sorted(p.name for p in folder.iterdir()) == ["a", "sub"]
    long = folder / ("é" * 120)  # as long as a name may be, in bytes
    assert files.write_text(long, "x").read_text() == "x"


def test_links_permissions_and_devices(folder, tmp_path):
    (folder / "a").chmod(0o640)
    (folder / "link").symlink_to(folder / "a")
    files.write_text(folder / "link", "after")
    assert (folder / "link").is_symlink() and (folder / "a").read_text() == "after"
    assert (folder / "a").stat().st_mode & 0o777 == 0o640
    files.write_text(os.devnull, "gone")
    assert not os.path.isfile(os.devnull)
    os.mkfifo(folder / "pipe")
    heard = []
    reader = threading.Thread(target=lambda: heard.append((folder / "pipe").read_bytes()))
    reader.start()
    files.write_text(folder / "pipe", "through")
    reader.join(10)
    assert heard == [b"through"] and not (folder / "pipe").is_file()


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_file_that_may_not_be_written_is_not_replaced(folder):
    (folder / "a").chmod(0o440)
    with pytest.raises(FileProblem, match="no permission"):
        files.write_text(folder / "a", "after")


def test_an_image_may_be_made_while_another_is(tmp_path):
    with files.whole_hdf5(tmp_path / "a.h5") as one, files.whole_hdf5(tmp_path / "b.h5") as two:
        one["x"], two["x"] = 1.0, 2.0
    for name, value in (("a.h5", 1.0), ("b.h5", 2.0)):
        with h5py.File(tmp_path / name) as file:
            assert file["x"][()] == value


INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may have started us with it ignored
import vibrid.cli
from vibrid.core import files

number = getattr(signal, sys.argv[2])
real = getattr(os, sys.argv[3])

def interrupt(*given, **named):
    made = real(*given, **named) if sys.argv[4] == "after" else None
    os.kill(os.getpid(), number)
    return made if sys.argv[4] == "after" else real(*given, **named)

setattr(files.os, sys.argv[3], interrupt)
sys.argv = ["vibrid", "record", "convert", sys.argv[5], "-o", sys.argv[1]]
vibrid.cli.main()
"""


@pytest.mark.parametrize(
    ("name", "call", "when", "code"),
    [("SIGTERM", "fsync", "before", 143), ("SIGINT", "fsync", "after", 130), ("SIGTERM", "open", "after", 143)],
)
def test_a_request_to_stop_during_a_save_leaves_nothing_half_written(tmp_path, name, call, when, code):
    source, folder = tmp_path / "test.csv", tmp_path / "out"
    source.write_text("time [s],x [mm]\n0.0,1\n0.1,2\n0.2,3\n")
    files.write_text(files.make_folder(folder) / "a.h5", "before")
    command = [sys.executable, "-c", INTERRUPTED, str(folder / "a.h5"), name, call, when, str(source)]
    made = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert made.returncode == code and "Traceback" not in made.stderr, made.stderr
    assert [p.name for p in folder.iterdir()] == ["a.h5"] and (folder / "a.h5").read_bytes() == b"before"


# -- files that grow -----------------------------------------------------------------------------------------------


def test_appended_data_are_complete_or_removed(tmp_path, monkeypatch):
    path, real, room = tmp_path / "run.csv", os.write, [6]

    def write(handle, data):
        """A disk with room for a few bytes."""
        some = real(handle, bytes(data[: room[0]])) if room[0] else 0
        room[0] -= some
        if not some:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return some

    growing = files.Appended(path)
    growing.append(b"head\n")
    monkeypatch.setattr(files.os, "write", write)
    growing.append(b"1,2\n")
    with pytest.raises(OSError, match="No space left"):
        growing.append(b"3,4\n")
    assert path.read_bytes() == b"head\n1,2\n"
    room[0] = 100
    growing.append(b"5,6\n")
    growing.close()
    assert path.read_bytes() == b"head\n1,2\n5,6\n"


def test_an_old_file_stays_until_the_new_one_begins(tmp_path):
    path = tmp_path / "run.csv"
    path.write_bytes(b"old\n1,2\nhalf a li")
    files.Appended(path).close()
    assert path.read_bytes() == b"old\n1,2\nhalf a li"
    again = files.Appended(path)
    again.go_on()
    again.append(b"3,4\n")
    again.close()
    assert path.read_bytes() == b"old\n1,2\n3,4\n"
    anew = files.Appended(path)
    anew.begin()
    anew.append(b"new\n")
    anew.close()
    assert path.read_bytes() == b"new\n"
    files.Appended(tmp_path / "never.csv").close()
    assert not (tmp_path / "never.csv").exists()
    with pytest.raises(FileProblem, match="cannot be written"):
        files.Appended(path, anew=True)
