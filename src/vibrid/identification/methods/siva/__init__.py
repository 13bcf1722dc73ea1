"""SIVA: adversarial identification with validation and uncertainty."""

from vibrid.identification.methods.siva.siva import SIVA

__all__ = ["SIVA"]
