"""PIDynNet: physics-informed networks for the response and the hidden states of a structure."""

from vibrid.identification.methods.pidynnet.pidynnet import PIDynNet

__all__ = ["PIDynNet"]
