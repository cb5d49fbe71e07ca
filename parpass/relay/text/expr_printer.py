"""Prints one expression: which nodes have a line, its text, and its comments.

Comments give a node's type and origin; the length of types is limited. Nothing recurses
along the program: what is still to be written waits on a stack (`render_parts`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from parpass.ir.node import Node
from parpass.ir.types import Type
from parpass.relay.expr import Call, Constant

if TYPE_CHECKING:
    from parpass.diagnostic import Span
    from parpass.ir.dialect import Annotate
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from parpass.errors import SizeLimitError
from parpass.ir.adt import Constructor
from parpass.ir.node import children, post_order, scopes_of
from parpass.ir.op.op_table import Op
from parpass.ir.text.literals import VarNames, attrs_text, items_text, name_text
from parpass.ir.text.printer import Part, indent, render_parts
from parpass.ir.types.type_structure import type_text
from parpass.relay.adt import (
    Clause,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
)
from parpass.relay.analysis.scopes import ScopeTree, free_vars
from parpass.relay.expr import (
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from parpass.relay.text.constant_section import ConstantPool
from parpass.relay.text.leaf_parser import BARE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from parpass.relay.analysis.scopes import Scope


_LONGEST = 1000  # characters; a type may be a thousand times as long as what it is of
_MOST = 2**27  # characters of comments in a text
_NOT_IN_A_COMMENT = re.compile(r"\*/|/\*|[\x00-\x1f]")


class TypeComments:
    """Writes the types of nodes as comments, which the parser ignores.

    A very long type is cut short, and beyond a total length there are no further
    comments: if a program is short, its text can be read.

    Args:
        annotate: Returns the comment of a node, in place of its type.
    """

    def __init__(self, annotate: Annotate | None) -> None:
        self._annotate = annotate
        self._left = _MOST
        self._types: dict[int, tuple[Type, str]] = {}  # kept, or ids could recur

    def comment_of(self, expr: Node) -> str:
        """Return what stands behind a node that is no constant."""
        origin = _origin(expr.span) if isinstance(expr, Call) else ""
        if self._annotate is not None:
            return origin + self._annotate(expr)
        if isinstance(expr, Call) and expr.checked_type_ is not None:
            return origin + self._type(expr.checked_type_)
        return origin

    def comment_of_constant(self, constant: Constant, is_typed: bool) -> str:
        """Return what stands behind a constant, its type if the program has types."""
        if self._annotate is not None:
            return self._annotate(constant)
        return self._type(constant.checked_type) if is_typed else ""

    def _type(self, typ: Type) -> str:
        known = self._types.get(id(typ))
        if known is None:
            text = str(typ)
            short = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
            known = self._types[id(typ)] = typ, _comment(f"ty={short}")
        self._left -= len(known[1])
        return known[1] if self._left >= 0 else ""


def _origin(span: Span | None) -> str:
    """Return where a call is from, if that is known by a name alone.

    A place in a text has a line; diagnostics show that line.
    """
    if span is None or span.line > 0:
        return ""
    return _comment(str(span.source_name)[:_LONGEST])


def _comment(text: str) -> str:
    return "" if _NOT_IN_A_COMMENT.search(text) else f" /* {text} */"


_MOST_TYPES_AND_ATTRIBUTES = 2**28  # characters in a text


class TypeTexts:
    """Bounds what types and attributes take, which may be far more than the program."""

    def __init__(self) -> None:
        self._left = _MOST_TYPES_AND_ATTRIBUTES
        self._texts: dict[int, tuple[Type, str]] = {}  # kept, or ids could recur

    def text(self, typ: Type) -> str:
        """Return the text of a type, which is often that of others."""
        known = self._texts.get(id(typ))
        if known is None:
            known = self._texts[id(typ)] = typ, type_text(typ)
        return known[1]

    def spend(self, text: str) -> str:
        """Return a text of types or attributes.

        Raises:
            SizeLimitError: With it there would be too much of them.
        """
        self._left -= len(text)
        if self._left < 0:
            raise SizeLimitError(
                f"expected at most {_MOST_TYPES_AND_ATTRIBUTES} characters of types "
                "and attributes in a text; save_json keeps shared what is shared"
            )
        return text


_LEAVES = (Constant, GlobalVar, Op, Var)


class ExprPrinter:
    """Writes one expression, by a stack of what is still to be written."""

    def __init__(
        self,
        root: Expr,
        constants: ConstantPool,
        types: TypeTexts,
        comments: TypeComments,
    ) -> None:
        self._root = root
        self._constants = constants
        self._types = types
        self._comments = comments
        # A constant has a type from the beginning; it is shown beside those of calls.
        typed = getattr(root, "checked_type_", None) is not None
        self._is_typed = typed and not isinstance(root, Constant)
        self._vars = VarNames()
        self._names: dict[Node, str] = {}  # of the lines written so far
        # Nothing is below the others, and they are written where they are used.
        below = {
            node: parts
            for node in post_order(root)
            if (parts := children(node)) or isinstance(node, Tuple)
        }
        order = [*below] or [root]
        self._scopes = ScopeTree(order)
        self._in_place = {order[-1], *_used_once(self._scopes.opened, below.values())}
        self._lines: dict[Scope, list[Any]] = {}
        around = self._scopes.around
        for node in order:
            if node not in self._in_place and not self._is_inline(node):
                self._lines.setdefault(around[node], []).append(node)

    def expression(self) -> str:
        """Return the text of the expression, the variables it lacks before it."""
        free = free_vars(self._root)
        header = [f"free_var {self._bind(var)};\n" for var in free]
        scope = self._scopes.around[self._root]
        return "".join(header) + render_parts(self._block(scope, self._root, 0))

    def global_function(self, name: str) -> str:
        """Return the text of the function as that of a global name."""
        function = cast("Function", self._root)
        return render_parts([*self._function(f"def @{name}", function, 0), "\n"])

    def _block(self, scope: Scope, result: Expr, depth: int) -> list[Part]:
        """Return the lines of a scope and the expression that ends it."""
        return self._lines_and(result, iter(self._lines.get(scope, ())), depth)

    def _lines_and(self, result: Expr, lines: Iterator[Any], depth: int) -> list[Part]:
        """Return lines up to one that is more than a call, and the rest as a part."""
        parts: list[Part] = []
        margin, names = indent(depth), self._names
        for node in lines:
            name = names[node] = f"%{len(names)}"
            line = f"{margin}{name} = "
            if not isinstance(node, Call):
                rest = partial(self._lines_and, result, lines, depth)
                return [*parts, line, *self._definition(node, depth), ";\n", rest]
            comment = self._comments.comment_of(node)
            parts.append(f"{line}{self._call(node)}{comment};\n")
        if isinstance(result, Let) and result in self._in_place:
            return [*parts, *self._let(result, depth)]
        return [*parts, margin, *self._value(result, depth), "\n"]

    def _let(self, let: Let, depth: int) -> list[Part]:
        (scope,) = self._scopes.opened[let]
        return [
            f"{indent(depth)}let {self._bind(let.var)} = ",
            partial(self._value, let.value, depth),
            ";\n",
            partial(self._block, scope, let.body, depth),
        ]

    def _value(self, expr: Expr, depth: int) -> list[Part]:
        if expr in self._in_place:
            return self._definition(expr, depth)
        return [self._reference(expr)]

    def _definition(self, expr: Node, depth: int) -> list[Part]:
        parts = self._whole(expr, depth)
        comment = "" if isinstance(expr, _LEAVES) else self._comments.comment_of(expr)
        return [*parts, comment] if comment else parts

    def _whole(self, expr: Node, depth: int) -> list[Part]:
        match expr:
            case Call():
                return [self._call(expr)]
            case Tuple(fields=fields):
                comma = "," if len(fields) == 1 else ""
                return [f"({', '.join(map(self._reference, fields))}{comma})"]
            case TupleGetItem():
                return [self._projection(expr)]
            case Function():
                return self._function("fn ", expr, depth)
            case If():
                return self._if(expr, depth)
            case Let():
                inner = partial(self._let, expr, depth + 1)
                return ["(\n", inner, f"{indent(depth)})"]
            case Match():
                return self._match(expr, depth)
            case Clause():
                return self._clause(expr, depth)
            case Pattern():
                return [self._pattern(expr)]
            case _:
                return [self._read_or_written(expr)]

    def _read_or_written(self, expr: Node) -> str:
        match expr:
            case RefCreate():
                return f"ref({self._reference(expr.value)})"
            case RefRead():
                return f"ref_read({self._reference(expr.ref)})"
            case RefWrite():
                ref, value = self._reference(expr.ref), self._reference(expr.value)
                return f"ref_write({ref}, {value})"
            case _:
                return self._reference(expr)

    def _match(self, expr: Match, depth: int) -> list[Part]:
        word = "match" if expr.complete else "match?"
        return [
            f"{word} ({self._reference(expr.data)}) {{\n",
            *(partial(self._clause, clause, depth + 1) for clause in expr.clauses),
            f"{indent(depth)}}}",
        ]

    def _clause(self, clause: Clause, depth: int) -> list[Part]:
        (scope,) = self._scopes.opened[clause]
        return [
            f"{indent(depth)}{self._pattern(clause.lhs)} => {{\n",
            partial(self._block, scope, clause.rhs, depth + 1),
            f"{indent(depth)}}},\n",
        ]

    def _pattern(self, pattern: Pattern) -> str:
        if isinstance(pattern, PatternVar):
            return self._bind(pattern.var)
        inside = ", ".join(map(self._pattern, pattern.inside))
        if isinstance(pattern, PatternConstructor):
            name = pattern.constructor.name_hint
            return f"{name}({inside})" if inside else name
        if isinstance(pattern, PatternTuple):
            return f"({inside}{',' if len(pattern.inside) == 1 else ''})"
        return "_"

    def _call(self, call: Call) -> str:
        op, args = call.op, [*map(self._reference, call.args), *attrs_text(call.attrs)]
        if isinstance(op, Op):  # its type arguments are the types of its arguments
            return self._types.spend(f"{op.name}({', '.join(args)})")
        given = call.type_args
        if isinstance(op, Constructor):
            if not (args or given or op.inputs):
                return op.name_hint
            name = op.name_hint
        else:
            name = self._reference(op)
        types = f"<{', '.join(map(self._types.text, given))}>" if given else ""
        return self._types.spend(f"{name}{types}({', '.join(args)})")

    def _projection(self, item: TupleGetItem) -> str:
        of = self._reference(item.tuple_value)
        named = isinstance(item.tuple_value, Var) or item.tuple_value in self._names
        return f"{of if named else f'({of})'}.{item.index}"

    def _function(self, head: str, function: Function, depth: int) -> list[Part]:
        types = ", ".join(map(str, function.type_params))
        params = [*map(self._bind, function.params), *items_text(function.attrs)]
        result = ""
        if function.ret_type is not None:
            text = self._types.text(function.ret_type)
            result = self._types.spend(f" -> {text}")
        (scope,) = self._scopes.opened[function]
        return [
            f"{head}{f'<{types}>' if types else ''}({', '.join(params)}){result} {{\n",
            partial(self._block, scope, function.body, depth + 1),
            f"{indent(depth)}}}",
        ]

    def _if(self, expr: If, depth: int) -> list[Part]:
        true_scope, false_scope = self._scopes.opened[expr]
        return [
            f"if ({self._reference(expr.cond)}) {{\n",
            partial(self._block, true_scope, expr.true_branch, depth + 1),
            f"{indent(depth)}}} else {{\n",
            partial(self._block, false_scope, expr.false_branch, depth + 1),
            f"{indent(depth)}}}",
        ]

    def _reference(self, expr: Node) -> str:
        """Return the text of a node as an operand of other nodes."""
        name = self._names.get(expr)
        if name is not None:
            return name
        match expr:
            case Var():
                return self._vars.text_of(expr, expr.name_hint)
            case Op():
                return expr.name
            case Constant():
                text = self._constants.text_of(expr.data)
                return text + self._comments.comment_of_constant(expr, self._is_typed)
            case GlobalVar():
                return f"@{name_text(expr.name_hint)}"
            case Constructor():
                return f"{expr.name_hint}{'' if expr.inputs else BARE}"
            case TupleGetItem():
                return self._projection(expr)
            case _:
                return self._names[expr]

    def _bind(self, var: Var) -> str:
        name, annotation = self._reference(var), var.type_annotation
        if annotation is not None:
            name = self._types.spend(f"{name}: {self._types.text(annotation)}")
        return name + self._comments.comment_of(var)

    @staticmethod
    def _is_inline(expr: Node) -> bool:
        """Return whether an expression needs no line of its own.

        A projection of a projection has one, or the text of a long chain of them
        would be repeated at each use.
        """
        if isinstance(expr, TupleGetItem):
            return not isinstance(expr.tuple_value, TupleGetItem)
        return isinstance(expr, (Clause, Pattern))  # written where they stand


def _used_once(
    opening: Iterable[Node], used: Iterable[Iterable[Node]]
) -> Iterator[Node]:
    """Return what is used once and ends a block, or is the value of a `let`.

    `opening` are the nodes that open scopes, `used` the children of each node.
    """
    uses = dict[Node, int]()  # of what ends a block
    for node in opening:
        for end in scopes_of(node):
            uses[end] = 0
        if isinstance(node, Let):
            uses[node.value] = 0
    if uses:
        for below in used:
            for child in below:
                if child in uses:
                    uses[child] += 1
    return (end for end, count in uses.items() if count == 1)
