"""Settings of the paper's networks and filter, as published."""

from __future__ import annotations

from vibrid.hybrid.learned.answers import ScaledLaw
from vibrid.hybrid.learned.recipes import Recipe
from vibrid.hybrid.updated import UpdatedLaw

EPOCHS = 300
SEEDS = 3
_TRAINING = Recipe(
    network="lstm", branch=16, joined=(48, 48), rate=1024.0, plays=0, sees_velocity=False, dropout=0.1, min_max=True,
    epochs=EPOCHS, learning_rate=1e-3, decay=0.99, every=10, batch=10, stretch=6000, seeds=SEEDS,
)  # fmt: skip
PUBLISHED = {
    "data-driven": _TRAINING,
    "physics-based": _TRAINING.replace(answer="law-layer", batch=5),
    "offline": _TRAINING.replace(uses_companion=False, branch=48),
}
"""§2.3.1: two layers of 16 side by side, two of 48, dropout 10 %, Adam 1e-3 (× 0.99 every 10 epochs), min–max scaling,
batches of ten, 6000 samples between updates, displacement alone. §2.3.2: the same layers predict σ₀ and σ₁ of the law
of Table 1, batches of five. §3.3: three layers of 48 whose only input is the displacement of the modelled device,
batches of ten."""


def published_filter(law: ScaledLaw, capacity: float = 1.0) -> UpdatedLaw:
    """The constrained filter with the paper's settings: σ_N = 3·10⁻⁴, R = 1 kN², unfiltered, the parameters as
    the only states."""
    return UpdatedLaw(law, capacity, process_noise=3e-4, force_noise=1e3, corner=0.0, spread=1e-3, memory="mean")
