"""The conformance kit for module adapters, and TVM's `tvm.testing.assert_allclose`.

    def test_my_adapter():
        check_adapter(program, [DropNoOps(), Inline()])

The interface of adapters is described in `docs/writing-an-adapter.md`. The kit checks
the law, that a parallel run gives the result of the serial run, and what it requires of
an adapter: that passes cannot observe whether a function was encoded and decoded. Each
check raises an error for the first fault: adapter, method, what was expected, what was
found, what to do.
"""

from __future__ import annotations

import contextlib
import pickle
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from parpass.errors import AdapterError, LawError
from parpass.runner import Runner, open_runner
from parpass.runner.check.codec_check import (
    CODEC,
    codec_visible_error,
    round_trip_fault,
)
from parpass.runner.check.copies_check import (
    change_fault,
    member_fault,
    shared_part_fault,
)
from parpass.runner.check.methods_check import checked_result
from parpass.runner.follow.pickling import pickle_by_value
from parpass.transform import (
    BatchCodec,
    LargeValue,
    ModuleAdapter,
    Pass,
    PassContext,
    Sequential,
    Source,
    adapter_of,
    as_pass,
)
from parpass.transform.adapter import keep_inline
from parpass.transform.checked_adapter import (
    FUNCTION,
    adapter_name,
    for_run,
    take_violations,
)
from parpass.transform.config import ASKING_WORKERS_SECONDS
from parpass.transform.function_copies import (
    attaches_functions,
    own_module,
    round_trip_all,
)
from parpass.transform.passes import flat_passes
from parpass.transform.program_format import first_difference

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = [
    "assert_allclose",
    "check_adapter",
    "check_codec",
    "check_copies",
    "check_methods",
    "check_parallel",
    "check_passes",
]


def assert_allclose(
    actual: npt.ArrayLike,
    desired: npt.ArrayLike,
    rtol: float = 1e-7,
    atol: float = 1e-7,
) -> None:
    """Check that two arrays have one shape and agree up to `atol + rtol * desired`.

    Raises:
        AssertionError: They do not; the message shows where.
    """
    import numpy as np  # the kit is for IRs that need no numpy

    found, wanted = np.asanyarray(actual), np.asanyarray(desired)
    if found.shape != wanted.shape:
        raise AssertionError(f"expected shape {wanted.shape}, got {found.shape}")
    np.testing.assert_allclose(found, wanted, rtol=rtol, atol=atol)


_ADDRESS = re.compile(r"0x[0-9a-f]+")

_Result = tuple[Any, Exception | None]  # a module, and the error of its pass


def check_adapter(mod: Any, pipeline: Pass | Sequence[Pass] | str) -> None:
    """Run all checks: methods, codec, copies, passes, and a parallel run.

    Args:
        mod: A module, ideally with functions of every kind that the IR has.
        pipeline: Passes for it, ideally with module passes between function passes.

    Raises:
        AdapterError: A method returns an invalid value.
        LawError: The adapter breaks the law.
    """
    check_methods(mod)
    check_codec(mod)
    check_copies(mod, pipeline)
    check_passes(mod, pipeline)
    check_parallel(mod, pipeline)


def check_methods(mod: Any) -> None:
    """Check the results of each method on a module and on its functions.

    Raises:
        AdapterError: A method returns an invalid value.
    """
    adapter = for_run(adapter_of(mod, "check_methods"))
    for function in adapter.functions(mod).values():
        if adapter.mutability is not None:
            given = adapter.mutability.to_change(function)
            is_function = given is function or adapter.is_function(given)
            _expect(adapter, "mutability.to_change", FUNCTION, given, is_function)
    mod = own_module(adapter, mod)
    functions = adapter.functions(mod)
    for name, function in functions.items():
        _expect(adapter, "functions", "names of type str", name, type(name) is str)
        is_function = adapter.is_function(function)
        _expect(adapter, "is_function", "True for each function", False, is_function)
        kind = adapter.kind_of(function)
        if kind is not None:
            checked_result(adapter, "restoring_pass", kind)
        adapter.is_skipped(function)
        checked_result(adapter, "faults", function, mod)
        checked_result(adapter, "difference", function, function)
        small = adapter.size(function, 1)
        adapter.size(function, 1_000_000)
        expected = f"at most the limit of 1 for function '{name}'"
        _expect(adapter, "size", expected, small, small <= 1)
        adapter.signature(function)
        is_kept = adapter.keeps_signature(function, function)
        expected = f"True for function '{name}' and itself"
        _expect(adapter, "keeps_signature", expected, is_kept, is_kept)
    for violation in take_violations(adapter):
        raise violation
    programs = checked_result(adapter, "programs", mod)
    for method in ("astext", "module_size"):
        checked_result(adapter, method, mod, of=programs)
    checked_result(adapter, "reduction_patterns", of=programs)
    checked_result(adapter, "program_slice", mod, None)
    for name, build in _MODULES.items():
        _check_module(adapter, name, build, mod)
    shown = adapter.functions(adapter.replace_functions(mod, {}))
    expected = "the functions of the module if none is replaced"
    _expect(
        adapter, "replace_functions", expected, shown, _are_identical(functions, shown)
    )


_Build = Callable[[ModuleAdapter, Any, Mapping[str, Any]], Any]
_MODULES: dict[str, _Build] = {
    "with_functions": lambda adapter, mod, given: adapter.with_functions(mod, given),
    "read_only": lambda adapter, mod, given: adapter.read_only(mod, given, "kit"),
}


def _check_module(adapter: ModuleAdapter, method: str, build: _Build, mod: Any) -> None:
    before = dict(adapter.functions(mod))
    given = _Lazy(before)
    made = build(adapter, mod, given)
    expected = "a module that keeps the given mapping, and loads none of its functions"
    sets_members = method == "with_functions" and attaches_functions(adapter, mod)
    is_kept = sets_members or not given.loaded
    if not is_kept and attaches_functions(adapter, mod):
        expected += "; override it, because 'with_functions' reads the functions"
    _expect(adapter, method, expected, "a module that copies it", is_kept)
    shown = adapter.functions(made)
    expected = "a module with the given functions"
    _expect(adapter, method, expected, list(shown), _are_identical(before, shown))
    empty = adapter.functions(build(adapter, mod, {}))
    _expect(adapter, method, f"{expected}, none", list(empty), not empty)
    expected = "an unchanged argument"
    unchanged = _are_identical(before, adapter.functions(mod))
    _expect(adapter, method, expected, "a changed one", unchanged)


class _Lazy(Mapping[str, Any]):
    """A mapping as in workers, where access decodes a function; it records accesses."""

    def __init__(self, functions: Mapping[str, Any]) -> None:
        self._functions = functions
        self.loaded: list[str] = []

    def __getitem__(self, name: str) -> Any:
        self.loaded.append(name)
        return self._functions[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._functions)

    def __len__(self) -> int:
        return len(self._functions)


def _are_identical(functions: Mapping[str, Any], shown: Mapping[str, Any]) -> bool:
    return list(functions) == list(shown) and all(
        one is shown[name] for name, one in functions.items()
    )


def _expect(
    adapter: ModuleAdapter, method: str, expected: str, got: object, is_so: object
) -> None:
    if not is_so:
        raise AdapterError(adapter_name(adapter), method, expected, got)


def check_codec(mod: Any) -> None:
    """Check that the adapter, the module and its functions round-trip.

    Functions are encoded one by one, with large values in-band and out-of-band, and in
    batches if the adapter has a `BatchCodec`.

    Raises:
        AdapterError: A method returns an invalid value.
        LawError: A decoded value differs from the encoded one.
        Exception: Exceptions of the codec.
    """
    adapter = for_run(adapter_of(mod, "check_codec"))
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
        _expect(adapter, "signature", expected, "another", is_equal)
    if isinstance(adapter, BatchCodec):
        encode = adapter.open_encoder(keep_inline)
        chunks = {name: encode(function) for name, function in functions.items()}
        encoded = {name: chunk for name, chunk in chunks.items() if chunk is not None}
        decode = adapter.open_decoder(b"".join(encoded.values()), (), shell)
        for name in encoded:
            methods = "open_encoder, open_decoder"
            _check_unchanged(adapter, name, functions[name], decode(), methods)


def _round_trip_shell(
    adapter: ModuleAdapter, unpickled: ModuleAdapter, mod: Any
) -> Any:
    """Return the module without functions, decoded as in a worker."""
    shell = unpickled.decode_shell(adapter.encode_shell(mod))
    left = list(adapter.functions(shell))
    _expect(adapter, "decode_shell", "a module without functions", left, not left)
    whole = adapter.with_functions(shell, adapter.functions(mod))
    programs = adapter.programs(mod)
    texts = [_ADDRESS.sub("0x", programs.astext(one)) for one in (mod, whole)]
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


def check_copies(mod: Any, pipeline: Pass | Sequence[Pass] | str) -> None:
    """Check that functions can be copied, and that passes change no others in place.

    Each function must own everything in it that can be changed, and must reach no
    module but its own. If the adapter says that functions are values, passes must not
    change any.

    Raises:
        LawError: Functions share a part, refer to each other or to another module, or a
            pass changes a function that it must not.
    """
    adapter = for_run(adapter_of(mod, "check_copies"))
    for fault in (shared_part_fault(adapter, mod), member_fault(adapter, mod)):
        if fault is not None:
            raise fault
    if adapter.consumes_functions:
        return
    for one in _passes(as_pass(pipeline)):
        (body,) = (step for step in one.passes if step is not None)
        # A copy in any case: a pass may change what the adapter says is a value.
        fault = change_fault(adapter, body, round_trip_all(adapter, mod))
        if fault is not None:
            raise fault
        mod, error = _result(one, round_trip_all(adapter, mod))
        if error is not None:
            raise error


def check_passes(mod: Any, pipeline: Pass | Sequence[Pass] | str) -> None:
    """Check that passes cannot tell whether functions were round-tripped.

    Each pass runs in this process on the result of the passes before it, both directly
    and after a round trip through the codec. Include enough passes of the kinds that
    your users write, and one of them twice.

    Raises:
        LawError: The results of a pass differ.
        Exception: An exception that a pass raises on both.
    """
    adapter = for_run(adapter_of(mod, "check_passes"))
    direct, decoded = mod, mod
    for one in _passes(as_pass(pipeline)):
        decoded = round_trip_all(adapter, decoded)
        direct, error = _result(one, direct)
        decoded, other = _result(one, decoded)
        for function, found in _differences(adapter, (direct, error), (decoded, other)):
            fault = codec_visible_error(adapter, one.info.name, function, found)
            raise fault from (error or other)
        if error is not None:
            raise error


def _passes(root: Pass) -> Iterator[Sequential]:
    """Yield the passes of a pipeline, each in a `Sequential`.

    So optimization levels and required passes apply to each.
    """
    for one in flat_passes(root):
        if not isinstance(one, Sequential):
            yield Sequential([one], name=one.info.name)


def _result(one: Pass, mod: Any) -> _Result:
    """Run a pass; return its module and its error, one of which counts."""
    try:
        return one(mod), None
    except Exception as error:  # noqa: BLE001 -- it is compared, and raised
        return mod, error


def _text(error: Exception | None) -> str:
    if error is None:
        return "no error"
    return _ADDRESS.sub("0x", f"{type(error).__name__}: {error}")


def _differences(
    adapter: ModuleAdapter, one: _Result, other: _Result
) -> Iterator[tuple[str | None, str]]:
    """Yield the differences of two results, each with its function, if it has one."""
    texts = _text(one[1]), _text(other[1])
    if texts[0] != texts[1]:
        yield None, f"{texts[0]} and {texts[1]}"
    if one[1] is not None or other[1] is not None:
        return
    mine, others = adapter.functions(one[0]), adapter.functions(other[0])
    if list(mine) != list(others):
        yield None, f"functions {list(mine)} and {list(others)}"
        return
    for name in mine:
        found = adapter.difference(mine[name], others[name])
        if found is not None:
            yield name, found


def check_parallel(
    mod: Any, pipeline: Pass | Sequence[Pass] | str, runner: Runner | None = None
) -> None:
    """Check that a parallel run equals the serial run: functions, text, statistics.

    Args:
        mod: The module.
        pipeline: The passes.
        runner: The runner; by default a temporary one with two workers.

    Raises:
        LawError: The runs differ.
        Exception: An exception that a pass raises in both.
    """
    adapter, root = adapter_of(mod, "check_parallel"), as_pass(pipeline)
    with PassContext() as serial_context:
        serial = _result(root, mod)
    parallel_context = PassContext(config={ASKING_WORKERS_SECONDS: 0.0})
    try:
        with contextlib.ExitStack() as opened:
            runner = runner or opened.enter_context(open_runner(workers=2))
            parallel = runner.run_sync(mod, root, context=parallel_context), None
    except Exception as raised:  # noqa: BLE001 -- it is compared, and raised
        parallel = mod, raised
    differences = [*_differences(adapter, serial, parallel)]
    counts, other_counts = serial_context.statistics, parallel_context.statistics
    if counts != other_counts:
        differences.append((None, f"{counts} and {other_counts}"))
    for function, found in differences:
        on = "" if function is None else f" on function '{function}'"
        raise LawError(
            f"adapter '{adapter_name(adapter)}': expected equal results of the serial "
            f"and the parallel run{on}, got different ones: {found} (serial first); "
            "if 'check_passes' finds nothing, run the pipeline under the option "
            "parpass.check_contract, which checks the passes",
            adapter=adapter_name(adapter),
            method=CODEC,
            function=function,
            difference=found,
        )
    if serial[1] is not None:
        raise serial[1]
