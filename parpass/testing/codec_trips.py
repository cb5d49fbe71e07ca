"""The check of codecs: what is decoded is what was encoded."""

from __future__ import annotations

import pickle
import re
from collections.abc import Mapping
from typing import Any, cast

from parpass.errors import LawError
from parpass.runner.check.codec_check import CODEC, round_trip_fault
from parpass.runner.follow.pickling import pickle_by_value
from parpass.testing.methods_check import expect
from parpass.transform import (
    BatchCodec,
    LargeValue,
    ModuleAdapter,
    Source,
    adapter_of,
)
from parpass.transform.adapter import keep_inline
from parpass.transform.checked_adapter import adapter_name
from parpass.transform.function_copies import own_module, round_trip_all
from parpass.transform.program_format import first_difference

ADDRESS = re.compile(r"0x[0-9a-f]+")  # of an object, in a text


def check_codec(mod: Any) -> None:
    """Check that the adapter, the module and its functions round-trip.

    Functions are encoded one by one, with large values in-band and out-of-band, and in
    batches if the adapter has a `BatchCodec`.

    Raises:
        AdapterError: A method returns an invalid value.
        LawError: A decoded value differs from the encoded one.
        Exception: Exceptions of the codec.
    """
    adapter = adapter_of(mod, "check_codec")
    unpickled: ModuleAdapter = pickle.loads(pickle_by_value(adapter))
    shell = _round_trip_shell(adapter, unpickled, own_module(adapter, mod))
    functions = dict(adapter.functions(mod))
    if adapter.round_trip_between_passes:
        functions = dict(adapter.functions(round_trip_all(adapter, mod)))
    for name, function in functions.items():
        fault = round_trip_fault(adapter, name, function, shell)
        if fault is not None:
            raise fault
        decoded = _round_trip_out_of_band(unpickled, function, shell)
        _check_unchanged(adapter, name, function, decoded)
        decoded = _round_trip_out_of_band(unpickled, function, shell)
        is_equal = unpickled.signature(function) == unpickled.signature(decoded)
        expected = f"the same for function '{name}' after 'decode_function'"
        expect(adapter, "signature", expected, "another", is_equal)
    _check_batch(adapter, functions, shell)


def _check_batch(
    adapter: ModuleAdapter, functions: Mapping[str, Any], shell: Any
) -> None:
    """Check that the functions survive in one batch, as far as they share one."""
    codec = cast("BatchCodec", adapter)
    encode = codec.open_encoder(keep_inline)
    chunks = {name: encode(function) for name, function in functions.items()}
    encoded = {name: chunk for name, chunk in chunks.items() if chunk is not None}
    if encoded:
        decode = codec.open_decoder(b"".join(encoded.values()), (), shell)
        for name in encoded:
            methods = "open_encoder, open_decoder"
            _check_unchanged(adapter, name, functions[name], decode(), methods)


def _round_trip_shell(
    adapter: ModuleAdapter, unpickled: ModuleAdapter, mod: Any
) -> Any:
    """Return the module without functions, decoded as in a worker."""
    shell = unpickled.decode_shell(adapter.encode_shell(mod))
    left = list(adapter.functions(shell))
    expect(adapter, "decode_shell", "a module without functions", left, not left)
    whole = adapter.with_functions(shell, adapter.functions(mod))
    programs = adapter.programs(mod)
    texts = [ADDRESS.sub("0x", programs.astext(one)) for one in (mod, whole)]
    difference = first_difference(*texts)
    if difference is not None:
        name = adapter_name(adapter)
        raise LawError(
            f"adapter '{name}': expected 'decode_shell' to restore the module that was "
            f"passed to 'encode_shell', got another text: "
            f"{difference}; make them keep all that passes can see",
            adapter=name,
            method="encode_shell, decode_shell",
            difference=difference,
        )
    return shell


def _round_trip_out_of_band(adapter: ModuleAdapter, function: Any, shell: Any) -> Any:
    """Return a function decoded from its bytes, its large values out-of-band."""
    sources: list[Source] = []

    def blob_sink(value: LargeValue) -> int:
        sources.append(_Sent(value))
        return len(sources) - 1

    encoded = adapter.encode_function(function, blob_sink)
    return adapter.decode_function(memoryview(encoded), sources, shell)


class _Sent:
    """The source of a large value as another process has it."""

    original = None

    def __init__(self, value: LargeValue) -> None:
        self._content = bytes(value.raw())

    def fetch(self) -> memoryview:
        return memoryview(self._content)


def _check_unchanged(
    adapter: ModuleAdapter, name: str, function: Any, decoded: Any, methods: str = CODEC
) -> None:
    found = adapter.difference(function, decoded)
    if found is not None:
        raise LawError(
            f"adapter '{adapter_name(adapter)}': expected function '{name}' to "
            f"round-trip through {methods}, got a different one: {found}; make them "
            "keep all that passes can see",
            adapter=adapter_name(adapter),
            method=methods,
            function=name,
            difference=found,
        )
