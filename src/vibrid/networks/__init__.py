"""What learns: dense layers, scaling and a compiled training loop, shared by every method that trains a network."""

from vibrid.networks.dense import Dense
from vibrid.networks.scaling import Scaling
from vibrid.networks.training import Trained, adam, train

__all__ = ["Dense", "Scaling", "Trained", "adam", "train"]
