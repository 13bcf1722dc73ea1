"""Networks: layers, scaling, derivatives, compiled training and checkpoints, for every method with a network."""

from vibrid.core.moved import moved
from vibrid.networks.checkpoint import Checkpoint, fingerprint
from vibrid.networks.dense import Dense
from vibrid.networks.derivatives import carried, carried_together
from vibrid.networks.lstm import LSTM
from vibrid.networks.quasi_newton import QuasiNewton
from vibrid.networks.scaling import ChannelScaling
from vibrid.networks.sequence import Convolution, Recurrent
from vibrid.networks.training import Trained, adam, train

__all__ = [
    "LSTM",
    "ChannelScaling",
    "Checkpoint",
    "Convolution",
    "Dense",
    "QuasiNewton",
    "Recurrent",
    "Trained",
    "adam",
    "carried",
    "carried_together",
    "fingerprint",
    "train",
]


MOVED = {"Scaling": "vibrid.networks.ChannelScaling"}


def __getattr__(name: str):
    return moved(__name__, name, MOVED)
