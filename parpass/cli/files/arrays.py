"""Values of parameters and of functions: given, random, read, printed and written."""

from __future__ import annotations

import contextlib
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import click
import numpy as np

from parpass.cli.files.writing import check_folder, write_bytes
from parpass.cli.output.failure import InputError, unreadable
from parpass.errors import ArgumentError, EvaluationError
from parpass.errors.core import did_you_mean
from parpass.ir.types import TensorType, TupleType, Type
from parpass.ir.types.type_structure import check_size
from parpass.relay.analysis.matchers import static_tensor
from parpass.runtime.array_like import as_number_array
from parpass.runtime.dtypes import is_int_dtype, numpy_dtype


class Parameter(Protocol):
    """The known properties of a parameter."""

    @property
    def name_hint(self) -> str: ...

    @property
    def type_annotation(self) -> Type | None: ...


def random_value(random: np.random.Generator, kind: Type | None, owner: str) -> Any:
    """Return a random value of a type: small integers, or normally distributed floats.

    Raises:
        EvaluationError: The type leaves a shape open, or is none of values; `owner`
            says whose it is.
    """
    match kind:
        case TensorType(shape=shape, dtype=dtype) if all(
            isinstance(extent, int) for extent in shape
        ):
            sizes = cast("Sequence[int]", shape)
            if dtype == "bool" or is_int_dtype(dtype):
                most = 2 if dtype == "bool" else 5
                return random.integers(0, most, sizes).astype(numpy_dtype(dtype))
            return random.standard_normal(sizes).astype(numpy_dtype(dtype))
        case TupleType(fields=fields):
            check_size(kind)
            return tuple(random_value(random, field, owner) for field in fields)
        case _:
            raise EvaluationError(
                f"expected tensors of known shapes for {owner}, got {kind}"
            )


def read_values(given: Sequence[str], files: Sequence[Path]) -> dict[str, Any]:
    """Return the untyped values of `--input` and `--inputs`, by name."""
    found: dict[str, Any] = {}
    for path in files:
        if path.suffix != ".npz":
            raise InputError(f"'{path}': expected an .npz file with arrays by name")
        found |= _load(path)
    return found | dict(named_value(setting) for setting in given)


def named_value(setting: str, option: click.Parameter | None = None) -> tuple[str, Any]:
    """Return the name and the value of `NAME=VALUE`, of `--input` by default."""
    hint = None if option else "'--input'"
    name, equals, text = setting.partition("=")
    if not equals:
        message = f"expected NAME=VALUE, got '{setting}'"
        raise click.BadParameter(message, param=option, param_hint=hint)
    if text.endswith(".npy"):
        return name, _load(Path(text))
    try:
        return name, json.loads(text)
    except (ValueError, RecursionError) as error:
        message = f"expected a .npy file, or numbers as JSON, for '{name}': {error}"
        raise click.BadParameter(message, param=option, param_hint=hint) from None


def shapes_of(values: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of untyped values, of those that have one."""
    found: dict[str, tuple[int, ...]] = {}
    for name, value in values.items():
        with contextlib.suppress(ValueError):  # rows of several lengths
            found[name] = np.shape(value)
    return found


def typed_values(
    params: Sequence[Parameter], values: Mapping[str, Any]
) -> dict[str, Any]:
    """Return untyped values as arrays of their parameters' types."""
    kinds = {one.name_hint: one.type_annotation for one in params}
    found: dict[str, Any] = {}
    for name, value in values.items():
        if name not in kinds:
            raise click.BadParameter(
                f"no parameter '{name}'{did_you_mean(name, kinds)}; there are "
                f"{', '.join(kinds) or 'none'}",
                param_hint="'--input'",
            )
        found[name] = value
        if not isinstance(value, np.ndarray):
            found[name] = _typed(value, kinds[name], name)
    return found


def _typed(value: Any, kind: Type | None, name: str) -> Any:
    dtype = numpy_dtype(kind.dtype) if isinstance(kind, TensorType) else None
    try:
        return as_number_array(value, f"'{name}'", dtype)
    except ArgumentError as error:
        raise click.BadParameter(str(error), param_hint="'--input'") from None


def _load(path: Path) -> Any:
    try:
        loaded: Any = np.load(path, allow_pickle=False)
        return {**loaded} if path.suffix == ".npz" else loaded
    except (OSError, ValueError, EOFError) as error:
        raise unreadable(path, error) from None


def completed(
    params: Sequence[Parameter],
    values: Mapping[str, Any],
    shapes: Mapping[str, Sequence[Any]],
    seed: int,
) -> list[Any]:
    """Return the values of all parameters, random ones for those without a value.

    `shapes` are for parameters whose types leave them open.

    Raises:
        InputError: The types of tensors that are not given leave shapes open.
        EvaluationError: A type says too little.
    """
    _check_shapes(params, values, shapes)
    random = np.random.default_rng(seed)
    made: list[Any] = []
    for param in params:
        name, kind = param.name_hint, param.type_annotation
        if name in shapes and isinstance(kind, TensorType):
            kind = TensorType(tuple(shapes[name]), kind.dtype)
        # The others are the same whether this one is given or not.
        own = np.random.default_rng(random.integers(1 << 62))
        if name in values:
            made.append(values[name])
        else:
            made.append(random_value(own, kind, f"parameter '{name}'"))
    return made


def _check_shapes(
    params: Sequence[Parameter],
    values: Mapping[str, Any],
    shapes: Mapping[str, Sequence[Any]],
) -> None:
    missing = [
        one
        for one in params
        if isinstance(one.type_annotation, TensorType)
        and one.name_hint not in {*values, *shapes}
        and static_tensor(one.type_annotation) is None
    ]
    if missing:
        listed = ", ".join(f"'{m.name_hint}' of {m.type_annotation}" for m in missing)
        raise InputError(
            f"expected known shapes for random values, got open ones: {listed}; set "
            "values by --input, or shapes by --shape, such as --shape "
            f"{_example(missing[0])}"
        )


def _example(param: Parameter) -> str:
    dims = cast("TensorType", param.type_annotation).shape
    sizes = ",".join(str(dim) if isinstance(dim, int) else "1" for dim in dims)
    return f"{param.name_hint}:{sizes}"


def flat(value: Any) -> list[Any]:
    """Return the arrays of a value, in order.

    Raises:
        EvaluationError: There is a function among them.
    """
    if isinstance(value, tuple):
        fields = cast("tuple[Any, ...]", value)
        return [array for field in fields for array in flat(field)]
    if not isinstance(value, np.ndarray):
        raise EvaluationError(f"expected arrays to come out, got {value!r}")
    return [cast("Any", value)]


def as_text(outputs: Sequence[Any]) -> str:
    """Return arrays as text, each after its number, dtype and shape."""
    return "\n".join(
        f"output_{at}: {array.dtype} {array.shape}\n{array}"
        for at, array in enumerate(outputs)
    )


def check_output(path: str) -> None:
    """Refuse a path to which no arrays can be written."""
    check_folder(path, "-o")
    if Path(path).suffix not in (".npy", ".npz"):
        raise click.BadParameter(
            f"expected a name that ends in .npy or .npz, got '{path}'",
            param_hint="'-o'",
        )


def write(outputs: Sequence[Any], path: str) -> None:
    """Write arrays to an .npy or .npz file that `check_output` accepted."""
    file, suffix = io.BytesIO(), Path(path).suffix
    if suffix == ".npz":
        np.savez(file, **{f"output_{at}": one for at, one in enumerate(outputs)})
    elif len(outputs) == 1:
        np.save(file, outputs[0], allow_pickle=False)
    else:
        raise click.BadParameter(
            f"expected a name that ends in .npz for {len(outputs)} arrays, got "
            f"'{path}'",
            param_hint="'-o'",
        )
    write_bytes(file.getvalue(), path)
