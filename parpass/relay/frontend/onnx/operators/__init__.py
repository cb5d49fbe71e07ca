"""The table of ONNX's operators: what each becomes in Relay."""

from __future__ import annotations

from parpass.relay.frontend.onnx.onnx_node import Converter
from parpass.relay.frontend.onnx.operators.control import CONTROL
from parpass.relay.frontend.onnx.operators.elementwise import ACTIVATION, ELEMENTWISE
from parpass.relay.frontend.onnx.operators.index import INDEX
from parpass.relay.frontend.onnx.operators.neural import NEURAL
from parpass.relay.frontend.onnx.operators.normalize import NORMALIZE
from parpass.relay.frontend.onnx.operators.quantize import CAST, QUANTIZE
from parpass.relay.frontend.onnx.operators.recurrent import RECURRENT
from parpass.relay.frontend.onnx.operators.reduce import REDUCE
from parpass.relay.frontend.onnx.operators.resize import RESIZE
from parpass.relay.frontend.onnx.operators.sample import SAMPLE
from parpass.relay.frontend.onnx.operators.shape import PAD, SHAPE
from parpass.relay.frontend.onnx.operators.spectrum import SPECTRUM
from parpass.relay.frontend.onnx.operators.tensor import TENSOR
from parpass.relay.frontend.onnx.operators.window import WINDOW

CONVERTERS: dict[str, Converter] = {
    **ACTIVATION,
    **CAST,
    **CONTROL,
    **ELEMENTWISE,
    **INDEX,
    **NEURAL,
    **NORMALIZE,
    **PAD,
    **QUANTIZE,
    **RECURRENT,
    **REDUCE,
    **RESIZE,
    **SAMPLE,
    **SHAPE,
    **SPECTRUM,
    **TENSOR,
    **WINDOW,
}
"""By operator name; all versions of an operator that parpass knows have one entry."""

__all__ = ["CONVERTERS"]
