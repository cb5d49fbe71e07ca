"""What InferType finds of a function depends on those that it calls, in any run."""

from __future__ import annotations

from typing import Any

import pytest

from parpass import IRModule, relay
from parpass.errors import DiagnosticError
from parpass.relay.expr import Call, Function
from parpass.relay.transform.infer_type import InferType
from parpass.relay.type_inference.infer import infer_type
from parpass.runner import FunctionCache, open_runner
from parpass.transform import FunctionPass, PassContext, PassInfo, Sequential
from tests.support.runner.pooled import HERE, POOLED
from tests.support.runner.probing import probing_together

_HEAD = '#[version = "0.0.5"]\n'
_TENSOR = "Tensor[(2, 3), float32]"
_CALLERS = "".join(
    f'def @{name}(%x: {_TENSOR}) -> {_TENSOR} {{\n  cast(@a(%x), dtype="float32")\n}}\n'
    for name in "bc"
)


def called(dtype: str) -> str:
    """Return the text of a function whose result is not annotated."""
    return f'{_HEAD}def @a(%x: {_TENSOR}) {{ cast(%x, dtype="{dtype}") }}\n'


def types_in(mod: IRModule) -> list[str]:
    """Return the types that callers know of the function that they call."""
    bodies: list[Any] = [mod[name] for name in "bc"]
    return [str(one.body.args[0].checked_type) for one in bodies]


@pytest.mark.parametrize("config", [HERE, POOLED])
def test_a_caller_is_inferred_again_where_a_callee_has_changed(config: dict[str, Any]):
    context = PassContext(config=config)
    with open_runner(workers=2, cache=FunctionCache()) as runner:
        for dtype in ("float32", "int16"):
            mod = relay.fromtext(called(dtype) + _CALLERS)
            made = runner.run_sync(mod, InferType(), context=context)
            assert types_in(made) == types_in(InferType()(mod)), dtype


@pytest.mark.parametrize("config", [HERE, POOLED])
def test_errors_of_callers_are_found_where_a_callee_has_changed(config: dict[str, Any]):
    caller = f"def @b(%x: {_TENSOR}) -> {_TENSOR} {{ @a(%x) }}\n"
    context = PassContext(config=config)
    with open_runner(workers=2, cache=FunctionCache()) as runner:
        fitting = relay.fromtext(called("float32") + caller)
        runner.run_sync(fitting, InferType(), context=context)
        with pytest.raises(DiagnosticError):
            runner.run_sync(
                relay.fromtext(called("int16") + caller), InferType(), context=context
            )


class Retype(FunctionPass):
    """Casts what one function returns; its result states that."""

    pass_info = PassInfo(0, "Retype")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        if ctx.function_name != "z":
            return func
        return Function(func.params, relay.cast(func.body, "int16"))


class CastLike(FunctionPass):
    """Casts a function to what another one returns; says nothing of its result."""

    pass_info = PassInfo(0, "CastLike")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        if ctx.function_name != "a":
            return func
        other: Any = infer_type(Call(mod.get_global_var("z"), (func.params[0],)), mod)
        body = relay.cast(func.params[0], other.checked_type.dtype)
        return Function(func.params, body)


@pytest.mark.parametrize("config", [HERE, POOLED])
def test_callers_depend_on_what_the_inferred_type_of_a_callee_relied_on(
    config: dict[str, Any],
):
    identity = f"(%x: {_TENSOR}) -> {_TENSOR} {{ %x }}\n"
    others = "".join(
        f"def @{name}{identity}" for name in ("z", *map("n{}".format, range(40)))
    )
    mod = relay.fromtext(f"{_HEAD}def @a(%x: {_TENSOR}) {{ %x }}\n{_CALLERS}{others}")
    passes = Sequential([Retype(), CastLike()])
    serial = passes(mod)
    assert "int16" in types_in(serial)[0]
    with open_runner(workers=1) as runner, probing_together():
        made = runner.run_sync(mod, passes, context=PassContext(config=config))
    assert types_in(made) == types_in(serial)


class InferTwice(FunctionPass):
    """Infers a function that it made, then the one that it was given."""

    pass_info = PassInfo(0, "InferTwice")

    def transform_function(
        self, func: Function, mod: IRModule, ctx: PassContext
    ) -> Function:
        infer = InferType().transform_function
        infer(Function(func.params, relay.cast(func.params[0], "int16")), mod, ctx)
        return infer(func, mod, ctx)


def test_what_a_pass_infers_of_its_own_tells_nothing_of_the_function_of_the_module():
    mod = relay.fromtext(f"{_HEAD}def @a(%x: {_TENSOR}) {{ %x }}")
    made: Any = InferTwice()(mod)["a"]
    assert made.ret_type.dtype == "float32"
