"""Machine code from LLVM's intermediate language, kept on disk, and made known to XLA."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import os
import re
import threading
from pathlib import Path
from typing import Any

import jax

from vibrid.core.errors import VibridError
from vibrid.core.files import is_trusted, make_folder, whole_file
from vibrid.core.native.scalars import NotNative
from vibrid.core.precision import cache_folder, processor

_LOCK = threading.Lock()
_KEPT: dict[str, Any] = {}  # compiled modules by name; XLA holds their addresses for the life of the process


def wanted() -> str:
    """What VIBRID_NATIVE says: "off", "on", or "strict", where a loop that cannot be machine code by a fault raises."""
    chosen = os.environ.get("VIBRID_NATIVE", "").strip().lower()
    return "off" if chosen in ("0", "off", "no", "false") else "strict" if chosen == "strict" else "on"


def why_not() -> str:
    """Why loops are not compiled to machine code here; empty where they are."""
    return "VIBRID_NATIVE switches it off" if wanted() == "off" else unavailable()


@functools.cache
def unavailable() -> str:
    """Why loops cannot be compiled to machine code here; empty where they can."""
    if jax.default_backend() != "cpu":
        return "an accelerator is used"
    try:
        import llvmlite.binding as llvm
    except ImportError:
        return "llvmlite is not installed: pip install 'vibrid[native]'"
    except OSError as problem:
        return f"llvmlite cannot be loaded ({problem})"
    try:
        with contextlib.suppress(RuntimeError):  # newer versions need no initialisation
            llvm.initialize()
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        llvm.parse_assembly("define void @try(ptr %p) {\n  ret void\n}")
        interface()
    except NotNative as problem:
        return str(problem)
    except (RuntimeError, OSError):
        return "llvmlite is too old for it: pip install -U 'vibrid[native]'"
    return ""


@functools.cache
def interface() -> tuple[int, int]:
    """The version of XLA's foreign-function interface, from the header that came with it."""
    try:
        text = (Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h").read_text(encoding="utf-8")
    except (OSError, AttributeError) as problem:
        raise NotNative(f"this JAX ({jax.__version__}) tells no version of its interface") from problem
    found = [re.search(rf"#define XLA_FFI_API_{name} (\d+)", text) for name in ("MAJOR", "MINOR")]
    major, minor = (int(match.group(1)) if match else -1 for match in found)
    if major != 0 or minor < 0:
        raise NotNative(f"this JAX ({jax.__version__}) has an interface that is not known here")
    return major, minor


def registered(text: str) -> str:
    """Compile a module, make its `handler` known to XLA, and return the name under which XLA calls it."""
    import llvmlite

    with _LOCK:
        key = f"{text}\n{llvmlite.__version__}\n{processor()}"
        name = f"vibrid_{hashlib.sha256(key.encode()).hexdigest()[:24]}"
        if name not in _KEPT:
            try:
                engine = _loaded(text, name)
            except RuntimeError as problem:  # of LLVM
                raise NotNative(f"LLVM refuses it ({problem})") from problem
            _register(engine, name)
        return name


def known(name: str) -> bool:
    """Make a module that is on the disk known to XLA, if it is not yet; whether it is there."""
    with _LOCK:
        if name not in _KEPT:
            made = _on_disk(_file(name))
            if made is None:
                return False
            _register(_linked(made, _machine()), name)
        return True


def _register(engine: Any, name: str) -> None:
    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    address = engine.get_function_address("handler")
    jax.ffi.register_ffi_target(name, capsule(address, None, None), platform="cpu")
    _KEPT[name] = engine


def _file(name: str) -> Path | None:
    folder = cache_folder()
    return None if folder is None else folder / "native" / f"{name}.o"


def _loaded(text: str, name: str) -> Any:
    """The compiled module: from the disk, or compiled and kept there."""
    file = _file(name)
    made = _on_disk(file)
    machine = _machine()
    if made is None:
        made = _compiled(text, machine)
        if file is not None:
            with contextlib.suppress(OSError, VibridError):  # a cache that cannot be written costs time, nothing else
                make_folder(file.parent)
                with whole_file(file) as stream:
                    stream.write(_sealed(made))
    return _linked(made, machine)


def _linked(made: bytes, machine: Any) -> Any:
    import llvmlite.binding as llvm

    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(made))
    engine.finalize_object()
    return engine


def _sealed(code: bytes) -> bytes:
    """Code with its digest before it: what is cut short or damaged on the disk is not run."""
    return hashlib.sha256(code).digest() + code


def _on_disk(file: Path | None) -> bytes | None:
    if file is None:
        return None
    try:
        kept = file.read_bytes() if is_trusted(file) else b""
    except OSError:
        return None
    return kept[32:] if hashlib.sha256(kept[32:]).digest() == kept[:32] else None


def _machine() -> Any:
    import llvmlite.binding as llvm

    target = llvm.Target.from_default_triple()
    features = llvm.get_host_cpu_features().flatten()
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True)


def _compiled(text: str, machine: Any) -> bytes:
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(text)
    module.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.slp_vectorization = True
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_object(module)
