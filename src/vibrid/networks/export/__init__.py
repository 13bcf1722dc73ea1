"""A trained step as a file that does not need this package: C for a real-time target, an ONNX graph, or an FMU."""

from vibrid.networks.export.c_code import write_c
from vibrid.networks.export.compiled import CompiledStep
from vibrid.networks.export.fmu import write_fmu
from vibrid.networks.export.interface import Bit, Interface, Port
from vibrid.networks.export.onnx_graph import write_onnx

__all__ = ["Bit", "CompiledStep", "Interface", "Port", "write_c", "write_fmu", "write_onnx"]
