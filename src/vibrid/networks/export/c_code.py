"""A traced step as one C file and its header: no library but the mathematical one, no allocation, no global state.

Compile with `-O3 -march=native`. Do not add `-ffast-math`: it hides NaN, and a controller must see one.
"""

from __future__ import annotations

import re
from pathlib import Path

from vibrid.core.errors import InputError
from vibrid.core.files import whole_file
from vibrid.core.traced import Traced, Value
from vibrid.networks.export.c_operations import Writer, c_type
from vibrid.networks.export.interface import Interface

HELPERS = """
/* Functions of 32 bits. What would be a choice between numbers is made on their bits, so that compilers turn loops over
 * these functions into vector instructions: they do not take floating-point operations out of a branch. */
static inline uint32_t PREFIX_bits(float x) { uint32_t u; memcpy(&u, &x, sizeof u); return u; }
static inline float PREFIX_float(uint32_t u) { float x; memcpy(&x, &u, sizeof x); return x; }
/* e^x: 2^n times a Taylor polynomial on |r| <= ln(2)/2; infinite or zero beyond 88.72, a NaN stays a NaN. */
static inline float PREFIX_exp(float x) {
    uint32_t size = PREFIX_bits(x) & 0x7fffffffu, sign = PREFIX_bits(x) & 0x80000000u;
    uint32_t beyond = size > 0x42b17217u ? 0xffffffffu : 0u;
    float c = PREFIX_float(sign | (beyond ? 0x42b17217u : size));
    float z = c * 1.44269504f + 12582912.0f, n = z - 12582912.0f; /* 1.5 2^23: a sum with it is rounded to whole n */
    float r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
    float p = 1.0f + r * (1.0f + r * (0.5f + r * (1.66666667e-1f + r * (4.16666667e-2f
            + r * (8.33333333e-3f + r * (1.38888889e-3f + r * 1.98412698e-4f))))));
    uint32_t k = PREFIX_bits(z) - 0x4b400000u + 256u, half = k >> 1; /* 2^n as two factors: 2^128 would overflow */
    float e = p * PREFIX_float((half - 1u) << 23) * PREFIX_float((k - half - 1u) << 23);
    uint32_t end = sign ? 0u : 0x7f800000u, nan = size > 0x7f800000u ? 0x7fc00000u : 0u;
    return PREFIX_float((PREFIX_bits(e) & ~beyond) | (end & beyond) | nan);
}
/* tanh x: its Taylor polynomial below 0.3, 1 - 2/(e^2|x| + 1) elsewhere. */
static inline float PREFIX_tanh(float x) {
    float s = x * x, m = fabsf(x);
    float near = x * (1.0f + s * (-3.33333333e-1f + s * (1.33333333e-1f + s * (-5.39682540e-2f
            + s * (2.18694885e-2f - s * 8.86323553e-3f)))));
    float far = copysignf(1.0f - 2.0f / (PREFIX_exp(2.0f * m) + 1.0f), x);
    uint32_t low = PREFIX_bits(m) < 0x3e99999au ? 0xffffffffu : 0u;
    return PREFIX_float((PREFIX_bits(near) & low) | (PREFIX_bits(far) & ~low));
}
"""


def write_c(traced: Traced, path: Path | str, interface: Interface, *, prefix: str) -> tuple[Path, Path]:
    """Write `path` (ending in .c) and the header beside it; both appear complete or not at all.

    Arguments
        traced: the step, from `trace`.
        interface: of the step: comments and constants of the header. A step with flags returns them.
        prefix: the beginning of every name in the file; a plain `step` would collide with others.
    """
    path = Path(path)
    if path.suffix != ".c":
        raise InputError(f"A C file ends in .c; '{path.name}' does not.")
    header = path.with_suffix(".h")
    texts = c_texts(traced, interface, prefix, header.name)
    with whole_file(path) as source, whole_file(header) as head:  # neither gets its name before both are written
        source.write(texts[0].encode())
        source.flush()
        head.write(texts[1].encode())
    return path, header


def c_texts(traced: Traced, interface: Interface, prefix: str, header: str) -> tuple[str, str]:
    """The C file, and its header of the given name."""
    if not re.fullmatch(r"[a-z][a-z0-9_]*", prefix):
        raise InputError(f"A prefix of C names is small letters, digits and _, not '{prefix}'.")
    interface.check(traced)
    return _source(traced, interface, prefix, header), _header(traced, interface, prefix)


def _fields(traced: Traced) -> list[tuple[str, Value]]:
    return [(f"s{i}_{name}", v) for i, (name, v) in enumerate(zip(traced.state_names, traced.states, strict=True))]


def _header(traced: Traced, interface: Interface, prefix: str) -> str:
    fields = [f"    {c_type(v.dtype)} {name}[{max(v.size, 1)}];" for name, v in _fields(traced)]
    guard = f"{prefix.upper()}_H"
    listed = [f" *   inputs[{i}]: {port}" for i, port in enumerate(interface.inputs)]
    listed += [f" *   outputs[{i}]: {port}" for i, port in enumerate(interface.outputs)]
    if interface.flags:
        listed.append(" *   returns: flags, 0 where nothing was wrong")
    lines = [
        f"#ifndef {guard}",
        f"#define {guard}",
        "#include <stdint.h>",
        "#ifdef __cplusplus",
        'extern "C" {',
        "#endif",
        "",
        f"/* {_comment(interface.note) or 'One step of a device.'} */",
        "typedef struct {",
        *(fields or ["    char nothing;"]),
        f"}} {prefix}_state;",
        "",
        *_defines(interface, prefix),
        "/* The state at rest. */",
        f"void {prefix}_start({prefix}_state *state);",
        "",
        "/* One step: reads the inputs, writes the outputs, moves the state on.",
        *map(_comment, listed),
        " */",
        f"{_signature(traced, interface, prefix)};",
        "",
        "#ifdef __cplusplus",
        "}",
        "#endif",
        "#endif",
        "",
    ]
    return "\n".join(lines)


def _defines(interface: Interface, prefix: str) -> list[str]:
    """The bits of the flags and the limits, as constants."""
    lines = []
    if interface.flags:
        lines += ["/* Bits of the flags. */"]
        lines += [
            f"#define {prefix.upper()}_FLAG_{b.name.upper()} {b.value}u /* {_comment(b.meaning)} */"
            for b in interface.flags
        ]
    if interface.limits:
        lines += ["/* Limits, for either sign. */"]
        named = ((f"{prefix.upper()}_{p.name.upper()}", p) for p in interface.limits)
        lines += [f"#define {name} {p.value!r} /* {_comment(str(p))} */" for name, p in named]
    return [*lines, ""] if lines else []


def _signature(traced: Traced, interface: Interface, prefix: str) -> str:
    given, made = c_type(traced.input.dtype), c_type(traced.output.dtype)
    return (
        f"{'uint32_t' if interface.flags else 'void'} {prefix}_step({prefix}_state *state, "
        f"const {given} inputs[{traced.input.size}], {made} outputs[{len(interface.outputs)}])"
    )


def _comment(text: str) -> str:
    return text.replace("*/", "* /").replace("\n", " ")


def _source(traced: Traced, interface: Interface, prefix: str, header: str) -> str:
    writer = Writer(prefix)
    program = traced.program
    for value in program.inputs[:-1]:
        writer.expression[value.name] = value.name
    writer.expression[traced.input.name] = "inputs"
    body = writer.program(program)
    load, store, start = [], [], []
    for (name, value), after, first in zip(_fields(traced), traced.next_states, traced.start, strict=True):
        kind, size = c_type(value.dtype), max(value.size, 1)
        load.append(f"{kind} {value.name}[{size}]; memcpy({value.name}, state->{name}, sizeof {value.name});")
        store.append(f"memcpy(state->{name}, {writer.pointer(after)}, sizeof state->{name});")
        start.append(f"memcpy(state->{name}, {writer.known(first)}, sizeof state->{name});")
    out = traced.output
    store.insert(0, f"memcpy(outputs, {writer.pointer(out)}, {len(interface.outputs)} * sizeof *outputs);")
    if interface.flags:
        store.append(f"return (uint32_t){writer.pointer(out)}[{out.size - 1}];")
    unused = [] if _fields(traced) else ["(void)state;"]
    indent = lambda lines: "\n".join(f"    {line}" for line in lines)  # noqa: E731
    return "\n".join(
        [
            f'#include "{header}"',
            "#include <math.h>",
            "#include <string.h>",
            HELPERS.replace("PREFIX", prefix),
            *writer.constants,
            "",
            f"void {prefix}_start({prefix}_state *state) {{",
            indent(unused + start),
            "}",
            "",
            f"{_signature(traced, interface, prefix)} {{",
            indent(unused + load + body + store),
            "}",
            "",
        ]
    )
