"""A trained step as a file that does not need this package: C for a real-time target, or an ONNX graph."""

from vibrid.networks.export.c_code import write_c
from vibrid.networks.export.compiled import CompiledStep
from vibrid.networks.export.onnx_graph import write_onnx

__all__ = ["CompiledStep", "write_c", "write_onnx"]
