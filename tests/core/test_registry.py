"""Registries: classes by name, and other ways to construct them that project files can name."""

import pytest

from vibrid.core.errors import InputError
from vibrid.core.registry import Registry
from vibrid.hybrid.device import SPECIMENS
from vibrid.structures.damping import DAMPINGS


@pytest.fixture
def registry():
    made = Registry("spring")

    @made.register("soft")
    class Soft:
        @staticmethod
        def from_length(length: float):
            return Soft()

    made.also("a-soft-one-by-length", Soft.from_length)
    return made


def test_a_project_file_can_name_classes_and_then_other_constructors(registry):
    assert list(registry.choices()) == ["soft", "a-soft-one-by-length"]
    assert list(registry) == ["soft"] and "a-soft-one-by-length" not in registry


def test_a_name_is_taken_once(registry):
    with pytest.raises(InputError, match="A spring called 'soft' is registered already"):
        registry.also("soft", lambda: None)
    with pytest.raises(InputError, match="A spring called 'a-soft-one-by-length' is registered already"):
        registry.register("a-soft-one-by-length")(int)
    registry.also("a-soft-one-by-length", registry["soft"].from_length)


def test_constructors_are_registered_where_they_are():
    assert "rayleigh-ratios" in DAMPINGS.choices() and "banded-friction-damper-drawn" in SPECIMENS.choices()
