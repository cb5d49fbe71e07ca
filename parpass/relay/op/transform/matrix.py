"""Operators on the diagonals and triangles of matrices, and sums over products."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from parpass.errors import IRTypeError
from parpass.ir.attrs import Attrs
from parpass.ir.op.op_table import Array, TypeRelationError
from parpass.ir.types import Any as UnknownDim
from parpass.ir.types import Dim, TensorType, Type
from parpass.relay.expr import Call, Expr, Operand
from parpass.relay.op.declaration.attributes import Ints, int_tuple, require_choice
from parpass.relay.op.declaration.build import ELEMWISE, INJECTIVE, operator
from parpass.relay.op.declaration.type_relations import (
    agree,
    broadcast_shape,
    require_integer,
    require_rank,
    require_same_dtype,
    require_shape,
    tensor_fields,
    tensors,
    unify,
)
from parpass.relay.op.transform.join import TensorTuple, as_tuple

__all__ = ["einsum", "matrix_set_diag", "trilu"]


class TriluAttrs(Attrs, frozen=True):
    """Attributes of `trilu`."""

    upper: bool = True


def _trilu_relation(types: Sequence[Type], _attrs: TriluAttrs) -> TensorType:
    data, k = tensors(types)
    if len(data.shape) < 2:
        raise TypeRelationError(f"expected two dimensions or more, got {data}")
    require_rank(k, 0, "k")
    require_integer(k, "k")
    return data


def _trilu(attrs: TriluAttrs, data: Array, k: Array) -> Array:
    rows, columns = data.shape[-2:]
    diagonal = max(-rows, min(int(k), columns))  # beyond: no elements
    return (np.triu if attrs.upper else np.tril)(data, diagonal)


@operator("trilu", _trilu_relation, _trilu, TriluAttrs, pattern=ELEMWISE)
def trilu(data: Expr, k: Operand = 0, upper: bool = True) -> Call:
    """Keep the triangle above (or below) a diagonal of each matrix, 0 elsewhere."""
    ...


class MatrixSetDiagAttrs(Attrs, frozen=True):
    """Attributes of `matrix_set_diag`.

    Attributes:
        k1: The lowest diagonal to set; 0 is the main one, above it they count up.
        k2: The highest one.
        super_diag_right_align: Whether shorter diagonals above the main one are
            right-aligned in their row of `diagonal`.
        sub_diag_right_align: Whether those below it are.
    """

    k1: int = 0
    k2: int = 0
    super_diag_right_align: bool = True
    sub_diag_right_align: bool = False


def _matrix_set_diag_relation(
    types: Sequence[Type], attrs: MatrixSetDiagAttrs
) -> TensorType:
    data, diagonal = tensors(types)
    require_same_dtype((data, diagonal))
    if len(data.shape) < 2:
        raise TypeRelationError(f"expected two dimensions or more, got {data}")
    *batch, rows, columns = data.shape
    longest: Dim = UnknownDim()
    if isinstance(rows, int) and isinstance(columns, int):
        if not -rows < attrs.k1 <= attrs.k2 < columns:
            raise TypeRelationError(
                f"expected diagonals between {1 - rows} and {columns - 1}, got "
                f"{attrs.k1} to {attrs.k2}"
            )
        longest = min(rows + min(attrs.k2, 0), columns - max(attrs.k1, 0))
    many = () if attrs.k1 == attrs.k2 else (attrs.k2 - attrs.k1 + 1,)
    require_shape(diagonal, (*batch, *many, longest), "the diagonals")
    return data


def _matrix_set_diag(attrs: MatrixSetDiagAttrs, data: Array, diagonal: Array) -> Array:
    result = data.copy()
    rows, columns = data.shape[-2:]
    if attrs.k1 == attrs.k2:
        diagonal = diagonal[..., None, :]
    for k in range(attrs.k1, attrs.k2 + 1):
        length = min(rows + min(k, 0), columns - max(k, 0))
        to_right = attrs.super_diag_right_align if k > 0 else attrs.sub_diag_right_align
        skipped = diagonal.shape[-1] - length if to_right else 0
        values = diagonal[..., attrs.k2 - k, skipped : skipped + length]
        rows_at = range(-min(k, 0), length - min(k, 0))
        result[..., rows_at, range(max(k, 0), length + max(k, 0))] = values
    return result


@operator(
    "matrix_set_diag",
    _matrix_set_diag_relation,
    _matrix_set_diag,
    MatrixSetDiagAttrs,
    pattern=INJECTIVE,
)
def _set_diagonals(
    data: Expr,
    diagonal: Expr,
    k1: int,
    k2: int,
    super_diag_right_align: bool,
    sub_diag_right_align: bool,
) -> Call:
    """Build the call."""
    ...


def matrix_set_diag(
    data: Expr, diagonal: Expr, k: Ints = 0, align: str = "RIGHT_LEFT"
) -> Call:
    """Put values on one diagonal of each matrix, or on those from `k[0]` to `k[1]`."""
    ints = int_tuple(k, "k")
    if len(ints) not in (1, 2):
        raise IRTypeError(f"expected one or two ints for k, got {k!r}")
    sides = ("RIGHT_LEFT", "LEFT_RIGHT", "RIGHT_RIGHT", "LEFT_LEFT")
    upper, lower = require_choice(align, sides, "align").split("_")
    aligned = (upper == "RIGHT", lower == "RIGHT")
    return _set_diagonals(data, diagonal, ints[0], ints[-1], *aligned)


class EinsumAttrs(Attrs, frozen=True):
    """Attributes of `einsum`."""

    equation: str

    def check(self) -> None:
        """Reject a malformed equation."""
        terms, output = einsum_terms(self.equation)
        inputs = "".join(terms)
        letters = output.replace(".", "")
        is_equation = (
            all(
                re.fullmatch(r"[A-Za-z]*\.?[A-Za-z]*", term)
                for term in (*terms, output)
            )
            and set(output) <= set(inputs)
            and len(set(letters)) == len(letters)
        )
        if not is_equation:
            raise IRTypeError(
                f"expected an equation such as 'ij,jk->ik', got {self.equation!r}"
            )


def einsum_terms(equation: str) -> tuple[list[str], str]:
    """Return the letters of each operand and of the result; `...` as `.`."""
    text = equation.replace(" ", "").replace("...", ".")
    inputs, arrow, output = text.partition("->")
    if not arrow:
        letters = inputs.replace(",", "").replace(".", "")
        once = sorted(one for one in set(letters) if letters.count(one) == 1)
        output = ("." if "." in inputs else "") + "".join(once)
    return inputs.split(","), output


def _einsum_relation(types: Sequence[Type], attrs: EinsumAttrs) -> TensorType:
    fields = tensor_fields(types)
    terms, output = einsum_terms(attrs.equation)
    if len(terms) != len(fields):
        raise TypeRelationError(f"expected {len(terms)} tensors, got {len(fields)}")
    known: dict[str, Dim] = {}
    rest: tuple[Dim, ...] = ()
    for term, field in zip(terms, fields, strict=True):
        letters = term.replace(".", "")
        extra = len(field.shape) - len(letters)
        if extra < 0 or (extra and "." not in term):
            raise TypeRelationError(f"expected dimensions '{term}', got {field}")
        at = term.index(".") if "." in term else len(term)
        rest = broadcast_shape(rest, field.shape[at : at + extra])
        dims = field.shape[:at] + field.shape[at + extra :]
        for letter, dim in zip(letters, dims, strict=True):
            before = known.setdefault(letter, dim)
            if not agree(before, dim):
                raise TypeRelationError(
                    f"expected length {before} for '{letter}', got {dim} in {field}"
                )
            known[letter] = unify(before, dim)
    shape = [dim for at in output for dim in (rest if at == "." else (known[at],))]
    return TensorType(tuple(shape), fields[0].dtype)


def _einsum(attrs: EinsumAttrs, fields: tuple[Array, ...]) -> Array:
    return np.asarray(np.einsum(attrs.equation, *fields))


@operator(
    "einsum",
    _einsum_relation,
    _einsum,
    EinsumAttrs,
    argument=as_tuple,
    pattern=INJECTIVE,
)
def einsum(data: TensorTuple, equation: str) -> Call:
    """Sum products of elements by an equation in Einstein's notation.

    Raises:
        IRTypeError: The equation is malformed.
    """
    ...
