"""The parser of blocks, and of what has them: functions, and branches of an `if`."""

from __future__ import annotations

from parpass.ir.text.cursor import is_line, is_name, is_string
from parpass.ir.text.grammar_rules import Rule
from parpass.ir.text.literals import Attribute, dict_attrs
from parpass.relay.expr import Expr, Function, If, Let, Var
from parpass.relay.text.call_parser import Block, LetHead, LineParser

_LINE = "an expression or 'let'"


class BlockParser(LineParser):
    """Makes lets, closures and `if`s."""

    def block(self, closing: str, expected: str = _LINE) -> Rule:
        """Read a block, of which the first token has been read.

        Args:
            closing: The token that ends it.
            expected: What its first line may begin with, in words.
        """
        self.names.push_scope()
        block = Block()
        while True:
            self._known_lines(block)
            at = self.at
            if self.texts[at][:1] == "%" and self.texts[at + 1] == "=":
                self.at = at + 2
                value = yield self.expr()
                self.expect(";")
                self._bind_line(block, at, value)
            elif self.texts[at] == "let":
                let = self._let_head()
                value = yield self.expr(let=let)
                self.expect(";")
                self.bind_let(block, let, value)
            else:
                value = yield self.expr(_LINE if block else expected)
                if not self.is_next(";"):
                    return self._end_block(block, at, closing, value)
                self._drop_value(block, at, value)
            if self.outer is not None:
                self.remember_attributes(value)
                self.leave_line()

    def _known_lines(self, block: Block) -> None:
        """Read lines at a glance; enter one that cannot be read so."""
        while is_line(self.texts[self.at]):
            if not self.line(block):
                self.enter_line()
                return

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

    def _bind_line(self, block: Block, at: int, expr: Expr) -> None:
        """Give an expression the name that is a token, for the lines below."""
        key = self.key(at)
        if key in block.lines:
            message = f"'{self.texts[at]}' is defined twice in this block"
            self.problems.report(self.span(at, at), message)
        block.lines.add(key)
        self.names.bind(key, expr)

    def _drop_value(self, block: Block, begin: int, expr: Expr) -> None:
        """Take in an expression of which the block does not use the value."""
        unnamed = Var("_", None, self.span(begin, self.at - 2))
        block.lets.append((LetHead(self.starts[begin], "", unnamed), expr))

    def _end_block(self, block: Block, begin: int, closing: str, expr: Expr) -> Expr:
        """Return what the block stands for; its last line begins at a token."""
        end = self.at
        if self.texts[end] != closing:
            closing = f"'{closing}'" if closing else "the end of the text"
            is_name = end == begin + 1 and self.texts[begin][:1] == "%"
            self.fail(f"';', '=' or {closing}" if is_name else f"';' or {closing}")
        self.at += 1
        stop = self.starts[end - 1] + len(self.texts[end - 1])
        for let, value in reversed(block.lets):
            expr = Let(let.var, value, expr, self.stretch(let.begin, stop))
        self.names.pop_scope()
        return expr

    def condition(self, begin: int) -> Rule:
        """Read an `if`."""
        self.at = begin + 1
        self.expect("(")
        cond = yield self.expr()
        self.expect(")")
        self.expect("{")
        true = yield self.block("}")
        self.expect("else")
        self.expect("{")
        false = yield self.block("}")
        return If(cond, true, false, self.span(begin, self.at - 1))

    def function(self, begin: int, let: LetHead | None = None) -> Rule:
        """Read a function from its type parameters on.

        Args:
            begin: Its first token, `fn` or `def`.
            let: The let of which it is the value, as it may refer to itself.
        """
        type_params = self.type_params()
        self.expect("(", "'('" if type_params else "'<', '(' or '['")
        self.names.push_scope()
        params, attributes = self._parameters()
        if let is not None and let.key not in params:
            self.names.bind(let.key, let.var)
        ret_type = self.type() if self.is_next("->") else None
        self.expect("{", "'{'" if ret_type else "'->' or '{'")
        body = yield self.block("}")
        self.names.pop_scope()
        self.end_type_params(type_params)
        attrs = dict_attrs(attributes, self.problems)
        span = self.span(begin, self.at - 1)
        return Function((*params.values(),), body, ret_type, type_params, attrs, span)

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
