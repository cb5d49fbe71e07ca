"""The ONNX frontend: `from_onnx`. Nothing else of parpass imports onnx."""

try:
    import onnx as _  # noqa: F401 -- whether it is there
except ImportError as error:
    raise ImportError(
        "the ONNX frontend needs the onnx package; try: pip install parpass[onnx]"
    ) from error

from parpass.relay.frontend.onnx.importer import from_onnx

__all__ = ["from_onnx"]
