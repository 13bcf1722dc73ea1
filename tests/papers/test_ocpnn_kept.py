"""Stored trainings are found by their settings, also after recipes got new ones."""

from vibrid.hybrid.learned import Recipe
from vibrid.networks.checkpoint import fingerprint
from vibrid.papers.ocpnn import companion
from vibrid.papers.ocpnn.as_published import PUBLISHED
from vibrid.papers.ocpnn.kept import stored_settings


def test_a_stored_training_keeps_its_name():
    """The names are those of files that took hours of a GPU."""
    settings = dict(
        rate=companion.RATE / companion.EVERY, sees_velocity=True, epochs=60, batch=256, stretch=512, seeds=3,
        learning_rate=3e-3, decay=0.9, every=2, dropout=0.0,
    )  # fmt: skip
    data = [repr(companion.CASES["one device, known"]), companion.TRAINING]
    for kind, name in (("data-driven", "51f9069ad9875d2d29e8e43f"), ("offline", "cb371824869e9e11e8a22576")):
        recipe = PUBLISHED[kind].replace(**settings)
        assert fingerprint("companion", stored_settings(recipe), data) == name


def test_settings_that_matter_change_the_name():
    texts = [stored_settings(r) for r in (Recipe(), Recipe(steps=10), Recipe(network="resonant"), Recipe(plays=4))]
    texts.append(stored_settings(Recipe(network="resonant", jitter=1e-3)))
    assert len(set(texts)) == 5
