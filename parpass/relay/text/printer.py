"""The IR as text, in the format of Relay's printer.

A node stands in a line of its own, `%0 = nn.relu(%x);`, in the innermost block that
encloses all its uses; so the text shows which nodes are shared, and its length is
linear in the size of the program. Only what is used once and ends a block, or is
bound by a `let`, is written in place, as are leaves and projections of tuples.
Behind calls and constants of a typed program stand their types, as comments.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from parpass.ir.adt import TypeData
from parpass.ir.dialect import FunctionPrinter
from parpass.ir.module import IRModule
from parpass.ir.text.literals import name_text
from parpass.relay.expr import Expr, Function
from parpass.relay.text.constant_section import ConstantPool
from parpass.relay.text.expr_printer import ExprPrinter, TypeComments, TypeTexts

if TYPE_CHECKING:
    from parpass.ir.dialect import Annotate


def astext(
    program: Expr | IRModule,
    *,
    show_meta_data: bool = True,
    annotate: Annotate | None = None,
) -> str:
    """Return an expression or a module as text.

    Args:
        program: The expression or module.
        show_meta_data: Whether constants that are no scalars are shown in a section
            at the end, `meta[relay.Constant][0]` standing for the first of them.
        annotate: Returns what is written behind a variable where it is bound, behind a
            constant, and behind each other node where its parts are shown; in place
            of `/* ty=float32 */` behind typed calls and constants.

    Raises:
        SizeLimitError: There are types or attributes too large to be written; what
            they share is written wherever it stands.
    """
    if isinstance(program, IRModule):
        return program.text(show_meta_data=show_meta_data, annotate=annotate)
    if program.namespace != Function.namespace:
        return f"{program}\n"  # a loop program, say
    constants = ConstantPool()
    printer = ExprPrinter(program, constants, TypeTexts(), TypeComments(annotate))
    text = printer.expression().rstrip("\n")
    section = constants.section() if show_meta_data else ""
    return f"{text}\n{section}" if section else text


class RelayPrinter(FunctionPrinter):
    """Writes Relay's functions in the text of a module.

    Args:
        annotate: Returns what stands behind a node; see `astext`.

    Attributes:
        constants: What the functions so far refer to.
    """

    def __init__(self, annotate: Annotate | None = None) -> None:
        self.constants = ConstantPool()
        self._types, self._comments = TypeTexts(), TypeComments(annotate)

    def function(self, name: str, function: Function) -> str:
        """Return `def @main(...) { ... }`."""
        printer = ExprPrinter(function, self.constants, self._types, self._comments)
        return printer.global_function(name_text(name))

    def definition(self, definition: TypeData) -> str:
        """Return `type List[A] { ... }`."""
        return _definition_text(definition, self._types)

    def section(self) -> str:
        """Return the constants."""
        return self.constants.section()


def _definition_text(definition: TypeData, types: TypeTexts) -> str:
    params = ", ".join(map(str, definition.type_vars))
    head = f"type {definition.header}{f'[{params}]' if params else ''} {{\n"
    lines: list[str] = []
    for constructor in definition.constructors:
        given = ", ".join(map(types.text, constructor.inputs))
        lines.append(f"  {constructor.name_hint}{f'({given})' if given else ''},\n")
    return types.spend(f"{head}{''.join(lines)}}}\n")
