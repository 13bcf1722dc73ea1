"""What learns: layers, scaling, derivatives, compiled training and checkpoints, for every method with a network."""

from vibrid.networks.checkpoint import Checkpoint, fingerprint
from vibrid.networks.dense import Dense
from vibrid.networks.derivatives import carried, carried_together
from vibrid.networks.lstm import LSTM
from vibrid.networks.quasi_newton import QuasiNewton
from vibrid.networks.scaling import Scaling
from vibrid.networks.sequence import Convolution, Recurrent
from vibrid.networks.training import Trained, adam, train

__all__ = [
    "LSTM",
    "Checkpoint",
    "Convolution",
    "Dense",
    "QuasiNewton",
    "Recurrent",
    "Scaling",
    "Trained",
    "adam",
    "carried",
    "carried_together",
    "fingerprint",
    "train",
]
