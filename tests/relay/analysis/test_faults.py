from msgspec import structs

from parpass import IRModule, relay
from parpass.relay.analysis import function_faults
from parpass.relay.transform import InferType

X = relay.var("x", shape=(3,))


def faults(func: relay.Function, **others: relay.Function) -> list[str]:
    # As passes make modules, without the checks for users.
    mod = IRModule.assemble(IRModule(), {"main": func, **others})
    return function_faults(func, mod)


def test_a_sound_function_has_none_typed_or_not():
    y = relay.var("y")
    func = relay.Function((X,), relay.Let(y, relay.nn.relu(X), relay.add(y, X)))
    assert faults(func) == []
    assert faults(InferType()(IRModule({"main": func}))["main"]) == []


def test_free_variables_and_uses_out_of_scope_are_faults():
    y = relay.var("y", shape=(3,))
    assert faults(relay.Function((X,), relay.add(X, y))) == [
        "variable '%y' is used where nothing binds it"
    ]
    let = relay.Let(y, X, y)
    assert faults(relay.Function((X,), relay.Tuple((let, y)))) == [
        "variable '%y' is used where nothing binds it"
    ]


def test_a_variable_that_is_bound_twice_is_a_fault():
    y = relay.var("y", shape=(3,))
    both = relay.Tuple((relay.Let(y, X, y), relay.Let(y, X, y)))
    assert faults(relay.Function((X,), both)) == ["variable '%y' is bound 2 times"]


def test_a_global_that_the_module_does_not_have_is_a_fault():
    call = relay.Call(relay.GlobalVar("hepler"), (X,))
    helper = relay.Function((X,), X)
    assert faults(relay.Function((X,), call), helper=helper) == [
        "the module has no function '@hepler'; did you mean 'helper'?"
    ]


def test_a_typed_function_with_untyped_expressions_is_a_fault():
    func = relay.Function((X,), relay.nn.relu(relay.nn.relu(X)))
    typed = InferType()(IRModule({"main": func}))["main"]
    body = relay.nn.relu(relay.nn.relu(typed.params[0]))
    mixed = structs.replace(typed, body=body)
    assert faults(mixed) == ["the function is typed, but 2 x Call in it is not"]
