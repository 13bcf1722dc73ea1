"""The description of parameters by a class: meaning, unit, range and default, from their declarations."""

import dataclasses
import inspect
import re

import equinox as eqx
import jax.numpy as jnp
import pytest

import vibrid as vb
from vibrid.core.parameters import Parameter, Parameterised, parameter


class Spring(Parameterised):
    """A spring.

    Arguments
        height: m, described by hand.
    """

    stiffness: Parameter = parameter("stiffness k", "N/m", positive=True)
    height: Parameter = parameter("height", "m")
    name: str = eqx.field(static=True, default="")


class Damped(Spring):
    """A spring with a dashpot."""

    damping: Parameter = parameter("damping c", "N s/m", positive=True, default=0.0)


def test_parameters_are_listed_that_the_docstring_does_not_describe():
    assert inspect.getdoc(Spring).endswith(
        "height: m, described by hand.\n\nParameters\n    stiffness: stiffness k (N/m), positive."
    )
    lines = inspect.getdoc(Damped).splitlines()
    assert lines[:3] == ["A spring with a dashpot.", "", "Parameters"]
    assert lines[-1] == "    damping: damping c (N s/m), not negative, 0.0 by default."
    assert [line.split(":")[0].strip() for line in lines[3:]] == ["stiffness", "height", "damping"]


@pytest.mark.parametrize("name", list(vb.laws.LAWS))
def test_every_law_describes_its_parameters(name):
    law = vb.laws.LAWS[name]
    declared = [f.name for f in dataclasses.fields(law) if "parameter" in f.metadata]
    text = inspect.getdoc(law)
    assert declared and not [p for p in declared if not re.search(rf"^ +.*\b{p}\b.*: ", text, re.MULTILINE)]


def test_a_parameter_takes_numbers_of_any_kind_and_is_an_array():
    for given in (2, 2.0, jnp.asarray(2.0), [2.0, 3.0]):
        assert Spring(given, 1.0).stiffness.dtype == jnp.float64
