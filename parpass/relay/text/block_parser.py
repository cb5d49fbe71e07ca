"""The parser of blocks, and of what has them: functions, and branches of an `if`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from parpass.ir.text.cursor import is_line, is_name, is_string
from parpass.ir.text.lexer import END
from parpass.ir.text.literals import Attribute, dict_attrs
from parpass.ir.text.precedence import Operand
from parpass.relay.expr import Expr, Function, If, Let, Var
from parpass.relay.text.call_parser import LineParser
from parpass.relay.text.parse_stack import Head, LetHead, Open, OpenBlock


class BlockParser(LineParser):
    """Makes lets, closures and `if`s."""

    def open_block(
        self, begin: int, closing: str, whole: Callable[[Expr, int], Operand | None]
    ) -> OpenBlock:
        """Enter a block, of which the first token has been read, and return it.

        Args:
            begin: That token.
            closing: The token that ends it.
            whole: Called with its expression and its last token; returns what it is a
                part of, None if that is not complete.
        """
        self.names.push_scope()
        block = OpenBlock(begin, self._in_block, closing, whole)
        self.open.append(block)
        self._begin_line(block)
        return block

    def block_operand(self, begin: int, closing: str) -> None:
        """Enter a block that stands for its expression."""
        self.open_block(begin, closing, lambda expr, _: Operand(expr, begin))

    def _begin_line(self, block: OpenBlock) -> None:
        """Read a line up to its expression."""
        if self.outer is not None and self.texts[self.at] == END:
            self.leave_line()
        while is_line(self.texts[self.at]):
            if not self.line(block):
                self.enter_line()
                break
        at, texts = self.at, self.texts
        block.name = -1
        if texts[at][:1] == "%" and texts[at + 1] == "=":
            block.name = at
            self.at = at + 2
        elif texts[at] == "let":
            block.let = self._let_head()
        else:
            block.line, block.expected = at, "an expression or 'let'"

    def _let_head(self) -> LetHead:
        begin = self.starts[self.at]
        self.at += 1
        key, var = self.annotated_var("a variable such as %x")
        self.expect("=", "'='" if var.type_annotation else "':' or '='")
        return LetHead(begin, key, var)

    def annotated_var(self, expected: str) -> tuple[str, Var]:
        """Read a variable and its type; return it, and its name in the environment."""
        if is_line(self.texts[self.at]):
            self.enter_line()
        at = self.at
        if self.texts[at][:1] != "%":
            self.fail(expected)
        self.at += 1
        typ = self.type() if self.is_next(":") else None
        return self.key(at), Var(self.name(at), typ, self.span(at, at))

    def _in_block(self, block: OpenBlock, expr: Expr, _begin: int) -> Operand | None:
        if block.name >= 0:
            self.expect(";")
            self._bind_line(block, expr)
        elif block.let is not None:
            self.expect(";")
            let, block.let = block.let, None
            self.bind_let(block, let, expr)
        elif self.is_next(";"):
            self._drop_value(block, expr)
        else:
            return self._end_block(block, expr)
        if self.outer is not None:
            self.remember_attributes(expr)
        self._begin_line(block)
        return None

    def _bind_line(self, block: OpenBlock, expr: Expr) -> None:
        """Give an expression a name, for the lines below."""
        at = block.name
        key = self.key(at)
        if key in block.lines:
            message = f"'{self.texts[at]}' is defined twice in this block"
            self.problems.report(self.span(at, at), message)
        block.lines.add(key)
        self.names.bind(key, expr)

    def _drop_value(self, block: OpenBlock, expr: Expr) -> None:
        """Take in an expression of which the block does not use the value."""
        line, last = block.line, self.at - 2
        unnamed = Var("_", None, self.span(line, last))
        block.lets.append((LetHead(self.starts[line], "", unnamed), expr))

    def _end_block(self, block: OpenBlock, expr: Expr) -> Operand | None:
        end = self.at
        if self.texts[end] != block.closing:
            closing = f"'{block.closing}'" if block.closing else "the end of the text"
            is_name = end == block.line + 1 and self.texts[block.line][:1] == "%"
            self.fail(f"';', '=' or {closing}" if is_name else f"';' or {closing}")
        self.at += 1
        stop = self.starts[end - 1] + len(self.texts[end - 1])
        for let, value in reversed(block.lets):
            expr = Let(let.var, value, expr, self.stretch(let.begin, stop))
        self.names.pop_scope()
        self.open.pop()
        return block.whole(expr, end)

    def begin_if(self, begin: int) -> None:
        """Read an `if` up to its condition."""
        self.at = begin + 1
        self.expect("(")
        self.open.append(Open(begin, self._in_condition))

    def _in_condition(self, part: Open, cond: Expr, _begin: int) -> None:
        self.expect(")")
        self.open.pop()
        brace = self.expect("{")
        self.open_block(brace, "}", partial(self._in_true_branch, part.begin, cond))

    def _in_true_branch(self, begin: int, cond: Expr, true: Expr, _: int) -> None:
        self.expect("else")
        brace = self.expect("{")
        self.open_block(brace, "}", partial(self._end_if, begin, cond, true))

    def _end_if(
        self, begin: int, cond: Expr, true: Expr, false: Expr, end: int
    ) -> Operand:
        return Operand(If(cond, true, false, self.span(begin, end)), begin)

    def begin_function(self, begin: int) -> None:
        """Read a closure up to its body."""
        self.at = begin + 1
        head = self.function_head(begin)
        brace = self.expect("{", "'{'" if head.ret_type else "'->' or '{'")
        self.open_block(brace, "}", partial(self._end_closure, head))

    def _end_closure(self, head: Head, body: Expr, end: int) -> Operand:
        return Operand(self.end_function(head, body, end), head.begin)

    def function_head(self, begin: int) -> Head:
        """Read a function from its type parameters up to its body, and begin its scope.

        Args:
            begin: Its first token, `fn` or `def`.
        """
        let = self._let_of_closure(begin)
        type_params = self.type_params()
        self.expect("(", "'('" if type_params else "'<', '(' or '['")
        self.names.push_scope()
        params, attributes = self._parameters()
        if let is not None and let.key not in params:
            self.names.bind(let.key, let.var)
        ret_type = self.type() if self.is_next("->") else None
        return Head(begin, type_params, (*params.values(),), attributes, ret_type)

    def _let_of_closure(self, begin: int) -> LetHead | None:
        """Return the let that a closure is the value of, as it may refer to itself."""
        part = self.open[-1] if self.open else None
        if isinstance(part, OpenBlock) and self.texts[begin - 1] == "=":
            return part.let
        return None

    def _parameters(self) -> tuple[dict[str, Var], list[Attribute]]:
        """Read parameters, and the attributes of the function, which stand among them.

        Returns:
            The parameters by their names in the environment, and the attributes.
        """
        params: dict[str, Var] = {}
        attributes: list[Attribute] = []
        while self.texts[self.at] != ")":
            at = self.at
            token = self.texts[at]
            if is_name(token) or is_string(token):
                attributes.append(self.attribute())
            else:
                key, var = self.annotated_var("a parameter or ')'")
                self.names.bind(key, var)
                if params.setdefault(key, var) is not var:
                    message = f"parameter '{token}' is given twice"
                    self.problems.report(self.span(at, at), message)
            if not self.is_next(",") and self.texts[self.at] != ")":
                self.fail("')', ',' or ':'" if self.at == at + 1 else "')' or ','")
        self.at += 1
        return params, attributes

    def end_function(self, head: Head, body: Expr, end: int) -> Function:
        """End the scope of a function and return it.

        Args:
            head: The function up to its body.
            body: The body.
            end: The last token.
        """
        self.names.pop_scope()
        self.end_type_params(head.type_params)
        attrs = dict_attrs(head.attributes, self.problems)
        span = self.span(head.begin, end)
        return Function(head.params, body, head.ret_type, head.type_params, attrs, span)
