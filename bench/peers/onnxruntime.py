"""ONNX Runtime, the library that most run ONNX's networks by, on one thread."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

NAME = "onnxruntime"


def prepared(
    model: bytes, given: Mapping[str, Any]
) -> tuple[Callable[[], Any], Any] | str:
    """Return what runs a network, and its first output; or why there is none.

    Args:
        model: The network, as the bytes of a file.
        given: Its inputs by name.
    """
    try:
        library: Any = importlib.import_module("onnxruntime")
    except ModuleNotFoundError:
        return "not installed"
    options = library.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3  # errors: weights that are nobody's are no news
    try:
        providers = ["CPUExecutionProvider"]
        session = library.InferenceSession(model, options, providers=providers)
        names = [session.get_outputs()[0].name]
        (output,) = session.run(names, dict(given))
    except Exception as error:  # noqa: BLE001 -- the other networks are still wanted
        return f"does not run here: {error}"
    # A binding keeps the arrays, as parpass's executor does.
    binding = session.io_binding()
    for name, value in given.items():
        binding.bind_cpu_input(name, value)
    binding.bind_output(names[0])
    return lambda: session.run_with_iobinding(binding), output
