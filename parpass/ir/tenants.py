"""The IRs that are built on this base, and what it asks of each.

An IR is known by the namespace of its nodes, and may be one of several in a module.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from parpass.errors import IRTypeError, ModuleError

if TYPE_CHECKING:
    from parpass.transform import Pass


Annotate = Callable[[Any], str]


class FunctionPrinter:
    """Writes the functions of one IR in the text of a module, one after the other."""

    def function(self, name: str, function: Any) -> str:
        """Return the text of a function that has a name in the module."""
        return f"{name} = {function!r}\n"

    def definition(self, definition: Any) -> str:
        """Return the text of a type that the module defines."""
        return f"{definition}\n"

    def section(self) -> str:
        """Return what the functions so far refer to, such as large constants.

        It stands at the end of the text, and is left out where it shall be short.
        """
        return ""


class Tenant:
    """What the base asks of an IR; one that has an answer overrides the method.

    Attributes:
        function_kind: Which function passes see its functions: those that have the same
            word (`parpass.transform.FunctionPass.function_kind`). None if none does.
        text_header: What a text begins with that stands for itself, in a file say.
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
            show_meta_data: Whether large constants are shown as well.
            annotate: Returns what is written behind a node; None for what the IR
                writes there by itself.
        """
        del show_meta_data, annotate
        return repr(node)

    def printer(self, annotate: Annotate | None = None) -> FunctionPrinter:
        """Return what writes this IR's functions in the text of a module."""
        del annotate
        return FunctionPrinter()

    def brief(self, node: Any) -> str:
        """Return what tells a node from others of its kind, in a few words."""
        return str(getattr(node, "name_hint", ""))

    def as_function(self, node: Any, mod: Any) -> Any:
        """Return the function that a node, which is none, stands for in a module.

        Raises:
            IRTypeError: It stands for none.
        """
        raise self._refused("be put in a module as a function", node)

    def closed(self, node: Any) -> Any:
        """Return a function of what a node lacks, to make a module of it.

        Raises:
            IRTypeError: None can be made of it.
        """
        raise self._refused("be made a function", node)

    def call(self, callee: Any, args: tuple[Any, ...]) -> Any:
        """Return a call of a node.

        Raises:
            IRTypeError: It cannot be called.
        """
        raise self._refused("be called", callee)

    def operator(self, name: str, *operands: Any) -> Any:
        """Return a call of the operator that one of Python's means.

        Raises:
            IRTypeError: There is none.
        """
        raise self._refused(f"be operands of '{name}'", *operands)

    def cast(self, node: Any, dtype: str) -> Any:
        """Return a node cast to another dtype.

        Raises:
            IRTypeError: It cannot be.
        """
        raise self._refused("be cast", node)

    def constant(self, value: Any) -> Any:
        """Return the node that a value of Python's stands for, or the value itself."""
        return value

    def library(self, file_name: str) -> Any:
        """Return the module that a file of the IR's standard library is.

        Raises:
            ModuleError: There is no such file.
        """
        raise ModuleError(f"there is no standard library, so no '{file_name}' in it")

    def is_skipped(self, function: Any) -> bool:
        """Return whether function passes leave this function alone."""
        del function
        return False

    def keeps_signature(self, before: Any, after: Any) -> bool:
        """Return whether a pass left the type alone that a function states, if it does.

        It is asked after each pass that changed something.
        """
        stated = before.annotated_type
        return stated is None or stated == after.annotated_type

    def restoring_pass(self) -> Pass | None:
        """Return what makes the IR's invariants hold again after a function pass."""
        return None

    def is_restored(self, function: Any) -> bool:
        """Return whether they hold in a function, but are not seen in its text."""
        del function
        return True

    def faults(self, function: Any, mod: Any) -> Sequence[str]:
        """Return where a function of `mod` breaks the IR's rules, each in a phrase."""
        del function, mod
        return ()

    def _refused(self, what: str, *nodes: Any) -> IRTypeError:
        kinds = " and ".join(type(node).__name__ for node in nodes)
        return IRTypeError(f"{kinds} cannot {what}: the IR that it is of has no such")


_NO_TENANT = Tenant()
_tenants: dict[str, Tenant] = {}


def register_tenant(namespace: str, tenant: Tenant) -> None:
    """Say what answers for the nodes of a namespace."""
    _tenants[namespace] = tenant


def tenants() -> Iterable[Tenant]:
    """Return what answers for all namespaces."""
    return _tenants.values()


def tenant_of(node: Any) -> Tenant:
    """Return what answers for a node; where nobody does, one that knows little."""
    return _tenants.get(node.namespace, _NO_TENANT)
