"""Every error: it survives pickling with its values, and says what it should."""

import inspect
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

from parpass import errors
from parpass.errors import Hint, HintedMessage, ParpassError, core, render_hints
from parpass.errors.hints import Hinted

EXAMPLES: dict[str, dict[str, Any]] = {
    "AdapterError": {
        "adapter": "Stack",
        "method": "size",
        "expected": "an int",
        "got": "text",
    },
    "UnknownPassError": {
        "name": "Fold",
        "known": ["FoldConstant"],
        "wanted_by": "Fuse",
    },
    "UnknownAttrError": {"name": "stride", "known": ["strides"]},
    "UnknownFunctionError": {"name": "myad", "known": ["myadd"]},
    "UnknownGlobalError": {"name": "man", "known": ["main"]},
    "UnknownOpError": {"name": "ad", "known": ["add"]},
    "UnsupportedOpsError": {"counts": {"Loop": 2, "If": 1}, "source": "m.onnx"},
    "WorkerDiedError": {"pass_name": "Fold", "function": "main", "cause": "SIGSEGV"},
    "FunctionTimeoutError": {
        "pass_name": "P",
        "function": "f",
        "limit": 1.5,
        "reason": "it took longer",
    },
    "MemoryLimitError": {
        "pass_name": "P",
        "function": "f",
        "limit": 4096,
        "reason": "it took more",
    },
}

ALSO = {
    "AdapterError": TypeError,
    "ArgumentError": TypeError,
    "ConfigError": AttributeError,
    "ConfigValueError": TypeError,
    "DamagedLibraryError": ValueError,
    "FunctionTimeoutError": TimeoutError,
    "IRTypeError": TypeError,
    "InstrumentError": TypeError,
    "InternalError": RuntimeError,
    "KernelError": RuntimeError,
    "LawError": AssertionError,
    "MalformedJSONError": ValueError,
    "MalformedModelError": ValueError,
    "MemoryLimitError": MemoryError,
    "ModuleTypeError": TypeError,
    "ParseError": ValueError,
    "PassContextError": RuntimeError,
    "PassInputError": TypeError,
    "PassResultError": TypeError,
    "PipelineSyntaxError": ValueError,
    "ReproducerError": ValueError,
    "EntryPointError": LookupError,
    "RuntimeUseError": RuntimeError,
    "SizeLimitError": ValueError,
    "TargetError": ValueError,
    "StructuralMismatchError": ValueError,
    "UndefinedPassError": ValueError,
    "UnknownAttrError": KeyError,
    "UnknownFunctionError": ValueError,
    "UnknownGlobalError": ValueError,
    "UnknownOpError": AttributeError,
    "UnknownPassError": KeyError,
    "UnsupportedOpsError": NotImplementedError,
    "UnprintablePassError": ValueError,
    "ScopeBuilderError": RuntimeError,
    "UntypedError": ValueError,
    "WellFormedError": AssertionError,
    "WorkerDiedError": RuntimeError,
    "WorkerError": RuntimeError,
}


def tree(kind: type[ParpassError] = ParpassError) -> Iterator[type[ParpassError]]:
    """Yield all error classes that errors.py defines."""
    if kind.__module__ == errors.__name__:
        yield kind
    for child in kind.__subclasses__():
        yield from tree(child)


def example(kind: type[ParpassError]) -> ParpassError:
    """Return an error with a value for each argument that it needs."""
    if kind.__name__ in EXAMPLES:
        return kind(**EXAMPLES[kind.__name__])
    keywords: dict[str, Any] = {}
    if inspect.isfunction(kind.__init__):
        for name, parameter in inspect.signature(kind).parameters.items():
            if parameter.kind is parameter.KEYWORD_ONLY:
                keywords[name] = f"the {name}"
    return kind("something is wrong", **keywords)


every_error = pytest.mark.parametrize(
    "kind", list(dict.fromkeys(tree())), ids=lambda kind: kind.__name__
)


@every_error
def test_survives_pickling_with_message_values_and_notes(kind: type[ParpassError]):
    error = example(kind)
    error.add_note("in pass 'P'")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is kind
    assert str(copy) == str(error)
    assert copy.args == error.args
    assert vars(copy) == vars(error)


@every_error
def test_is_what_the_tree_in_the_docstring_says(kind: type[ParpassError]):
    line = next(
        line
        for line in (errors.__doc__ or "").splitlines()
        if line.split("──")[-1].split()[:1] == [kind.__name__]
    )
    also = ALSO.get(kind.__name__)
    assert f"(also {also.__name__})" in line if also else "(also" not in line
    assert issubclass(kind, also or Exception)


def test_every_error_and_warning_is_documented():
    documented = errors.__doc__ or ""
    for name, value in vars(errors).items():
        if inspect.isclass(value) and issubclass(value, BaseException):
            assert name in documented
            assert issubclass(value, ParpassError | Warning)
            assert issubclass(value, Hinted)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "UnknownPassError",
            "no pass named 'Fold' (required by 'Fuse'); did you mean 'FoldConstant'?",
        ),
        (
            "UnknownGlobalError",
            "the module has no function named 'man'; did you mean 'main'?",
        ),
        ("UnknownAttrError", "no attribute named 'stride'; did you mean 'strides'?"),
        (
            "UnknownFunctionError",
            "no global function named 'myad'; did you mean 'myadd'?",
        ),
        ("UnknownOpError", "no operator named 'ad'; did you mean 'add'?"),
        (
            "UnsupportedOpsError",
            "m.onnx: unsupported operators: If (1 x), Loop (2 x)",
        ),
        (
            "WorkerDiedError",
            (
                "a worker process died (SIGSEGV) while pass 'Fold' ran on function "
                "'main', and again when it ran that function alone; to reproduce it "
                "in a separate process, write a reproducer (option "
                "parpass.reproducer) and run 'parpass replay' on it"
            ),
        ),
        (
            "WorkerError",
            "something is wrong (the exception itself could not be pickled)",
        ),
    ],
)
def test_messages(name: str, message: str):
    assert str(example(getattr(errors, name))) == message


def test_a_module_without_a_near_name_lists_what_it_has():
    assert str(errors.UnknownGlobalError("x", ["main", "relu"])) == (
        "the module has no function named 'x'; it has 'main', 'relu'"
    )
    assert str(errors.UnknownGlobalError("x", [])).endswith("; it has none")


def test_near_names_are_found_whatever_their_case():
    known = ["FoldConstant", "FuseOps", "Inline"]
    assert core.nearest("foldconstants", known) == ["FoldConstant"]
    assert core.nearest("xyzzy", known) == []
    assert core.did_you_mean("xyzzy", known) == ""


def test_far_names_are_not_named_behind_the_near_one():
    assert core.nearest("ad", ["nn.pad", "add"]) == ["add"]
    assert core.nearest("Pointr", ["int8", "uint8", "Pointer"]) == ["Pointer"]


def test_names_that_are_as_near_are_all_named():
    known = ["int32", "int16", "float32"]
    assert {*core.nearest("int36", known)} == {"int32", "int16"}


def test_an_error_without_arguments_has_an_empty_text():
    assert str(ParpassError()) == ""


def test_a_hint_is_a_key_and_each_front_end_has_its_phrase():
    error = example(errors.FunctionTimeoutError)
    copy = pickle.loads(pickle.dumps(error))
    assert copy.hints == error.hints == (Hint.SKIP_FUNCTION,)
    told = str(error)
    assert told.endswith(f"raise the limit, or {Hint.SKIP_FUNCTION.value}")
    for one in (error, copy):
        assert render_hints(one, {}) == told
        phrased = render_hints(one, {Hint.SKIP_FUNCTION: "tick 'skip {}'"})
        assert phrased == told.replace(Hint.SKIP_FUNCTION.value, "tick 'skip {}'")


def test_a_hint_may_have_subjects_and_a_message_several_hints():
    both = Hint.OPEN_SHAPES, "dim={'{y}': 1}", "--dim {y}=1"
    message = HintedMessage("{x}: ", both, "; ", Hint.OPSET)
    assert message.startswith("{x}: pass from_onnx lengths by dim=, or ")
    assert message.endswith(" instead of 1: dim={'{y}': 1}; set opset=")
    longer = HintedMessage("m.onnx: ", message)
    error = errors.FrontendError(longer, source="")
    assert error.hints == (Hint.OPEN_SHAPES, Hint.OPSET)
    assert str(error) == f"m.onnx: {message}"
    phrases = {Hint.OPEN_SHAPES: "say {1}", Hint.OPSET: "its {}"}
    assert render_hints(error, phrases) == "m.onnx: {x}: say --dim {y}=1; its {}"


@pytest.mark.parametrize("message", ["it is wrong", ValueError("it is wrong")])
def test_what_has_no_hints_is_its_text(message: object):
    assert render_hints(message, {}) == "it is wrong"
    assert ParpassError("it is wrong").hints == ParpassError().hints == ()
