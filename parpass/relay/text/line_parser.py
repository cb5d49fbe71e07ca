"""The parser of lines such as `%2 = add(%0, %1);`, which most lines are.

The scanner takes such a line for one token. If all names in it are known, and the same
attributes have been read before, it means what its pieces mean, and no more is to be
done than to look these up. Any other line is scanned again, token by token.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from parpass.diagnostic import Span
from parpass.ir.attrs import Attrs
from parpass.ir.operators.op_table import Op
from parpass.ir.text.problems import Problems
from parpass.ir.text.scanner import without_comments
from parpass.relay.expr import Call, Constant, Expr, TupleGetItem, Var
from parpass.relay.text.call_parser import CallParser
from parpass.relay.text.open_parts import LetHead, OpenBlock
from parpass.runtime.ndarray import NDArray

_INDEX = re.compile("[0-9]{1,9}")


# The name of a line, what is called, the arguments, and the attributes as they stand.
_Parts = tuple[str, str, Sequence[str], str]


class LineParser(CallParser):
    """Reads lines at a glance."""

    def __init__(self, problems: Problems, constants: Sequence[NDArray] | None) -> None:
        super().__init__(problems, constants)
        self._attrs: dict[tuple[Op, str], Attrs] = {}

    def line(self, block: OpenBlock) -> bool:
        """Read a line of a block, if all of it is known; return whether it was."""
        line, meanings = _without_types(self.texts[self.at]), self.names.meanings
        name, callee_name, names, attributes = _parts(line)
        callee = meanings.get(callee_name)
        attrs = None
        if isinstance(callee, Op):
            if attributes or callee.attrs_type is not None:
                attrs = self._attrs.get((callee, attributes))
                if attrs is None or self.type_names:
                    return False
        elif callee is None or attributes:
            return False
        start = self.starts[self.at]
        begin = start + len(name) + 3
        try:
            args = tuple([meanings[name] for name in names])
        except KeyError:
            args = self._made_of(names, begin + len(callee_name) + 1)
        if args is None or name in block.lines:
            return False
        call = Call(callee, args, attrs, (), self.stretch(begin, start + len(line) - 1))
        if name[0] == "%":
            block.lines.add(name)
            self.names.bind(name, call)
        else:
            name = name[4:]  # after the let
            var = Var(name[1:], None, self.stretch(start + 4, begin - 3))
            self.bind_let(block, LetHead(start, name, var), call)
        self.at += 1
        return True

    def bind_let(self, block: OpenBlock, let: LetHead, value: Expr) -> None:
        """Give a let's variable its name, for the lines below."""
        block.lets.append((let, value))
        block.lines.discard(let.key)
        self.names.bind(let.key, let.var)

    def _made_of(self, texts: Sequence[str], start: int) -> tuple[Expr, ...] | None:
        """Return what arguments stand for, None if one is not known.

        Args:
            texts: The arguments.
            start: Where the first one begins.
        """
        args: list[Expr] = []
        for whole in texts:
            text = whole.rstrip(" ")  # where a comment was
            stop = start + len(text)
            found = self.names.meanings.get(text)
            if found is None:
                found = self._constant_or_field(text, self.stretch(start, stop))
            if found is None:
                return None
            args.append(found)
            start += len(whole) + 2
        return tuple(args)

    def _constant_or_field(self, text: str, span: Span) -> Expr | None:
        data = self.known_data(text)
        if data is not None:
            return Constant(data[0], span, data[1])
        of, _, index = text.partition(".")
        found = self.names.meanings.get(of)
        if found is None or not _INDEX.fullmatch(index):
            return None
        return TupleGetItem(found, int(index), span)

    def remember_attributes(self, call: Expr) -> None:
        """Take down the attributes of a line that has been read token by token."""
        assert self.outer is not None
        texts, _, at = self.outer
        _, _, args, attributes = _parts(_without_types(texts[at]))
        if not isinstance(call, Call) or self.problems or self.type_names:
            return
        # As many arguments as there are before the attributes: so there are none after.
        if isinstance(call.op, Op) and len(call.args) == len(args) and call.attrs:
            self._attrs[call.op, attributes] = call.attrs


def _without_types(line: str) -> str:
    """Return a line with blanks for comments, and nothing for one before its end."""
    if "/*" not in line:
        return line
    bare, _, _ = line.rpartition(") /* ty=")
    if line[-3:] == "*/;" and "/*" not in bare:
        return f"{bare});"  # nearly always: the type of the call is the only one
    return f"{without_comments(line[:-1]).rstrip(' ')};"


def _parts(line: str) -> _Parts:
    name, _, call = line.partition(" = ")
    callee, _, given = call.partition("(")
    given = given[:-2]
    equal = given.find("=")
    if equal < 0:
        return name, callee, given.split(", ") if given else (), ""
    end = given.rfind(", ", 0, equal)
    if end < 0:
        return name, callee, (), given
    return name, callee, given[:end].split(", "), given[end + 2 :]
