"""Networks that replace a device: their inputs, their forces, their training, scores and files."""

from vibrid.core.moved import moved
from vibrid.hybrid.learned.along import along
from vibrid.hybrid.learned.answers import Adapted, Corrected, Direct, LawLayer, MinMax, ScaledLaw
from vibrid.hybrid.learned.closed_loop import LoopErrors, loop_errors, with_device
from vibrid.hybrid.learned.committee import Committee, MeanPort, mean_model
from vibrid.hybrid.learned.conduct import Conduct, conduct
from vibrid.hybrid.learned.features import BoundedFeatures, MotionFeatures
from vibrid.hybrid.learned.files import SavedModel, load_model, save_model
from vibrid.hybrid.learned.from_records import device_test
from vibrid.hybrid.learned.guard import Fault, GuardedModel
from vibrid.hybrid.learned.histories import DeviceTest, Histories, stack
from vibrid.hybrid.learned.in_loop import NetworkDevice
from vibrid.hybrid.learned.input_limits import InputLimits
from vibrid.hybrid.learned.model import DeviceModel, DeviceSample, Setting
from vibrid.hybrid.learned.modulators import Modulators
from vibrid.hybrid.learned.network import Constant, DeviceNetwork
from vibrid.hybrid.learned.passive import PassivePort
from vibrid.hybrid.learned.recipes import Recipe, score_tests, train_models
from vibrid.hybrid.learned.resonant import ResonantNetwork
from vibrid.hybrid.learned.training import Epoch, fit_models, predict
from vibrid.records.force_scores import ForceScores, force_scores

__all__ = [
    "Adapted",
    "BoundedFeatures",
    "Committee",
    "Conduct",
    "Constant",
    "Corrected",
    "DeviceModel",
    "DeviceNetwork",
    "DeviceSample",
    "DeviceTest",
    "Direct",
    "Epoch",
    "Fault",
    "ForceScores",
    "GuardedModel",
    "Histories",
    "InputLimits",
    "LawLayer",
    "LoopErrors",
    "MeanPort",
    "MinMax",
    "Modulators",
    "MotionFeatures",
    "NetworkDevice",
    "PassivePort",
    "Recipe",
    "ResonantNetwork",
    "SavedModel",
    "ScaledLaw",
    "Setting",
    "along",
    "conduct",
    "device_test",
    "fit_models",
    "force_scores",
    "load_model",
    "loop_errors",
    "mean_model",
    "predict",
    "save_model",
    "score_tests",
    "stack",
    "train_models",
    "with_device",
]


MOVED = {"Sample": "vibrid.hybrid.learned.DeviceSample"}


def __getattr__(name: str):
    return moved(__name__, name, MOVED)
