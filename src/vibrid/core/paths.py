"""Parameter paths: `storeys[0].stiffness`, `storeys[*].beta`, `attachments[0].law.coefficients[2]`.

A path walks through attributes and indices of an immutable tree. `[*]` stands for every index. An index into an
array names one of its entries.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from vibrid.core.errors import InputError, nearest
from vibrid.core.parameters import ParameterInfo, Parameterised, check_parameters, parameter_info

_TOKEN = re.compile(r"\.?([A-Za-z_]\w*)|\[(\*|-?\d+)\]")

Tree = TypeVar("Tree")


def parse(path: str) -> tuple[str | int, ...]:
    """Split a path into attribute names and indices; `*` stays a string."""
    tokens, position = [], 0
    while position < len(path):
        match = _TOKEN.match(path, position)
        if match is None or (position == 0 and path.startswith(".")):
            raise InputError(
                f"The path '{path}' cannot be read at '{path[position:]}'; "
                "write it like storeys[0].stiffness or storeys[*].stiffness."
            )
        name, index = match.groups()
        tokens.append(name if name is not None else (index if index == "*" else int(index)))
        position = match.end()
    if not tokens:
        raise InputError("An empty path names no parameter.")
    return tuple(tokens)


def spell(tokens: Sequence[str | int]) -> str:
    """The text of a parsed path."""
    text = ""
    for token in tokens:
        text += f"[{token}]" if isinstance(token, int) or token == "*" else (f".{token}" if text else token)
    return text


def _is_array(node) -> bool:
    return isinstance(node, jax.Array | np.ndarray)


def _length(node, where: str) -> int:
    if _is_array(node) and node.ndim > 0:
        return node.shape[0]
    if isinstance(node, list | tuple):
        return len(node)
    raise InputError(f"'{where}' has no parts to index.")


def _step(node, token, where: str):
    if isinstance(token, int):
        size = _length(node, where)
        if not -size <= token < size:
            raise InputError(f"'{where}' has {size} parts, numbered 0 to {size - 1}; there is no [{token}].")
        return node[token]
    fields = [f.name for f in dataclasses.fields(node)] if dataclasses.is_dataclass(node) else []
    if token not in fields:
        raise InputError(f"'{where or type(node).__name__}' has no '{token}'; {nearest(token, fields)}")
    return getattr(node, token)


def expand(tree: Any, path: str) -> list[str]:
    """Every concrete path that `path` stands for, each naming one number."""
    found: list[str] = []

    def walk(node, done: tuple[Any, ...], rest: tuple[Any, ...]):
        if rest:
            tokens = range(_length(node, spell(done))) if rest[0] == "*" else [rest[0]]
            for token in tokens:
                walk(_step(node, token, spell(done)), (*done, token), rest[1:])
        elif _is_array(node):
            for index in np.ndindex(node.shape):
                found.append(spell((*done, *map(int, index))))
        else:
            inside = [f.name for f in dataclasses.fields(node)] if dataclasses.is_dataclass(node) else []
            hint = f" It holds {', '.join(inside)}." if inside else ""
            raise InputError(f"The path '{spell(done)}' does not name a number.{hint}")

    walk(tree, (), parse(path))
    if not found:
        raise InputError(f"The path '{path}' names nothing here.")
    return found


def get(tree: Any, path: str) -> Any:
    """The value at a concrete path."""
    node, done = tree, ()
    for token in parse(path):
        node, done = _step(node, token, spell(done)), (*done, token)
    return node


def info(tree: Any, path: str) -> ParameterInfo:
    """Meaning, unit and range of the parameter at a concrete path."""
    node, done, info = tree, (), ParameterInfo()
    for token in parse(path):
        if isinstance(token, str) and dataclasses.is_dataclass(node):
            info = parameter_info(node, token)
        node, done = _step(node, token, spell(done)), (*done, token)
    return info


_MANY = 30  # changes from which entries of one row are set together


def _set(node: Any, tokens: tuple[Any, ...], value, where: str) -> Any:
    if not tokens:
        if isinstance(node, eqx.Module) and not isinstance(value, eqx.Module):
            raise InputError(f"'{where}' is a {type(node).__name__}, not a number.")
        if _is_array(node):
            old: Any = node
            value = jnp.asarray(value, dtype=old.dtype)
            if value.shape != old.shape:
                raise InputError(f"'{where}' has shape {old.shape}; the new value has shape {value.shape}.")
        return value
    token, rest = tokens[0], tokens[1:]
    here = f"{where}[{token}]" if isinstance(token, int) else (f"{where}.{token}" if where else token)
    child = _set(_step(node, token, where), rest, value, here)
    if _is_array(node):
        return jnp.asarray(node).at[token].set(child)
    if isinstance(token, int):
        parts = list(node)
        parts[token] = child
        return type(node)(parts)
    copy = object.__new__(type(node))
    for f in dataclasses.fields(node):
        object.__setattr__(copy, f.name, child if f.name == token else getattr(node, f.name))
    return copy


def replace(tree: Tree, changes: Mapping[str, Any]) -> Tree:
    """A copy of the tree with the values at some paths changed; `[*]` sets every part."""
    entries: dict[tuple[Any, ...], dict[int, Any]] = {}
    for path, value in changes.items():
        tokens = parse(path)
        concrete = _fill_stars(tree, tokens)
        values = value if len(concrete) > 1 and np.ndim(value) and len(value) == len(concrete) else None
        for i, chosen in enumerate(concrete):
            own = value if values is None else values[i]
            if len(changes) > _MANY and isinstance(chosen[-1], int) and not np.ndim(own) and _is_row(tree, chosen[:-1]):
                entries.setdefault(chosen[:-1], {})[chosen[-1]] = own
            else:
                tree = _set(tree, chosen, own, "")
    for tokens, own in entries.items():
        row, distinct = jnp.asarray(_at(tree, tokens)), list({id(value): value for value in own.values()}.values())
        which = {id(value): k for k, value in enumerate(distinct)}
        values = jnp.stack([jnp.asarray(value, row.dtype) for value in distinct])
        places = np.array([which[id(value)] for value in own.values()])
        tree = _set(tree, tokens, row.at[np.array(list(own))].set(values[places]), "")
    return tree


def _at(tree: Any, tokens: tuple[Any, ...]) -> Any:
    for token in tokens:
        tree = _step(tree, token, "")
    return tree


def _is_row(tree: Any, tokens: tuple[Any, ...]) -> bool:
    """Whether there is a row of numbers, of which many entries are set at once."""
    node = _at(tree, tokens)
    return _is_array(node) and np.ndim(node) == 1


def check(tree: Any, changes: Mapping[str, Any]) -> None:
    """Refuse new values in `tree` at some paths that are out of range; traced values are not checked."""
    if any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(list(changes.values()))):
        return
    owners = {}
    for path in changes:
        for tokens in _fill_stars(tree, parse(path)):
            for depth in range(len(tokens), -1, -1):
                owners.setdefault(tokens[:depth], None)
    for tokens in sorted(owners, key=len, reverse=True):
        node = get(tree, spell(tokens)) if tokens else tree
        if isinstance(node, Parameterised):
            check_parameters(node, spell(tokens))
        if isinstance(node, eqx.Module):
            for cls in type(node).__mro__:
                if "__check_init__" in cls.__dict__:
                    cls.__dict__["__check_init__"](node)


def check_values(tree: Any, changes: Mapping[str, Any]) -> None:
    """Refuse values for paths of `tree`, for one run or many, that are out of the parameters' ranges."""
    for path, values in changes.items():
        info(tree, spell(_fill_stars(tree, parse(path))[0])).check(values, path)


def _fill_stars(tree, tokens: tuple[Any, ...]) -> list[tuple]:
    """The same path with every `*` replaced by each index in turn (whole arrays stay whole)."""
    paths = [((), tree)]
    for token in tokens:
        step = []
        for done, node in paths:
            choices = range(_length(node, spell(done))) if token == "*" else [token]
            step += [((*done, c), _step(node, c, spell(done))) for c in choices]
        paths = step
    return [done for done, _ in paths]
