"""Settings that vibrid changes in a process, and those of the user that it keeps. Each case is its own process."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import json
{before}
import jax
from vibrid.core import precision
{after}
print(json.dumps({{
    "x64": jax.config.jax_enable_x64, "folder": jax.config.jax_compilation_cache_dir,
    "shortest": jax.config.jax_persistent_cache_min_compile_time_secs, "kept": str(precision.cache_folder()),
    "processor": precision.processor(),
}}))
"""


def child(before="", after="", **environment):
    own = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "VIBRID_", "XDG_"))}
    program = PROGRAM.format(before=before, after=after)
    command = [sys.executable, "-c", program]
    return subprocess.run(command, capture_output=True, text=True, env=own | environment, timeout=120)


def found(*arguments, **environment):
    made = child(*arguments, **environment)
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout)


def test_what_is_set_where_the_user_set_nothing(tmp_path):
    made = found(XDG_CACHE_HOME=str(tmp_path))
    assert made["x64"] is True and made["shortest"] == 0.02
    assert made["folder"] == made["kept"] == str(tmp_path / "vibrid" / "compiled" / made["processor"])


def test_a_cache_of_the_user_stays():
    made = found("import jax; jax.config.update('jax_compilation_cache_dir', '/theirs')")
    assert made["folder"] == "/theirs" and made["shortest"] == 1.0


class Config:
    """JAX's settings at the start of a process."""

    def __init__(self, folder=None, shortest=1.0):
        self.jax_compilation_cache_dir, self.jax_persistent_cache_min_compile_time_secs = folder, shortest
        self.jax_enable_x64, self.jax_enable_compilation_cache = False, True

    def update(self, name, value):
        assert hasattr(self, name)
        setattr(self, name, value)


@pytest.mark.parametrize(
    ("config", "environment", "folder", "shortest"),
    [
        (Config("/theirs"), {}, "/theirs", 1.0),
        (Config("/theirs"), {"VIBRID_CACHE": "/ours"}, "/ours", 0.02),
        (Config("/theirs"), {"VIBRID_CACHE": "off"}, "/theirs", 1.0),
        (Config(), {"VIBRID_CACHE": "off"}, None, 1.0),
        (Config(shortest=5.0), {"VIBRID_CACHE": "/ours"}, "/ours", 5.0),
        (Config(), {"VIBRID_CACHE": "/ours", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "1"}, "/ours", 1.0),
    ],
)
def test_wishes_of_both_kinds(monkeypatch, config, environment, folder, shortest):
    from vibrid.core import precision

    monkeypatch.delenv("VIBRID_CACHE", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(precision.jax, "config", config)
    precision.configure()
    own = folder if folder != "/ours" else str(Path(folder) / precision.processor())
    assert config.jax_enable_x64 is True and config.jax_compilation_cache_dir == own
    assert config.jax_persistent_cache_min_compile_time_secs == shortest
    config.jax_enable_compilation_cache = False
    assert precision.cache_folder() is None


def test_a_request_for_32_bits_is_refused_with_one_message():
    made = child(JAX_ENABLE_X64="0")
    assert made.returncode == 1 and "JAX_ENABLE_X64=0 asks for 32-bit numbers" in made.stderr.splitlines()[-1]


def test_64_bits_that_were_turned_off_later_are_missed(monkeypatch):
    import numpy as np

    import vibrid as vb
    from vibrid.core import precision

    monkeypatch.setattr(precision.jax, "config", Config())
    quake = vb.Record(np.ones(10), [vb.Channel("g", "ground_acceleration")], step=0.1)
    with pytest.raises(vb.Refusal, match="turned off"):
        vb.simulate(vb.ShearBuilding(masses=[1.0], storeys=[vb.Linear(4.0)]), quake)


@pytest.mark.parametrize(("wish", "most"), [("1", 1), ("1,4", 1), ("", None), ("many", None), ("0", None)])
def test_threads_are_no_more_than_wished(monkeypatch, wish, most):
    from vibrid.core.device import cores

    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    there = cores()
    monkeypatch.setenv("OMP_NUM_THREADS", wish)
    assert cores() == (most or there)


CPUINFO = """processor\t: 0
vendor_id\t: GenuineIntel
model name\t: Some CPU
cpu MHz\t\t: 2400.1
flags\t\t: fpu sse2 avx avx2
bogomips\t: 4800.2

processor\t: 1
vendor_id\t: GenuineIntel
model name\t: Some CPU
cpu MHz\t\t: 1200.0
flags\t\t: avx fpu sse2 avx2
bogomips\t: 4800.4
"""


def test_processors_that_differ_have_folders_that_differ():
    from vibrid.core.precision import kind_of_processor

    ours = kind_of_processor("x86_64", CPUINFO)
    again = CPUINFO.replace("1200.0", "3000.0").replace("fpu sse2 avx avx2", "avx2 avx sse2 fpu")
    assert kind_of_processor("x86_64", again) == ours  # another speed, another order
    assert kind_of_processor("x86_64", CPUINFO.split("\n\n")[0]) == ours  # fewer cores
    others = [
        kind_of_processor("x86_64", CPUINFO.replace("avx2", "avx2 avx512f")),
        kind_of_processor("x86_64", CPUINFO.replace("Some CPU", "Other CPU")),
        kind_of_processor("aarch64", CPUINFO),
        kind_of_processor("aarch64", "CPU part\t: 0xd0c\nFeatures\t: fp asimd\n"),
        kind_of_processor("aarch64", "CPU part\t: 0xd0c\nFeatures\t: fp asimd sve\n"),
        kind_of_processor("AMD64", "Intel64 Family 6 Model 85 Stepping 7, GenuineIntel"),
        kind_of_processor("AMD64", "Intel64 Family 6 Model 106 Stepping 6, GenuineIntel"),
    ]
    assert len({ours, *others}) == 8


def test_programs_compiled_for_another_processor_are_not_loaded(tmp_path):
    """A program is compiled once for a processor; a process that sees another one compiles it again, in its folder."""
    compiles = """
from vibrid.core import precision
import jax, jax.numpy as jnp
precision.jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
precision.jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
jax.jit(lambda x: jnp.sin(x) @ jnp.cos(x))(jnp.ones(16)).block_until_ready()
"""
    other = "import platform; platform.machine = lambda: 'another'\n"
    counts = []
    for before in ("", "", other):
        made = child(before + compiles, XDG_CACHE_HOME=str(tmp_path))
        assert made.returncode == 0, made.stderr
        folders = sorted((tmp_path / "vibrid" / "compiled").iterdir())
        counts.append([len(list(folder.glob("*-cache"))) for folder in folders])
    assert len(counts[0]) == len(counts[1]) == 1 and counts[0] == counts[1] and counts[0][0] > 0
    assert len(counts[2]) == 2 and counts[2][0] == counts[2][1] == counts[0][0]


@pytest.mark.parametrize("before", [None, "--xla_cpu_enable_fast_math=false"])
def test_whole_loops_are_a_matter_of_one_process(monkeypatch, before):
    """Workers of a study inherit the environment: with another XLA_FLAGS their last bits would be other ones."""
    from vibrid.core.loops import compile_whole_loops

    monkeypatch.delenv("XLA_FLAGS", raising=False) if before is None else monkeypatch.setenv("XLA_FLAGS", before)
    compile_whole_loops()
    assert os.environ.get("XLA_FLAGS") == before
