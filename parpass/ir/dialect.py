"""Dialects: the interface that an IR implements, and the registry of IRs.

A dialect is registered under the namespace of its nodes; a module may hold functions of
several. `declare_dialect` names the Python module whose import registers a dialect.
Declared modules are imported on demand: for node kinds in JSON, an operator, or a pass
by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from parpass.errors import IRTypeError, ModuleError
from parpass.ir.reduction_rules import ReductionRules
from parpass.lazy_loader import load_module

if TYPE_CHECKING:
    from parpass.transform import Pass


_modules: dict[str, str] = {}


def declare_dialect(module_name: str, prefix: str = "") -> None:
    """Declare a Python module that registers an IR's nodes, operators and passes.

    Args:
        module_name: The module.
        prefix: Prefix of its operators' names, and of no other operator's.
    """
    _modules[module_name] = prefix


def load_dialects(of: str | None = None) -> None:
    """Import the declared modules that are not imported yet.

    Args:
        of: The name of an operator: only modules that may define it are imported.
    """
    prefixes = {prefix for prefix in _modules.values() if prefix}
    own = next((one for one in prefixes if of is not None and of.startswith(one)), "")
    for name, prefix in _modules.items():
        if of is None or prefix == own:
            load_module(name)


Annotate = Callable[[Any], str]


class FunctionPrinter:
    """Prints the functions of one IR within a module's text, one after the other."""

    def function(self, name: str, function: Any) -> str:
        """Return the text of a function under its name in the module."""
        return f"{name} = {function!r}\n"

    def definition(self, definition: Any) -> str:
        """Return the text of a type that the module defines."""
        return f"{definition}\n"

    def section(self) -> str:
        """Return the section of values the functions refer to, such as large constants.

        It stands at the end of the text; short texts omit it.
        """
        return ""


class Dialect:
    """The interface of an IR; a method that is not overridden has a neutral default.

    Attributes:
        function_kind: Its functions are given to the function passes of this kind
            (`parpass.transform.FunctionPass.function_kind`). None: to no pass.
        text_header: First line of a text that stands alone, such as a file.
    """

    function_kind: ClassVar[str | None] = None
    text_header: ClassVar[str] = ""

    def text(
        self,
        node: Any,
        *,
        show_meta_data: bool = False,
        annotate: Annotate | None = None,
    ) -> str:
        """Return a node as text.

        Args:
            node: The node.
            show_meta_data: Whether large constants are included.
            annotate: Returns a comment for a node; None for the IR's default comments.
        """
        del show_meta_data, annotate
        return repr(node)

    def printer(self, annotate: Annotate | None = None) -> FunctionPrinter:
        """Return a printer of this IR's functions within a module's text."""
        del annotate
        return FunctionPrinter()

    def brief(self, node: Any) -> str:
        """Return a few words that identify a node among others of its kind."""
        return str(getattr(node, "name_hint", ""))

    def as_function(self, node: Any, mod: Any) -> Any:
        """Convert a node that is no function into one, for a module.

        Raises:
            IRTypeError: The IR has no such conversion.
        """
        raise self._refused("be put in a module as a function", node)

    def closed(self, node: Any) -> Any:
        """Return a function over the free variables of a node, to make a module of it.

        Raises:
            IRTypeError: The IR has no such conversion.
        """
        raise self._refused("be made a function", node)

    def call(self, callee: Any, args: tuple[Any, ...]) -> Any:
        """Return a call of a node.

        Raises:
            IRTypeError: The node cannot be called.
        """
        raise self._refused("be called", callee)

    def operator(self, name: str, *operands: Any) -> Any:
        """Return a call of the IR's counterpart of a Python operator.

        Raises:
            IRTypeError: There is no counterpart.
        """
        raise self._refused(f"be operands of '{name}'", *operands)

    def cast(self, node: Any, dtype: str) -> Any:
        """Return a node cast to another dtype.

        Raises:
            IRTypeError: The node cannot be cast.
        """
        raise self._refused("be cast", node)

    def constant(self, value: Any) -> Any:
        """Return the node for a Python value, or the value itself."""
        return value

    def library(self, file_name: str) -> Any:
        """Return a module of the IR's standard library by file name.

        Raises:
            ModuleError: There is no such file.
        """
        raise ModuleError(f"there is no standard library, so no '{file_name}' in it")

    def is_skipped(self, function: Any) -> bool:
        """Return whether function passes leave this function unchanged."""
        del function
        return False

    def keeps_signature(self, before: Any, after: Any) -> bool:
        """Return whether a pass preserved the type that a function states, if any.

        Called after each pass that changed the function.
        """
        stated = before.annotated_type
        return stated is None or stated == after.annotated_type

    def restoring_pass(self) -> Pass | None:
        """Return the pass that restores the IR's invariants after a function pass."""
        return None

    def is_restored(self, function: Any) -> bool:
        """Return whether they hold in a function but are invisible in its text."""
        del function
        return True

    def faults(self, function: Any, mod: Any) -> Sequence[str]:
        """Return violations of the IR's rules in a function of `mod`, as phrases."""
        del function, mod
        return ()

    def reduction_rules(self) -> ReductionRules:
        """Return what the IR adds to its nodes' fields for `parpass reduce`."""
        return ReductionRules()

    def _refused(self, what: str, *nodes: Any) -> IRTypeError:
        kinds = " and ".join(type(node).__name__ for node in nodes)
        return IRTypeError(f"{kinds} cannot {what}: the IR that it is of has no such")


_UNKNOWN_DIALECT = Dialect()
_dialects: dict[str, Dialect] = {}


def register_dialect(namespace: str, dialect: Dialect) -> None:
    """Register the dialect of a namespace."""
    _dialects[namespace] = dialect


def dialects() -> Iterable[Dialect]:
    """Return all registered dialects."""
    return _dialects.values()


def dialect_of(node: Any) -> Dialect:
    """Return the dialect of a node; the default dialect for an unknown namespace."""
    return _dialects.get(node.namespace, _UNKNOWN_DIALECT)
