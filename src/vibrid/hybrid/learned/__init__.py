"""Networks that stand in for a device: what they see, how they answer, and how they are trained."""

from vibrid.hybrid.learned.along import along
from vibrid.hybrid.learned.answers import Corrected, Direct, LawLayer, ScaledLaw
from vibrid.hybrid.learned.features import MotionFeatures
from vibrid.hybrid.learned.histories import DeviceTest, Histories, stack
from vibrid.hybrid.learned.model import DeviceModel, Sample, Setting
from vibrid.hybrid.learned.network import Constant, DeviceNetwork
from vibrid.hybrid.learned.training import Epoch, fit_models, predict

__all__ = [
    "Constant",
    "Corrected",
    "DeviceModel",
    "DeviceNetwork",
    "DeviceTest",
    "Direct",
    "Epoch",
    "Histories",
    "LawLayer",
    "MotionFeatures",
    "Sample",
    "ScaledLaw",
    "Setting",
    "along",
    "fit_models",
    "predict",
    "stack",
]
