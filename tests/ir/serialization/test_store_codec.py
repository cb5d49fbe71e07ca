"""Functions in a store on disk: what they were, in bytes that each process gives."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, ClassVar

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parpass import relay, save_json
from parpass.diagnostic import Span
from parpass.ir import wire
from parpass.ir.attrs import Attrs
from parpass.ir.base_func import BaseFunc
from parpass.ir.inference_cache import cached_inference
from parpass.ir.module import IRModule
from parpass.ir.module_adapter import IRModuleAdapter
from parpass.ir.op.op_table import Op, register_op
from parpass.ir.serialization.store_codec import IRStoreCodec
from parpass.ir.types import IncompleteType, TensorType, TupleType, Type
from parpass.relay.expr import Call, Function, Tuple, Var, const
from parpass.relay.op.declaration.type_relations import identity
from parpass.relay.transform import InferType
from parpass.runtime.ndarray import NDArray
from parpass.tir import Range
from parpass.transform import LargeValue
from parpass.transform.adapter import keep_inline
from tests.support.drawn import DECORATED, LOOP_MODULES, PROGRAMS
from tests.support.flipping import damages
from tests.support.profiles import examples
from tests.support.relay.adts import head_or, list_of, with_lists
from tests.support.relay.deep import DEPTH, KINDS, function_of

EMPTY = IRModule()
TEXT = """#[version = "0.0.5"]
def @f(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  let %y = clip(%x, a_min=-1f, a_max=1e30f);
  if (less(sum(%y), 2f)) { add(%y, @g(%y)) } else { %y }
}
def @g(%x: Tensor[(2, 3), float32]) -> Tensor[(2, 3), float32] {
  split(concatenate((%x, %x), axis=1), indices_or_sections=2, axis=1).0
}
"""


def encoded(function: BaseFunc, mod: IRModule = EMPTY) -> bytes:
    found = IRStoreCodec(mod).encode(function, keep_inline)
    assert found is not None
    return found


def decoded(data: bytes, mod: IRModule = EMPTY) -> Any:
    return IRStoreCodec(mod).decode(data)


def content(function: BaseFunc) -> str:
    """Return all of a function that passes can see, by another codec."""
    known = cached_inference(function)
    if known is None:
        return save_json(function)
    used = dict(sorted(known.used_globals.items()))
    facts = [*used], known.nodes, sorted(known.used_types.items())
    return save_json((function, *used.values())) + repr(facts)


@pytest.mark.slow
@given(PROGRAMS.map(InferType()) | PROGRAMS | LOOP_MODULES | DECORATED)
@examples(2)
def test_functions_return_and_are_the_same_bytes_again(mod: IRModule):
    codec = IRStoreCodec(mod)
    for function in mod.functions_by_name.values():
        data = codec.encode(function, keep_inline)
        assert data == encoded(function, mod)
        assert data is not None
        again = codec.decode(data)
        assert content(again) == content(function)
        # Each codec shares other parts of it that are equal.
        sent = IRModuleAdapter().decode_function(wire.encode(again), (), mod)
        for other in (again, sent):
            assert codec.encode(other, keep_inline) == encoded(other, mod) == data


@given(mods=st.tuples(PROGRAMS, PROGRAMS | LOOP_MODULES))
@examples(1)
def test_functions_are_equal_bytes_exactly_if_they_are_equal(
    mods: tuple[IRModule, IRModule],
):
    all_of = [one for mod in mods for one in mod.functions_by_name.values()]
    by_bytes = {encoded(one): content(one) for one in all_of}
    assert len(by_bytes) == len({*by_bytes.values()}) == len({*map(content, all_of)})


class OddAttrs(Attrs, frozen=True):
    """Attributes that may be anything."""

    namespace: ClassVar[str] = "test.odd"

    value: Any


def odd_op() -> Op:
    found = Op.find("test.odd_attributes")
    return found or register_op(Op("test.odd_attributes", 1, identity, same, OddAttrs))


def same(_attrs: object, value: object) -> object:
    return value


def of_types(*types: Type) -> Function:
    params = [Var("x", typ) for typ in types]
    return Function(params, Tuple(params))


def pair() -> TensorType:
    return TensorType((2, relay.Any()))


def test_what_is_shared_within_types_and_attributes_does_not_count():
    one = pair()
    assert encoded(of_types(one, one)) == encoded(of_types(pair(), pair()))
    shared, apart = TupleType((one, one)), TupleType((pair(), pair()))
    assert encoded(of_types(shared, shared)) == encoded(of_types(apart, apart))


def test_unknown_types_are_told_apart_by_identity():
    one = IncompleteType()
    same, others = of_types(one, one), of_types(IncompleteType(), IncompleteType())
    assert encoded(same) != encoded(others)
    again = decoded(encoded(same))
    assert again.params[0].type_annotation is again.params[1].type_annotation


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ((1, 2), (1, 2.0)),
        ((1,), [1]),
        ("1", b"1"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
        ({"a": 1}, {"a": True}),
        ((), None),
    ],
)
def test_values_that_only_seem_equal_are_other_bytes(one: Any, other: Any):
    x, op = Var("x"), odd_op()
    calls = [Function((x,), Call(op, (x,), OddAttrs(value=it))) for it in (one, other)]
    codec = IRStoreCodec(EMPTY)
    first, second = (codec.encode(call, keep_inline) for call in calls)
    assert first != second
    for value, call in zip((one, other), calls, strict=True):
        assert repr(decoded(encoded(call)).body.attrs.value) == repr(value)


@pytest.mark.parametrize("numbers", [(1, -2, 3, 4), (0, 0, 0, 0), (1, 1, 2**63, 4)])
def test_any_place_returns(numbers: tuple[int, int, int, int]):
    span = Span("f", *numbers)
    assert decoded(encoded(Function((), Var("x", None, span)))).body.span == span


def test_a_range_of_ints_returns():
    # Its class is called with other numbers than its fields.
    of = OddAttrs(value=Range(min=2, extent=5))
    again = decoded(encoded(Function((), Call(odd_op(), (), of)))).body.attrs.value
    assert (again.min.value, again.extent.value) == (2, 5)


def test_attributes_of_no_operator_stay_in_memory():
    class Unknown(Attrs, frozen=True):
        pass

    x = Var("x")
    function = Function((x,), Call(Op.get("abs"), (x,), Unknown()))
    assert IRStoreCodec(EMPTY).encode(function, keep_inline) is None


def test_fields_of_another_order_are_another_kind():
    op = register_op(Op("test.reordered", 1, identity, same))

    def codec_of(*fields: str) -> IRStoreCodec:
        made = msgspec.defstruct(
            "ReorderedAttrs",
            [(name, int) for name in fields],
            bases=(Attrs,),
            frozen=True,
            kw_only=True,
        )
        op.declare(attrs_type=made)
        return IRStoreCodec(EMPTY)

    before: Any = codec_of("a", "b")
    made: Any = op.attrs_type
    call = Call(op, (), made(a=1, b=2))
    data = before.encode(Function((), call), keep_inline)
    assert before.decode(data).body.attrs == call.attrs
    with pytest.raises(ValueError, match="a kind that is known"):
        codec_of("b", "a").decode(data)


def test_references_are_to_the_variables_and_constructors_of_the_module():
    head = Function((), head_or(list_of(const(1.0)), const(2.0)))
    mods = [with_lists(main=head) for _ in range(2)]
    for mod in mods:
        mod["f"] = Function((), mod.get_global_var("main")())
    data = {name: encoded(mods[0][name], mods[0]) for name in ("main", "f")}
    main, f = (decoded(data[name], mods[1]) for name in ("main", "f"))
    assert f.body.op is mods[1].get_global_var("main")
    cons = mods[1].types.constructors["List", "Cons"]
    assert main.body.data.op is main.body.clauses[0].lhs.constructor is cons


@pytest.mark.parametrize("kind", KINDS)
def test_deep_functions_return(kind: Any):
    function = function_of(kind(DEPTH))
    data = encoded(function)
    assert encoded(decoded(data)) == data


def test_large_values_can_be_outside_and_are_read_inside():
    values = np.arange(6, dtype="float32").reshape(2, 3)
    arrays = [NDArray(values), NDArray(values.copy()), NDArray(values + 1)]
    function = Function((), Tuple([const(one) for one in arrays]))
    taken: list[bytes] = []

    def take(value: LargeValue) -> int:
        raw = bytes(value.raw())
        taken.extend([raw] * (raw not in taken))
        return taken.index(raw)

    outside = IRStoreCodec(EMPTY).encode(function, take)
    assert outside is not None
    assert len(taken) == 2
    with pytest.raises(ValueError, match="expected a record"):
        decoded(outside)
    again = decoded(encoded(function))
    assert [one.data for one in again.body] == arrays
    assert again.body[0].data is again.body[1].data
    assert not again.body[0].data.numpy().flags.writeable


def test_what_is_too_large_for_a_store_stays_in_memory():
    large = const(np.arange(1 << 22, dtype="float32"))
    codec = IRStoreCodec(EMPTY)
    assert codec.encode(Function((), large), keep_inline) is None
    assert codec.encode(Function((), large), lambda _: 0) is not None


def test_objects_that_contain_themselves_stay_in_memory():
    x = Var("x")
    call = Call(Op.get("abs"), (x,))
    msgspec.structs.force_setattr(call, "args", (call,))
    assert IRStoreCodec(EMPTY).encode(Function((x,), call), keep_inline) is None


SCRIPT = """
from tests.ir.serialization.test_store_codec import digests
print(*digests())
"""


def digests() -> Iterator[str]:
    """Yield a digest of each function of a module that was read from text."""
    mod = relay.transform.InferType()(relay.parse(TEXT))
    for function in mod.functions_by_name.values():
        yield hashlib.sha1(encoded(function, mod)).hexdigest()


def test_each_process_gives_the_same_bytes():
    found = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in (1, 2)
    }
    assert found == {" ".join(digests()) + "\n"}


DATA = encoded(relay.transform.InferType()(relay.parse(TEXT))["f"])


@given(st.data())
@examples(10)
def test_damaged_bytes_give_a_function_or_an_error(data: st.DataObject):
    damaged = data.draw(damages(DATA))
    try:
        found = decoded(damaged)
    except RecursionError:
        raise
    except Exception:  # noqa: BLE001 -- any that a cache takes for a miss
        return
    assert isinstance(found, BaseFunc)
    assert content(found)
    assert encoded(found) == encoded(decoded(encoded(found)))
